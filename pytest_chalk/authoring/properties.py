"""The check for a forgotten `@property`, made when the class is defined."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def refuse_plain_methods(cls: type, namespace: Mapping[str, object], names: Iterable[str]) -> None:
    """Raise if the class body binds one of `names` to a plain method.

    Only functions are refused: values, cached properties and other descriptors are fine.

    Raises:
        TypeError: Names the class, the first offending name in sorted order, and the fix.
    """
    for name in sorted(names):
        if isinstance(namespace.get(name), FunctionType):
            message = (
                f"{cls.__module__}.{cls.__qualname__}: {name!r} is a plain method, but it is read "
                f"as a property: it is missing the @property decorator. Write\n"
                f"    @property\n    def {name}(self): ..."
            )
            raise TypeError(message)

"""`typing.override` for what every pytest run loads: on Python 3.11 it is not in `typing`.

Importing it from typing_extensions would be a fifth of what this plugin costs a run without tasks.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def override(method: T, /) -> T:
    """Mark a method that overrides one of a base class, as PEP 698 says."""
    with suppress(AttributeError, TypeError):  # a property has no attributes to set
        method.__override__ = True  # type: ignore[attr-defined]  # what the mark is
    return method

"""`function`: makes a Python function a task or a scorer, and changes nothing about calling it."""

from __future__ import annotations

import functools
import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from typing_extensions import override

from pytest_chalk.authoring.code_version import Snapshots, code_version, remember_source
from pytest_chalk.schemas.evaluation import CodeRef

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

_KINDS = inspect.Parameter


class Function(Generic[P, R]):
    """A function that runs can call. Its parameters name the columns it is given.

    Attributes:
        retries: How often a call that failed is made again.
        call_timeout: Seconds that one call may take; None for any time.
    """

    __wrapped__: Callable[P, R]
    __name__: str

    def __init__(
        self, code: Callable[P, R], *, retries: int = 0, call_timeout: float | None = None
    ) -> None:
        functools.update_wrapper(self, code)
        self.retries, self.call_timeout = retries, call_timeout
        self._snapshots = Snapshots()
        remember_source(code)
        _KNOWN.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as if it had no decorator."""
        return self.__wrapped__(*args, **kwargs)

    @override
    def __repr__(self) -> str:
        return f"<function {self.__wrapped__.__module__}.{self.__wrapped__.__qualname__}>"

    @property
    def version_id(self) -> str:
        """The version of its code as it is now; see `code_version` for what counts."""
        return code_version(self.__wrapped__, self._snapshots)

    def pin(self) -> CodeRef:
        """Return its version, where it is found, and what it takes.

        Raises:
            TypeError: It cannot be called with columns by name, or is a generator.
        """
        code = self.__wrapped__
        parameters = _parameters(code)
        named = [
            p for p in parameters if p.kind in {_KINDS.POSITIONAL_OR_KEYWORD, _KINDS.KEYWORD_ONLY}
        ]
        main = sys.modules.get("__main__")
        is_main = code.__module__ == "__main__"
        return CodeRef(
            version_id=self.version_id,
            name=self.__name__,
            module=code.__module__,
            qualname=code.__qualname__,
            path=_absolute(getattr(main, "__file__", None)) if is_main else "",
            inputs=tuple(p.name for p in named),
            required=tuple(p.name for p in named if p.default is _KINDS.empty),
            takes_all=any(p.kind is _KINDS.VAR_KEYWORD for p in parameters),
        )


_KNOWN: list[Function[..., Any]] = []
"""Every function of this process, for finding one again by its version. Functions are defined at
the top level of modules, so they stay as long as the process anyhow."""


@overload
def function(code: Callable[P, R], /) -> Function[P, R]: ...
@overload
def function(
    *, retries: int = 0, call_timeout: float | None = None
) -> Callable[[Callable[P, R]], Function[P, R]]: ...


def function(
    code: Callable[..., Any] | None = None,
    /,
    *,
    retries: int = 0,
    call_timeout: float | None = None,
) -> object:
    """Make a function usable as a task or scorer: `@function` or `@function(retries=2)`.

    Args:
        code: The function; may be `async def`.
        retries: How often a call that raised is made again, for each row.
        call_timeout: Seconds that one call may take, then its row has failed.

    Raises:
        ValueError: `retries` is negative or `call_timeout` is not above 0.
    """
    if retries < 0 or (call_timeout is not None and call_timeout <= 0):
        message = f"retries is 0 or more and call_timeout above 0, found {retries}, {call_timeout}"
        raise ValueError(message)
    if code is None:
        return lambda given: Function(given, retries=retries, call_timeout=call_timeout)
    return Function(code, retries=retries, call_timeout=call_timeout)


def as_function(code: object, role: str) -> Function[..., Any]:
    """Return `code` as a `Function`; a plain function is made one.

    Raises:
        TypeError: It cannot be called; names the role, `task` or `scorer 2`.
    """
    if isinstance(code, Function):
        return code
    if not inspect.isfunction(code):
        message = f"{role} is a function, found {code!r}. Write one and put @function above it"
        raise TypeError(message)
    for known in _KNOWN:
        if known.__wrapped__ is code:
            return known
    return Function(code)


def known_functions(qualname: str) -> Iterator[Function[..., Any]]:
    """Yield the functions of this process with that qualified name, the newest first."""
    for known in reversed(_KNOWN):
        if known.__wrapped__.__qualname__ == qualname:
            yield known


def _absolute(path: str | None) -> str:
    return str(Path(path).absolute()) if path else ""


def _parameters(code: Callable[..., Any]) -> list[inspect.Parameter]:
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        message = f"{code.__qualname__} yields; a task or scorer returns one value for each row"
        raise TypeError(message)
    parameters = list(inspect.signature(code).parameters.values())
    if any(p.kind in {_KINDS.POSITIONAL_ONLY, _KINDS.VAR_POSITIONAL} for p in parameters):
        message = (
            f"{code.__qualname__} takes positional parameters; columns are given by name, so write "
            "parameters that have the columns' names"
        )
        raise TypeError(message)
    return parameters

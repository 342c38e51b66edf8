"""The code of a custom tool: imported, and checked before any run needs it."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.tools.importing import import_file
from pytest_chalk.tools.signature import ToolSignature, read_signature

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TIME_LIMIT_S = 600.0
"""For one call of a custom tool that sets no limit of its own. A web search or a compilation takes
minutes at most; what takes longer hangs."""


@dataclass(frozen=True)
class ToolCode:
    """The code of a custom tool, checked. A class is made once for each run."""

    name: str
    path: Path
    target: Callable[..., Any]
    signature: ToolSignature
    time_limit_s: float


@cache
def load_tool(name: str, path: Path) -> ToolCode:
    """Import a custom tool and check it.

    Raises:
        TaskDefinitionError: It cannot be imported or is no tool; says what to write.
    """
    where = f"tool {name!r} in {path}"
    target = getattr(import_file(where, path), name, None)
    if isinstance(target, type):
        function = _call_of(where, target)
        description = inspect.cleandoc(function.__doc__ or target.__doc__ or "")
    elif isinstance(target, FunctionType):
        function, description = target, inspect.cleandoc(target.__doc__ or "")
    else:
        raise _no_tool(where, name, target)
    if not description.strip():
        raise TaskDefinitionError(
            where, "has no docstring", fix="Write one: it tells the model what the tool does"
        )
    signature = read_signature(
        where, function, description=description, without_first=isinstance(target, type)
    )
    return ToolCode(name, path, target, signature, _time_limit(where, target))


def _call_of(where: str, cls: type) -> Callable[..., Any]:
    function = getattr(cls, "__call__", None)  # noqa: B004 - the function itself is wanted
    if not isinstance(function, FunctionType):
        raise TaskDefinitionError(
            where,
            f"the class {cls.__qualname__} has no __call__",
            fix="Write def __call__(self, ...) -> str, with a docstring",
        )
    required = [
        parameter.name
        for parameter in inspect.signature(cls).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if required:
        raise TaskDefinitionError(
            where,
            f"its constructor needs {', '.join(required)}",
            fix="Make it work without arguments; for settings there is ToolBase",
        )
    return function


def _no_tool(where: str, name: str, found: object) -> TaskDefinitionError:
    problem = (
        f"the file has no {name!r}"
        if found is None
        else f"{name!r} is {type(found).__name__}, no function and no class"
    )
    return TaskDefinitionError(
        where, problem, fix=f"Write def {name}(...) -> str, or a class {name} with a __call__"
    )


def _time_limit(where: str, target: object) -> float:
    limit_s = getattr(target, "time_limit_s", TIME_LIMIT_S)
    is_number = isinstance(limit_s, (int, float)) and not isinstance(limit_s, bool)
    if is_number and math.isfinite(limit_s) and limit_s > 0:
        return float(limit_s)
    raise TaskDefinitionError(
        where, f"time_limit_s is {limit_s!r}", fix="Set it to a number of seconds above 0"
    )

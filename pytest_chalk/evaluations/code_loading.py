"""Finds the function that a definition has pinned, in this process or in its module."""

from __future__ import annotations

import importlib
import runpy
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.function import known_functions
from pytest_chalk.errors import EvaluationError

if TYPE_CHECKING:
    from pytest_chalk.authoring.function import Function
    from pytest_chalk.schemas.evaluation import CodeRef

SCRIPT_NAME = "__chalk_definitions__"
"""As which a script's definitions are loaded: what is under its main guard does not run."""


def load_function(ref: CodeRef) -> Function[..., Any]:
    """Return the function of exactly that version.

    Raises:
        EvaluationError: There is none any more: it was changed, moved, or made within a function.
    """
    found = _find(ref)
    if found is None:
        _load_module(ref)
        found = _find(ref)
    if found is not None:
        return found
    where = f"function {ref.name!r} of {ref.path or ref.module}"
    others = [function.version_id[:8] for function in known_functions(ref.qualname)]
    if others:
        problem = f"its version is {others[0]} now, and {ref.version_id[:8]} is pinned"
        fix = "Create a new evaluation for the changed code, or take the change back"
    else:
        problem = "it cannot be found"
        fix = "Define it at the top level of a module or script that stays where it is"
    raise EvaluationError(where, problem, fix=fix)


def _find(ref: CodeRef) -> Function[..., Any] | None:
    for function in known_functions(ref.qualname):
        if function.version_id == ref.version_id:
            return function
    return None


def _load_module(ref: CodeRef) -> None:
    """Import the function's module, or run a script's definitions."""
    if "<locals>" in ref.qualname:
        return
    if ref.module in {"__main__", SCRIPT_NAME}:
        if ref.path and Path(ref.path).is_file():
            runpy.run_path(ref.path, run_name=SCRIPT_NAME)
        return
    with suppress(ImportError):
        importlib.import_module(ref.module)

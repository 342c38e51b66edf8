"""Finds the function that a definition has pinned, in this process or in its module."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.function import known_functions
from pytest_chalk.errors import EvaluationError
from pytest_chalk.evaluations.place import loading_definitions

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
    """Import the function's module, or run a script's definitions.

    Raises:
        EvaluationError: That fails.
    """
    if "<locals>" in ref.qualname:
        return
    is_script = ref.module in {"__main__", SCRIPT_NAME}
    if is_script and not Path(ref.path).is_file():
        return
    try:
        with loading_definitions():
            if is_script:
                runpy.run_path(ref.path, run_name=SCRIPT_NAME)
            else:
                importlib.import_module(ref.module)
    except ModuleNotFoundError as error:
        if error.name != ref.module:
            raise _unloadable(ref, error) from error
    except (Exception, SystemExit) as error:
        raise _unloadable(ref, error) from error


def _unloadable(ref: CodeRef, error: BaseException) -> EvaluationError:
    where = f"function {ref.name!r} of {ref.path or ref.module}"
    problem = f"it cannot be loaded: {type(error).__name__}: {error}"
    return EvaluationError(where, problem, fix="Mend the module, or read the run where it loads")

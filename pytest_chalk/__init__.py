"""Agent tasks as pytest tests.

The names a task author needs. Each is loaded at its first use: importing this package, as every
pytest run does where it is installed, costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_chalk.authoring.factory import StepConfig, create_task
    from pytest_chalk.authoring.judge import Judge
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
    from pytest_chalk.errors import (
        ChalkError,
        MachineError,
        ReclaimError,
        StudentMisbehaviorError,
        TaskDefinitionError,
        UnreapableCohortError,
    )
    from pytest_chalk.runner.api import run_task
    from pytest_chalk.runner.rejudge import judge_record
    from pytest_chalk.sandbox import (
        Contract,
        FileLimit,
        ProtectedStore,
        ResourceLimits,
        collect_submission,
        delete_files,
        get_resource_limits,
        kill_processes,
        limit_resources,
        save_artifact,
        save_submission,
    )
    from pytest_chalk.schemas.hardware import Hardware
    from pytest_chalk.schemas.record import RunRecord
    from pytest_chalk.schemas.run_config import EvaluationRunConfig, RunConfig
    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript
    from pytest_chalk.tools.tool_base import ToolBase, ToolConfigWriter

__version__ = "0.1.0.dev0"

_HOMES = {
    "ChalkError": "errors",
    "Contract": "sandbox",
    "EvaluationRunConfig": "schemas.run_config",
    "FileLimit": "sandbox",
    "Hardware": "schemas.hardware",
    "Judge": "authoring.judge",
    "MachineError": "errors",
    "ProtectedStore": "sandbox",
    "ReclaimError": "errors",
    "ResourceLimits": "sandbox",
    "RunConfig": "schemas.run_config",
    "RunRecord": "schemas.record",
    "Scoring": "schemas.scoring",
    "Step": "authoring.step",
    "StepConfig": "authoring.factory",
    "StudentMisbehaviorError": "errors",
    "Task": "authoring.task",
    "TaskDefinitionError": "errors",
    "ToolAnswer": "authoring.tool",
    "ToolBase": "tools.tool_base",
    "ToolConfigWriter": "tools.tool_base",
    "ToolRefusalError": "authoring.tool",
    "Transcript": "schemas.transcript",
    "UnreapableCohortError": "errors",
    "collect_submission": "sandbox",
    "create_task": "authoring.factory",
    "delete_files": "sandbox",
    "get_resource_limits": "sandbox",
    "judge_record": "runner.rejudge",
    "kill_processes": "sandbox",
    "limit_resources": "sandbox",
    "run_task": "runner.api",
    "save_artifact": "sandbox",
    "save_submission": "sandbox",
}

__all__ = [
    "ChalkError",
    "Contract",
    "EvaluationRunConfig",
    "FileLimit",
    "Hardware",
    "Judge",
    "MachineError",
    "ProtectedStore",
    "ReclaimError",
    "ResourceLimits",
    "RunConfig",
    "RunRecord",
    "Scoring",
    "Step",
    "StepConfig",
    "StudentMisbehaviorError",
    "Task",
    "TaskDefinitionError",
    "ToolAnswer",
    "ToolBase",
    "ToolConfigWriter",
    "ToolRefusalError",
    "Transcript",
    "UnreapableCohortError",
    "__version__",
    "collect_submission",
    "create_task",
    "delete_files",
    "get_resource_limits",
    "judge_record",
    "kill_processes",
    "limit_resources",
    "run_task",
    "save_artifact",
    "save_submission",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any exported object
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)

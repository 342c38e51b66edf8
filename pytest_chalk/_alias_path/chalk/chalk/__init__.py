"""`chalk`: alias of `pytest_chalk`, for task code written against the name `chalk`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_chalk
from pytest_chalk.discovery import scoring_child as _scoring_child  # noqa: F401 - prepares a child

if TYPE_CHECKING:
    from pytest_chalk import (
        ChalkError,
        Contract,
        EvaluationRunConfig,
        FileLimit,
        Hardware,
        Judge,
        MachineError,
        ProtectedStore,
        ReclaimError,
        ResourceLimits,
        RunConfig,
        RunRecord,
        Scoring,
        Step,
        StepConfig,
        StudentMisbehaviorError,
        Task,
        TaskDefinitionError,
        ToolAnswer,
        ToolBase,
        ToolConfigWriter,
        ToolRefusalError,
        Transcript,
        UnreapableCohortError,
        collect_submission,
        create_task,
        delete_files,
        get_resource_limits,
        judge_record,
        kill_processes,
        limit_resources,
        run_task,
        save_artifact,
        save_submission,
    )

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
    """Load a name at its first use: a scoring script that takes `Step` needs no pydantic."""
    if name not in pytest_chalk.__all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(pytest_chalk, name)

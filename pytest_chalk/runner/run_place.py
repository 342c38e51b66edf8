"""Where a run happens, and what surrounds it there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_chalk.models.judge_models import PlainJudgeModels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_chalk.authoring.judging import JudgeModels
    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.hardware import Hardware


def _no_hardware(_name: str) -> Hardware | str | None:
    return None


def _as_it_is(model: Model) -> Model:
    return model


@dataclass(frozen=True)
class RunPlace:
    """Where a run happens, and where what is kept of it goes.

    Attributes:
        box: Holds the student.
        transcript: The transcript's file; its directory exists.
        directory: For submissions and artifacts; made when there are some.
        save_submission_kwargs: Limits of what is saved.
        submissions_dir: Where saved submissions go, if not into `directory`.
        resolve_hardware: Says how this machine offers a hardware, or None.
        wrap_model: Puts something between the run and its model, such as a recording.
        judge_models: Makes what finds the models that judges ask, from the run's own model; None
            where the student is none.
        allow_readable_tasks: Whether a student that is not trusted may read the task's package.
        project: Where data folders for all tasks are; None for nowhere.
        keep_box: Whether the workdir of a run that does not pass is kept.
    """

    box: Box
    transcript: Path
    directory: Path
    save_submission_kwargs: Mapping[str, Any] = field(default_factory=dict)
    submissions_dir: Path | None = None
    resolve_hardware: Callable[[str], Hardware | str | None] = _no_hardware
    wrap_model: Callable[[Model], Model] = _as_it_is
    judge_models: Callable[[Model | None], JudgeModels] = PlainJudgeModels
    allow_readable_tasks: bool = False
    project: Path | None = None
    keep_box: bool = False

    @property
    def saved_in(self) -> Path:
        """Where saved submissions go."""
        return self.submissions_dir or self.directory / "submissions"

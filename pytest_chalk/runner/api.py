"""`run_task`: one run of a task without pytest, for scripts and notebooks."""

from __future__ import annotations

import hashlib
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.models.judge_models import PlainJudgeModels
from pytest_chalk.runner.place import process_box
from pytest_chalk.runner.run_place import RunPlace
from pytest_chalk.runner.students import check_student, student_name
from pytest_chalk.runner.task_run import perform_run, task_run
from pytest_chalk.schemas.record import PassRule, RunRecord, RunSpec
from pytest_chalk.schemas.run_config import RunConfig

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.runner.students import Student


def run_task(  # noqa: PLR0913 - all but the task have a default, and are given by name
    task_class: type[Task],
    *,
    model: Student = "oracle",
    judge_model: Model | str | None = None,
    config: RunConfig | None = None,
    directory: Path | None = None,
    pass_score: float | None = None,
) -> RunRecord:
    """Run a task once and return its record; a student's failure is a value, not an exception.

    Args:
        task_class: The task. A `pre_hook` with further parameters needs pytest to fill them.
        model: `oracle`, `noop`, or a model such as `ScriptedModel([...])`.
        judge_model: The model that judges ask where they name none; None for the run's own.
        config: What the task reads as `self.config`; its `run_id`, `task_id` and `model` are
            filled in where they are empty.
        directory: Where transcript, submissions and artifacts go; a fresh one if None.
        pass_score: The score from which on a step passes.

    Raises:
        RunOptionError: The model is unknown, or a run is under way in this process.
        MachineError: No slot can be had, or nothing can be written.
    """
    student = check_student(model)
    spec = RunSpec(
        config=_filled_in(config, task_class.id, student_name(student)),
        module=task_class.__module__,
        qualname=task_class.__qualname__,
        pass_rule=PassRule(pass_score=pass_score, source="run_task(pass_score=...)"),
    )
    kept_in = directory or Path(tempfile.mkdtemp(prefix="chalk-run-"))
    kept_in.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = RunPlace(
        process_box(),
        kept_in / "transcript.jsonl",
        kept_in,
        judge_models=partial(PlainJudgeModels, chosen=judge_model),
    )
    with task_run(spec, place) as run:
        run.prepare(task_class, student, {})
        return perform_run(run)


def _filled_in(config: RunConfig | None, task_id: str, model: str) -> RunConfig:
    given = config or RunConfig.placeholder()
    return given.model_copy(
        update={
            "run_id": given.run_id or run_id_for(task_id, model),
            "task_id": given.task_id or task_id,
            "model": given.model or model,
        }
    )


def run_id_for(task_id: str, model: str, nodeid: str = "", attempt: int = 1) -> str:
    """Return a run id that a person can read and that is the same in every session.

    Runs of one session differ in node id or attempt, so their ids differ.
    """
    readable = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", part)[:60] for part in (task_id, model))
    digest = hashlib.sha256(f"{task_id}\0{model}\0{nodeid}".encode("utf-8", "replace"))
    again = f"-a{attempt}" if attempt > 1 else ""
    return f"{readable}-{digest.hexdigest()[:8]}{again}"

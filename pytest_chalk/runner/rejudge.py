"""Judges a run once more, from its transcript and what it handed in. The student does not work."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.conversation import Conversation
from pytest_chalk.errors import RunOptionError, TaskDefinitionError
from pytest_chalk.models.judge_models import PlainJudgeModels
from pytest_chalk.runner.place import process_box
from pytest_chalk.runner.step_run import StepRun, StepScene, names_of
from pytest_chalk.runner.user_code import Misbehaved, Returned, call_user_code
from pytest_chalk.runner.verdict import (
    goes_on,
    run_outcome,
    run_reason,
    run_score,
    total_judge_usage,
)
from pytest_chalk.sandbox import CurrentRun, enter_run, find_run
from pytest_chalk.schemas.record import Failure, PassRule, RunRecord
from pytest_chalk.schemas.transcript import (
    ErrorEvent,
    ScoringEvent,
    StepCompletedEvent,
    StepStartedEvent,
    Transcript,
)
from pytest_chalk.store.transcript_file import read_transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_chalk.authoring.judging import JudgeModels
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.schemas.record import StepRecord
    from pytest_chalk.schemas.run_config import RunConfig
    from pytest_chalk.schemas.transcript import Event

_SCORING_STAGES = frozenset({"pre_scoring_hook", "judge", "pass_score"})
"""Stages of a step that come after the student's work."""


def judge_record(  # noqa: PLR0913 - all but the record have a default, and are given by name
    record: RunRecord,
    *,
    task_class: type[Task] | None = None,
    config: RunConfig | None = None,
    pass_rule: PassRule | None = None,
    hook_arguments: Mapping[str, object] | None = None,
    judge_models: JudgeModels | None = None,
    only_changed: bool = False,
) -> RunRecord:
    """Return the record with the word of today's judges on the work that was done then.

    The task is built and its `pre_hook` called, then each step's `pre_scoring_hook`, `judge` and
    `post_hook` in turn. `collect_submission` finds what was saved then. Steps that ended before
    their scoring keep their record, as does one in which the student misbehaved. A step that goes
    on where it did not then leaves the run `not_run` if there are further steps, for nobody worked
    on those. Transcript, usage and times stay what they were; nothing is written.

    Args:
        record: Of a run whose transcript and submissions are still where they were.
        task_class: None for the one the record names.
        config: None for the run's own.
        pass_rule: None for the default: any score above 0.
        hook_arguments: What `pre_hook` asks for beyond itself, by name.
        only_changed: Leave steps as they are whose judge is the one that scored them then.
        judge_models: Finds the models that judges ask; None for those that judges name themselves.

    Raises:
        RunOptionError: The record has no transcript that can be read, or a run is under way.
        TaskDefinitionError: The task it names is not there any more.
        MachineError: No slot can be had, or the box cannot be cleaned.
    """
    if find_run() is not None:
        raise _cannot(record, "a run is under way in this process", "Wait until it is over")
    transcript = _read(record)
    found_config = config or record.config
    if found_config is None:
        raise _cannot(record, "it does not say how it was configured", "Give config=RunConfig(...)")
    found_class = task_class or _find_class(record)
    scene = _Scene(
        found_config, pass_rule or PassRule(), judge_models or PlainJudgeModels(), only_changed
    )
    again = _Again(record, transcript, scene)
    with _place(record):
        return again.run(found_class, hook_arguments or {})


@contextmanager
def _place(record: RunRecord) -> Iterator[None]:
    """Make the record's saved submissions those of the current run, in an empty box."""
    box = process_box()
    current = CurrentRun(
        box=box,
        artifacts_dir=Path(record.submissions).parent / "artifacts-of-rejudging",
        submissions_dir=Path(record.submissions),
        is_judged_again=True,
    )
    try:
        with enter_run(current):
            yield
    finally:
        box.reset()


@dataclass(frozen=True)
class _Scene:
    """What all steps share."""

    config: RunConfig
    rule: PassRule
    judge_models: JudgeModels
    only_changed: bool


class _Prefix:
    """The transcript as the judge of a step got to see it; what is added is not written."""

    def __init__(self, transcript: Transcript, end: int) -> None:
        self._transcript = transcript.model_copy(update={"events": transcript.events[:end]})
        self.events = list(self._transcript.events)

    def add(self, event: Event) -> None:
        """Keep it for the record: the run is over, and its transcript written."""
        self.events.append(event)

    def transcript(self) -> Transcript:
        return self._transcript

    def sync(self) -> None:
        """Do nothing."""


class _NobodyAgent:
    """Stands for the student, who is gone."""

    name, trusted = "nobody", True

    def reason_to_skip(self, step: Step) -> str | None:  # noqa: ARG002 - there is nothing to try
        return None

    def work(self, work: object) -> None:  # noqa: ARG002 - never called
        raise AssertionError


class _Again:
    """One run being judged again."""

    def __init__(self, record: RunRecord, transcript: Transcript, scene: _Scene) -> None:
        self._record, self._transcript, self._scene = record, transcript, scene

    def run(self, task_class: type[Task], hook_arguments: Mapping[str, object]) -> RunRecord:
        """Return the new record."""
        if not self._record.steps:
            return self._record
        steps: list[Step] = []
        for stage, act in self._preparations(task_class, hook_arguments, steps):
            came = call_user_code(stage, act)
            if not isinstance(came, Returned):
                return self._broken(came)
        records = list(self._judge(steps))
        return self._closed(records, names_of(steps))

    def _preparations(
        self,
        task_class: type[Task],
        hook_arguments: Mapping[str, object],
        steps: list[Step],
    ) -> Iterator[tuple[str, Callable[[], object]]]:
        task: list[Task] = []
        yield "task", lambda: task.append(task_class(self._scene.config))
        yield "pre_hook", lambda: task[0].pre_hook(**hook_arguments)
        yield "steps", lambda: steps.extend(task[0].steps)

    def _judge(self, steps: Sequence[Step]) -> Iterator[StepRecord]:
        """Yield the steps' records up to the first that does not go on."""
        names = names_of(steps)
        for before, step in zip(self._record.steps, steps, strict=False):
            end = _end_of_work(self._transcript, before)
            if end is None:
                record = before
            else:
                scene = StepScene(
                    self._scene.config,
                    _NobodyAgent(),
                    Conversation(lambda _event: None),
                    _Prefix(self._transcript, end),
                    self._scene.rule,
                    self._scene.judge_models,
                )
                name = names[before.index]
                again = StepRun(scene, step, index=before.index, of=len(steps), name=name)
                record = again.judge_again(before, only_if_changed=self._scene.only_changed)
            yield record
            if not goes_on(record):
                return

    def _closed(self, records: Sequence[StepRecord], names: Sequence[str]) -> RunRecord:
        outcome, reason = run_outcome(records), run_reason(records)
        if outcome == "passed" and self._record.outcome == "skipped":
            outcome, reason = "skipped", self._record.reason
        elif goes_on(records[-1]) and len(records) < len(names):
            outcome = "not_run"
            reason = (
                f"step {len(records)} goes on now, and nobody has worked on step "
                f"{len(records) + 1}: run the task anew"
            )
        is_scored = outcome in {"passed", "failed", "misbehaved"}
        return self._record.model_copy(
            update={
                "outcome": outcome,
                "score": run_score(records) if is_scored else None,
                "reason": reason,
                "steps": tuple(records),
                "judge_usage": total_judge_usage(records),
                "not_reached": tuple(names[len(records) :]),
                "failure": None,
            }
        )

    def _broken(self, came: Failure | Misbehaved) -> RunRecord:
        failure = (
            came
            if isinstance(came, Failure)
            else Failure(
                stage="preparation",
                blame="author",
                exception_type="StudentMisbehaviorError",
                message=f"{came.message}\n(raised before anything was judged again)",
            )
        )
        return self._record.model_copy(
            update={
                "outcome": "error",
                "score": None,
                "reason": failure.summary,
                "failure": failure,
                "steps": (),
                "not_reached": tuple(step.name for step in self._record.steps),
            }
        )


def _end_of_work(transcript: Transcript, before: StepRecord) -> int | None:
    """Return how many events a step's judge got to see; None if it was never to see any."""
    if before.outcome in {"misbehaved", "not_run", "skipped"}:
        return None
    scored_late = before.failure is not None and before.failure.stage in _SCORING_STAGES
    if before.score is None and not scored_late:
        return None
    began = False
    for index, event in enumerate(transcript.events):
        if isinstance(event, StepStartedEvent):
            began = event.step == before.index
        elif began and (
            isinstance(event, (ScoringEvent, StepCompletedEvent))
            or (isinstance(event, ErrorEvent) and event.stage in _SCORING_STAGES)
        ):
            return index
    return None


def _read(record: RunRecord) -> Transcript:
    if not record.transcript:
        raise _cannot(record, "it has no transcript", "Judge a run that was carried out")
    try:
        return read_transcript(Path(record.transcript))
    except (OSError, ValueError) as error:
        problem = f"its transcript cannot be read: {error}"
        raise _cannot(record, problem, "Keep the session's directory as it is") from error


def _find_class(record: RunRecord) -> type[Task]:
    try:
        found: Any = importlib.import_module(record.module)
        for name in record.qualname.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise TaskDefinitionError(
            where=f"record of run {record.run_id!r}",
            problem=f"its task {record.module}:{record.qualname} is not there: {error}",
            fix="Give task_class=..., or bring the task back",
        ) from error
    task_class: type[Task] = found
    return task_class


def _cannot(record: RunRecord, problem: str, fix: str) -> RunOptionError:
    return RunOptionError(f"record of run {record.run_id!r}", problem, fix=fix)

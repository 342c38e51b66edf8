"""One step of a run: the student's work, the judge's word, and the hooks around them."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from pytest_chalk.authoring.judge import checked_scoring
from pytest_chalk.authoring.judging import Judging, enter_judging
from pytest_chalk.authoring.ports import StepWork
from pytest_chalk.authoring.step_clock import StepClock
from pytest_chalk.errors import BudgetSpent
from pytest_chalk.models.judge_models import PlainJudgeModels
from pytest_chalk.reports.clean import clean_object, clean_text
from pytest_chalk.reports.transcript_text import render_last_turns
from pytest_chalk.runner.judge_identity import judge_identity
from pytest_chalk.runner.kept_workdir import workdir_of_step
from pytest_chalk.runner.step_members import instructions_of, judge_of, rule_of
from pytest_chalk.runner.user_code import Misbehaved, Returned, call_user_code, failure_of
from pytest_chalk.runner.verdict import is_partial, passes, reason_for_failing, step_names, usage_of
from pytest_chalk.sandbox import keep_workdir, save_student_artifact
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.record import (
    Failure,
    LimitHit,
    PassRule,
    StepRecord,
    Usage,
)
from pytest_chalk.schemas.scoring import Scoring
from pytest_chalk.schemas.transcript import (
    ErrorEvent,
    JudgeUsageEvent,
    LimitReachedEvent,
    ScoringEvent,
    StepCompletedEvent,
    StepStartedEvent,
    TokenUsageEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_chalk.authoring.conversation import Conversation
    from pytest_chalk.authoring.judging import JudgeModels
    from pytest_chalk.authoring.ports import Agent, ModelReply
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.schemas.frozen import Outcome
    from pytest_chalk.schemas.run_config import OnLimit, RunConfig
    from pytest_chalk.schemas.transcript import Event, Transcript

T = TypeVar("T")
E = TypeVar("E")


class EventLog(Protocol):
    """Takes down what happens in a run."""

    @property
    def events(self) -> Sequence[Event]:
        """Every event so far."""
        ...

    def add(self, event: Event) -> None:
        """Take down an event."""
        ...

    def transcript(self) -> Transcript:
        """Return the transcript so far."""
        ...

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        ...


@dataclass(frozen=True)
class StepScene:
    """What all steps of a run share."""

    config: RunConfig
    agent: Agent
    conversation: Conversation
    transcript: EventLog
    rule: PassRule
    judge_models: JudgeModels = field(default_factory=PlainJudgeModels)
    keep_box_in: Path | None = None


@dataclass(frozen=True)
class _Verdict:
    """What came of a step before its `post_hook`."""

    outcome: Outcome
    reason: str = ""
    scoring: Scoring | None = None
    failure: Failure | None = None
    limit: LimitHit | None = None
    partial: bool = False


class StepRun:
    """One step about to run. `perform` runs it once; `broken_by` is for what ended it from outside.

    Attributes:
        index: From 0.
        of: How many steps the task has.
        name: Unique among the task's steps.
    """

    def __init__(self, scene: StepScene, step: Step, *, index: int, of: int, name: str) -> None:
        self.index, self.of, self.name = index, of, name
        self._scene, self._step = scene, step
        self._instructions = ""
        self._judge = self._known_judge = ""
        self._started_s = time.monotonic()
        self._events_before = len(scene.transcript.events)
        self._turns_before = scene.conversation.assistant_turns

    @property
    def label(self) -> str:
        """For example `1/2 explore`."""
        return f"{self.index + 1}/{self.of} {self.name}"

    def perform(self) -> StepRecord:
        """Run the step to its record; whatever user code raises ends up in it."""
        transcript = self._scene.transcript
        transcript.add(StepStartedEvent(step=self.index, of=self.of))
        try:
            verdict = self._reach_verdict(self._let_student_work)
        finally:
            # Also when an interrupt or a time-out from outside passes through: the step began.
            hook_failure = self._run_post_hook()
        transcript.add(StepCompletedEvent(step=self.index))
        transcript.sync()
        return self._record(verdict, hook_failure)

    def judge_again(self, before: StepRecord, *, only_if_changed: bool = False) -> StepRecord:
        """Return the record that `before` becomes by another word of the judge.

        With `only_if_changed` the judge is not asked if it is the one that spoke then.
        """
        self._known_judge = before.judge if only_if_changed else ""
        try:
            verdict = self._reach_verdict(lambda: before.limit, is_again=True)
        except _SameJudgeError:
            return before
        finally:
            hook_failure = self._run_post_hook()
        record = self._record(verdict, hook_failure)
        kept = ("usage", "duration_s", "instructions")
        return record.model_copy(update={name: getattr(before, name) for name in kept})

    def broken_by(self, error: BaseException, *, outcome: Outcome = "error") -> StepRecord:
        """Return the record of a step that `error` ended from outside."""
        failure = failure_of("step", error)
        self._write_failure(failure)
        return self._record(_Verdict(outcome, failure.summary, failure=failure), None)

    def _reach_verdict(
        self, work: Callable[[], LimitHit | None], *, is_again: bool = False
    ) -> _Verdict:
        limit = None
        try:
            limit = work()
            if limit is not None and _on_limit(self._scene.config, limit) == "error":
                return _Verdict("error", limit.summary, limit=limit)
            if not is_again:
                self._keep_extra_artifacts()
                self._keep_workdir()
            return self._judged(self._score(), limit)
        except _StageFailedError as stopped:
            self._write_failure(stopped.failure)
            summary = stopped.failure.summary
            return _Verdict("error", summary, failure=stopped.failure, limit=limit)
        except BudgetSpent as spent:
            return _Verdict("not_run", str(spent), limit=limit)
        except _MisbehavedError as found:
            scoring = Scoring(0.0, {"misbehavior": str(found)}, continue_task=False)
            self._scene.transcript.add(ScoringEvent(scoring=scoring))
            return _Verdict("misbehaved", f"MISBEHAVED: {found}", scoring, limit=limit)

    def _let_student_work(self) -> LimitHit | None:
        """Give the instructions and wait for the student; return the limit that ended its work."""
        step, scene = self._step, self._scene
        self._instructions = scene.config.resolve_step_instructions(
            _value("instructions", lambda: instructions_of(step)), self.index
        )
        clock = StepClock(scene.config.resolve_step_time_limit(self.index))
        scene.conversation.add(Message(role="user", content=self._instructions))
        work = StepWork(step, self.index, scene.conversation, clock)
        limit = _watched_value("student", lambda: scene.agent.work(work))
        if limit is not None:
            scene.transcript.add(LimitReachedEvent(**limit.model_dump()))
        return limit

    def _keep_extra_artifacts(self) -> None:
        for path in self._scene.config.extra_artifact_paths:
            _value("extra_artifact_paths", functools.partial(save_student_artifact, path))

    def _keep_workdir(self) -> None:
        if self._scene.keep_box_in is not None:
            keep_workdir(workdir_of_step(self._scene.keep_box_in, self.index))

    def _score(self) -> Scoring:
        """Run the scoring stages, each of which may find the student out."""
        step = self._step
        _watched_value("pre_scoring_hook", step.pre_scoring_hook)
        judge = _watched_value("judge", lambda: judge_of(step))
        self._judge = judge_identity(step, judge)
        if self._judge == self._known_judge:
            raise _SameJudgeError
        transcript = self._scene.transcript.transcript()
        with enter_judging(Judging(self.index, self._scene.judge_models, self._take_down)):
            return _watched_value(
                "judge", lambda: checked_scoring(judge, judge.evaluate(transcript))
            )

    def _take_down(self, model: str, reply: ModelReply) -> None:
        self._scene.transcript.add(
            JudgeUsageEvent(
                model=model,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
                cache_read_tokens=reply.cache_read_tokens,
                cache_write_tokens=reply.cache_write_tokens,
                usd=reply.usd,
            )
        )

    def _judged(self, scoring: Scoring, limit: LimitHit | None) -> _Verdict:
        if scoring.metadata:
            scoring = scoring.model_copy(update={"metadata": clean_object(scoring.metadata)})
        self._scene.transcript.add(ScoringEvent(scoring=scoring))
        if scoring.void is not None:
            failure = Failure(
                stage="judge",
                blame=scoring.void_blame,
                exception_type="JudgeFailed",
                message=scoring.void,
            )
            return _Verdict("error", failure.summary, scoring, failure, limit)
        rule = _value("pass_score", lambda: rule_of(self._step)) or self._scene.rule
        if passes(scoring, rule):
            partial = is_partial(scoring, rule)
            return _Verdict("passed", scoring=scoring, limit=limit, partial=partial)
        reason = reason_for_failing(scoring, rule)
        return _Verdict("failed", reason, scoring, limit=limit)

    def _run_post_hook(self) -> Failure | None:
        after = call_user_code("post_hook", self._step.post_hook)
        if isinstance(after, Returned):
            return None
        failure = after if isinstance(after, Failure) else _too_late("post_hook", after)
        self._write_failure(failure)
        return failure

    def _write_failure(self, failure: Failure) -> None:
        self._scene.transcript.add(ErrorEvent(**failure.model_dump()))

    def _record(self, verdict: _Verdict, hook_failure: Failure | None) -> StepRecord:
        scoring, failure = verdict.scoring, verdict.failure or hook_failure
        counts = scoring is not None and scoring.void is None
        return StepRecord(
            index=self.index,
            of=self.of,
            name=self.name,
            outcome="error" if hook_failure else verdict.outcome,
            score=scoring.score if scoring is not None and counts else None,
            continue_task=scoring.continue_task if scoring is not None else None,
            partial=verdict.partial,
            reason=verdict.reason or (hook_failure.summary if hook_failure else ""),
            metadata=scoring.metadata if scoring is not None else {},
            limit=verdict.limit,
            failure=failure,
            usage=self._usage(),
            judge=self._judge,
            judge_usage=self._judge_usage(),
            duration_s=round(time.monotonic() - self._started_s, 6),
            instructions=clean_text(self._instructions),
            last_turns=self._last_turns("error" if hook_failure else verdict.outcome),
        )

    def _last_turns(self, outcome: Outcome) -> str:
        """Return what was said last, for the reader of a failure; nobody reads it of a success."""
        if outcome in {"passed", "skipped"}:
            return ""
        return render_last_turns(self._scene.transcript.events)

    def _usage(self) -> Usage:
        turns = self._scene.conversation.assistant_turns - self._turns_before
        return usage_of(turns, self._own_events(TokenUsageEvent))

    def _judge_usage(self) -> Usage:
        asked = self._own_events(JudgeUsageEvent)
        return usage_of(len(asked), asked)

    def _own_events(self, kind: type[E]) -> list[E]:
        events = self._scene.transcript.events[self._events_before :]
        return [event for event in events if isinstance(event, kind)]


def names_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return how reports call the steps of a task: each name once."""
    return step_names([clean_text(str(step.name or type(step).__name__)) for step in steps])


class _StageFailedError(Exception):
    """Carries a failure out of a stage."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(failure.summary)


class _SameJudgeError(Exception):
    """The judge is the one that has spoken already."""


class _MisbehavedError(Exception):
    """Carries out of a tool or a scoring stage that the student was found out."""


def _value(stage: str, code: Callable[[], T]) -> T:
    came = call_user_code(stage, code)
    if isinstance(came, Returned):
        return came.value
    raise _StageFailedError(came if isinstance(came, Failure) else _too_late(stage, came))


def _watched_value(stage: str, code: Callable[[], T]) -> T:
    """Return what `code` returns, in a stage that may find the student out."""
    came = call_user_code(stage, code)
    if isinstance(came, Misbehaved):
        raise _MisbehavedError(came.message)
    if isinstance(came, Failure):
        raise _StageFailedError(came)
    return came.value


def _too_late(stage: str, found: Misbehaved) -> Failure:
    """Misbehaviour scores 0 when a tool or the scoring finds it; elsewhere nobody worked yet."""
    return Failure(
        stage=stage,
        blame="author",
        exception_type="StudentMisbehaviorError",
        message=f"{found.message}\n(raised outside scoring: use pre_scoring_hook, judge or tool)",
    )


def _on_limit(config: RunConfig, limit: LimitHit) -> OnLimit:
    own = {
        "step time": config.on_step_time_limit,
        "context": config.on_step_context_window_limit,
        "turns": None,
    }[limit.limit]
    return own or config.on_limit

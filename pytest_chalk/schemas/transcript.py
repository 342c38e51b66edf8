"""Everything that happened in a run, in order: events, and the transcript that holds them.

Every event has a `type` (the discriminator) and an aware UTC `timestamp`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, AwareDatetime, Field, TypeAdapter

from pytest_chalk.schemas.chat import Message, ToolCall
from pytest_chalk.schemas.frozen import Blame, Frozen, JsonObject, Outcome, Text
from pytest_chalk.schemas.scoring import Scoring

SCHEMA_VERSION: Final = 1
"""Of transcripts and records. A reader refuses a newer one instead of guessing."""


def _now() -> datetime:
    return datetime.now(UTC)


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


UtcDatetime: TypeAlias = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class BaseEvent(Frozen):
    """What all events share."""

    timestamp: UtcDatetime = Field(default_factory=_now)


class TaskStartedEvent(BaseEvent):
    """The run began."""

    type: Literal["task_started"] = "task_started"
    run_id: str
    task_id: str
    model: str | None = None
    use_hints: bool | None = None
    isolation: str | None = None


class TaskPreHookCompletedEvent(BaseEvent):
    """`pre_hook` returned; `metadata` is its dict."""

    type: Literal["task_pre_hook_completed"] = "task_pre_hook_completed"
    metadata: JsonObject


class StepStartedEvent(BaseEvent):
    """A step began; `step` counts from 0, `of` is how many the task has, if that is known."""

    type: Literal["step_started"] = "step_started"
    step: int
    of: int | None = None


class MessageAddedEvent(BaseEvent):
    """A message joined the conversation. `finish_reason` is the provider's word, if it gave one."""

    type: Literal["message_added"] = "message_added"
    message: Message
    finish_reason: str | None = None


class ToolCallStartedEvent(BaseEvent):
    """The harness begins to carry out a call."""

    type: Literal["tool_call_started"] = "tool_call_started"
    tool_call: ToolCall


class ToolCallCompletedEvent(BaseEvent):
    """The call is over. `text` is what the student is told; `details` is for readers."""

    type: Literal["tool_call_completed"] = "tool_call_completed"
    tool_call_id: Text
    text: Text
    is_error: bool = False
    details: JsonObject = Field(default_factory=dict)


class AnswersSubmittedEvent(BaseEvent):
    """The student handed in named answers; a later one of the same name wins."""

    type: Literal["answers_submitted"] = "answers_submitted"
    answers: dict[Text, Text]


class TokenUsageEvent(BaseEvent):
    """What one model call used, as the provider counted it; `usd` by the price that was known."""

    type: Literal["token_usage"] = "token_usage"
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    usd: float | None = None


class JudgeUsageEvent(BaseEvent):
    """What one question of a judge to a model used: apart from what the student's model does."""

    type: Literal["judge_usage"] = "judge_usage"
    model: Text
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    usd: float | None = None


class RetryEvent(BaseEvent):
    """A model's provider failed after attempt `attempt` (from 1) and was asked again."""

    type: Literal["retry"] = "retry"
    attempt: int
    wait_s: float
    reason: str


class LimitReachedEvent(BaseEvent):
    """A limit ended the student's work: which, its value, and how much had been used."""

    type: Literal["limit_reached"] = "limit_reached"
    limit: str
    value: float
    used: float
    unit: str


class ScoringEvent(BaseEvent):
    """The judge's word on the step, before any pass rule."""

    type: Literal["scoring"] = "scoring"
    scoring: Scoring


class StepCompletedEvent(BaseEvent):
    """The step is over and its `post_hook` has run."""

    type: Literal["step_completed"] = "step_completed"
    step: int


class ErrorEvent(BaseEvent):
    """Something broke: at which stage, whose it is to mend, and what was raised."""

    type: Literal["error"] = "error"
    stage: str
    blame: Blame
    exception_type: str
    message: Text
    traceback: Text | None = None


class TaskCompletedEvent(BaseEvent):
    """The run is over."""

    type: Literal["task_completed"] = "task_completed"
    outcome: Outcome


Event: TypeAlias = Annotated[
    TaskStartedEvent
    | TaskPreHookCompletedEvent
    | StepStartedEvent
    | MessageAddedEvent
    | ToolCallStartedEvent
    | ToolCallCompletedEvent
    | AnswersSubmittedEvent
    | TokenUsageEvent
    | JudgeUsageEvent
    | RetryEvent
    | LimitReachedEvent
    | ScoringEvent
    | StepCompletedEvent
    | ErrorEvent
    | TaskCompletedEvent,
    Field(discriminator="type"),
]

EVENT_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)
"""Reads one event, for example a line of a transcript file."""


class Transcript(Frozen):
    """The events of a run so far, oldest first."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: str
    events: tuple[Event, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message in order, all steps of the run included."""
        return tuple(e.message for e in self.events if isinstance(e, MessageAddedEvent))

    @property
    def answers(self) -> dict[str, str]:
        """The answers handed in, by name; a later one replaces an earlier one."""
        merged: dict[str, str] = {}
        for event in self.events:
            if isinstance(event, AnswersSubmittedEvent):
                merged.update(event.answers)
        return merged

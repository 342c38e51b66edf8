"""What the runner asks of a student: a `Model` that the message loop drives, or an `Agent`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_chalk.authoring.conversation import Conversation
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.authoring.step_clock import StepClock
    from pytest_chalk.schemas.chat import Message
    from pytest_chalk.schemas.record import LimitHit


@dataclass(frozen=True)
class ToolSchema:
    """A tool as a model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Retry:
    """A model's provider failed and will be asked again: after which attempt (from 1), and why."""

    attempt: int
    wait_s: float
    reason: str


@dataclass(frozen=True)
class ModelRequest:
    """One turn asked of a model: the whole conversation, the tools, and the seconds left.

    `on_retry` is told of each retry before the wait, so that it can be written down. `step` is the
    step of the run that it belongs to, from 0.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSchema]
    time_limit_s: float | None = None
    on_retry: Callable[[Retry], None] | None = None
    step: int = 0


@dataclass(frozen=True)
class ModelReply:
    """One turn of a model. Token counts are the provider's own; 0 where it gives none.

    `finish_reason` is `stop`, `tool_calls`, `length`, `content_filter`, or `time_limit`: the
    request's time was over and the message is what had arrived, without tool calls.
    `input_tokens` is all of the prompt, what came from or went to the provider's cache included.
    `usd` is what the turn cost; None where no price is known, or where nobody was asked.
    """

    message: Message
    finish_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    usd: float | None = None


@runtime_checkable
class Model(Protocol):
    """A student's mind: gets a conversation, returns the next message.

    Attributes:
        name: As reports show it.
        trusted: Whether what it does is known beforehand (a script), so that it may run without a
            sandbox. A model that thinks is never trusted.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class

    @property
    def trusted(self) -> bool: ...  # noqa: D102 - see the class

    def reply(self, request: ModelRequest) -> ModelReply:
        """Return the next turn.

        Raises:
            MachineError: The provider cannot be used; the run is an error and gets no score.
        """
        ...


@dataclass(frozen=True)
class StepWork:
    """What an agent gets for one step. The instructions are the conversation's last message.

    Attributes:
        step: The author's step; an agent that only reads the conversation ignores it.
        index: From 0.
        clock: Tells the time left.
    """

    step: Step
    index: int
    conversation: Conversation
    clock: StepClock


class Agent(Protocol):
    """Works on steps. Made for one run, so it may keep what it learnt in earlier steps."""

    @property
    def name(self) -> str:
        """As reports show it."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether it may run without a sandbox."""
        ...

    def reason_to_skip(self, step: Step) -> str | None:
        """Return why it cannot even try the step, which ends the run unmeasured; else None."""
        ...

    def work(self, work: StepWork) -> LimitHit | None:
        """Work on one step; return the limit that ended the work, if one did.

        Raises:
            MachineError: It could not go on through no fault of the student.
        """
        ...

"""The conversation of a run: its messages, each written to the transcript as it is added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.schemas.transcript import MessageAddedEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_chalk.schemas.chat import Message
    from pytest_chalk.schemas.transcript import Event


class Conversation:
    """Grows by one message at a time and never changes what was said."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._messages: list[Message] = []
        self._assistant_turns = 0

    @property
    def messages(self) -> Sequence[Message]:
        """All messages so far, every step's."""
        return self._messages

    @property
    def assistant_turns(self) -> int:
        """How many turns the student has taken in the whole run."""
        return self._assistant_turns

    def emit(self, event: Event) -> None:
        """Write an event that is no message."""
        self._emit(event)

    def add(self, message: Message, *, finish_reason: str | None = None) -> None:
        """Add a message and write it down."""
        self._messages.append(message)
        self._assistant_turns += message.role == "assistant"
        self._emit(MessageAddedEvent(message=message, finish_reason=finish_reason))

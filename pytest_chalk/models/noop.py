"""A student that does nothing and says it is done: every task must fail it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.schemas.chat import Message

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import ModelRequest


class NoopModel:
    """Hands in nothing. A task it passes measures nothing."""

    name = "noop"
    trusted = True

    def reply(self, request: ModelRequest) -> ModelReply:  # noqa: ARG002 - it does not listen
        """Return the one thing it says."""
        return ModelReply(Message(content="I am done."), finish_reason="stop")

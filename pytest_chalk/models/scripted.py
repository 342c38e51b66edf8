"""A student that says and does what a test tells it to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.authoring.ports import ModelReply, ModelRequest
from pytest_chalk.authoring.script import Call
from pytest_chalk.errors import ScriptedModelError
from pytest_chalk.schemas.chat import Function, Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.authoring.script import Turn


class ScriptedModel:
    """Plays one element of `turns` per model turn: text, a call, or a list of calls.

    It keeps no state: which turn is next is read off the conversation, so one instance serves any
    number of runs. Running out of turns is an error that says so.
    """

    trusted = True

    def __init__(
        self, turns: Sequence[Turn], *, name: str = "scripted", turns_before: int = 0
    ) -> None:
        """Take the turns; `turns_before` assistant messages of the conversation are not ours."""
        self.turns = tuple(turns)
        self.name = name
        self._turns_before = turns_before

    def reply(self, request: ModelRequest) -> ModelReply:
        """Return the next turn.

        Raises:
            ScriptedModelError: There is none left.
        """
        said = sum(message.role == "assistant" for message in request.messages)
        index = said - self._turns_before
        if index >= len(self.turns):
            raise ScriptedModelError(
                where=f"model {self.name!r}",
                problem=f"was asked for turn {index + 1} and has {len(self.turns)}",
                fix="End the script with a plain message for each step, or add the missing turns",
            )
        message = _message(self.turns[index], index)
        return ModelReply(message, finish_reason="tool_calls" if message.tool_calls else "stop")


def _message(turn: Turn, index: int) -> Message:
    if isinstance(turn, str):
        return Message(content=turn)
    calls = [turn] if isinstance(turn, Call) else turn
    return Message(
        tool_calls=tuple(
            ToolCall(
                id=f"call_{index}_{position}",
                function=Function(name=made.tool, arguments=made.arguments_json),
            )
            for position, made in enumerate(calls)
        )
    )

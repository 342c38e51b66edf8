"""Messages between harness and student, in the shape of OpenAI chat completions."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pytest_chalk.schemas.frozen import Frozen, JsonObject, Text

Role: TypeAlias = Literal["assistant", "user", "system", "tool", "function"]


class Function(Frozen):
    """The tool a model calls and the arguments as it wrote them: JSON text, possibly malformed."""

    name: Text | None
    arguments: Text = ""


class ToolCall(Frozen):
    """One call of a tool in an assistant message."""

    id: Text
    function: Function
    type: str = "function"


class Message(Frozen):
    """One message of the conversation.

    `content` is text, a list of parts (`{"type": "text", "text": ...}` and others), or None for a
    turn that only calls tools.
    """

    content: Text | list[JsonObject] | None = None
    role: Role = "assistant"
    tool_calls: tuple[ToolCall, ...] | None = None
    reasoning_content: Text | None = None
    thinking_blocks: list[JsonObject] | None = None
    tool_call_id: Text | None = None

    @property
    def text(self) -> str:
        """The text of the message, parts joined by blank lines; other kinds of parts left out."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        texts = [part.get("text") for part in self.content if part.get("type") == "text"]
        return "\n\n".join(text for text in texts if isinstance(text, str))


ChatCompletionMessageToolCall = ToolCall

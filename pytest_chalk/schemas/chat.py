"""Messages between harness and student, in the shape of OpenAI chat completions."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pytest_chalk.schemas.frozen import Frozen

Role: TypeAlias = Literal["assistant", "user", "system", "tool", "function"]


class Function(Frozen):
    """The tool a model calls and the arguments as it wrote them: JSON text, possibly malformed."""

    name: str | None
    arguments: str = ""


class ToolCall(Frozen):
    """One call of a tool in an assistant message."""

    id: str
    function: Function
    type: str = "function"


class Message(Frozen):
    """One message of the conversation.

    `content` is text, a list of parts (`{"type": "text", "text": ...}` and others), or None for a
    turn that only calls tools.
    """

    content: str | list[dict[str, Any]] | None = None
    role: Role = "assistant"
    tool_calls: tuple[ToolCall, ...] | None = None
    reasoning_content: str | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The text of the message, parts joined by blank lines; other kinds of parts left out."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        texts = [part.get("text") for part in self.content if part.get("type") == "text"]
        return "\n\n".join(text for text in texts if isinstance(text, str))


ChatCompletionMessageToolCall = ToolCall

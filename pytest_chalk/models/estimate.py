"""How many tokens a turn has where its provider gives no count. Pure.

Some servers count only what they do not stream, and none counts a reply that was cut off. A budget
and a context limit must hold there too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import ModelReply, ModelRequest

CHARS_PER_TOKEN = 3
"""Rather too few than too many: English text has about four."""

MAX_TOKENS = 1_000_000_000
"""Of one turn. No model takes a thousandth of it; a provider that says more has not counted."""


def token_count(value: object) -> int | None:
    """Return a number of tokens as a provider gives it; None where that is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_TOKENS else None


def is_counted(reply: ModelReply) -> bool:
    """Tell whether the provider counted a turn."""
    return bool(reply.input_tokens or reply.output_tokens)


def estimated_input_tokens(request: ModelRequest) -> int:
    """Return about how many tokens a request has, its tools included."""
    chars = sum(len(str(message.content or "")) for message in request.messages)
    chars += sum(len(f"{tool.name}{tool.description}{tool.parameters}") for tool in request.tools)
    calls = (made for message in request.messages for made in message.tool_calls or ())
    return (chars + sum(len(made.function.arguments) for made in calls)) // CHARS_PER_TOKEN + 1


def estimated_output_tokens(reply: ModelReply) -> int:
    """Return about how many tokens a reply has, thoughts and calls included."""
    message = reply.message
    chars = len(message.text) + len(message.reasoning_content or "")
    chars += sum(len(made.function.arguments) for made in message.tool_calls or ())
    return chars // CHARS_PER_TOKEN + 1

"""The `submit_answer` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_NAME = "answer"

MAX_NAME_CHARS = 100
"""It becomes a heading where answers are shown."""

MAX_ANSWER_CHARS = 100_000
"""About 25,000 tokens, which is already more than a judge wants to read; files are for more."""


class SubmitAnswerTool:
    """Takes down a named answer, which judges find in the transcript's `answers`."""

    name = "submit_answer"
    description = (
        "Hand in an answer. A task may ask for several, each under its own name; a later answer "
        "replaces an earlier one of the same name."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "answer": {"type": "string", "description": "The answer."},
            "name": {
                "type": "string",
                "default": DEFAULT_NAME,
                "description": "Which answer it is, where the task asks for several.",
            },
        },
        "required": ["answer"],
        "additionalProperties": False,
    }

    def call(self, arguments: Mapping[str, Any], *, time_limit_s: float | None) -> ToolAnswer:  # noqa: ARG002 - takes no time
        """Return the answer to be recorded.

        Raises:
            ToolRefusalError: It is no text, or too long.
        """
        unknown = sorted(set(arguments) - {"answer", "name"})
        if unknown:
            message = f"submit_answer takes answer and name, not {', '.join(unknown)}."
            raise ToolRefusalError(message)
        name = _text("name", arguments.get("name", DEFAULT_NAME), MAX_NAME_CHARS)
        answer = _text("answer", arguments.get("answer"), MAX_ANSWER_CHARS)
        return ToolAnswer(f"The answer {name!r} was handed in.", answers={name: answer})

    def close(self) -> None:
        """Do nothing: a call leaves nothing behind."""


def _text(parameter: str, value: object, max_chars: int) -> str:
    if not isinstance(value, str) or not value.strip():
        message = f"{parameter} must be a text that is not empty."
        raise ToolRefusalError(message)
    if len(value) > max_chars:
        message = f"{parameter} has {len(value)} characters, at most {max_chars} are taken."
        raise ToolRefusalError(message)
    return value

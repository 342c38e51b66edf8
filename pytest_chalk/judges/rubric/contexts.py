"""What a rubric's model is shown of a student's work."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from pytest_chalk.errors import TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_chalk.schemas.chat import Message
    from pytest_chalk.schemas.transcript import Transcript

MAX_FILE_CHARS = 100_000
"""Of one file, head and tail: some 25,000 tokens. A report is a tenth of it."""

MAX_FILE_BYTES = 4 * MAX_FILE_CHARS
"""Read of one file: its first and its last part of that size, whatever is between them."""

MAX_MESSAGE_CHARS = 20_000
"""Of one message or tool result in a transcript, head and tail."""

_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


class RubricContext(ABC):
    """Subclass it to show something else: implement `render`."""

    @abstractmethod
    def render(self, transcript: Transcript) -> str:
        """Return what the model is to see; nothing where there is nothing.

        It is shown as data whatever it holds, but the parts of one rendering are told apart by it
        alone: where several come from the student, render each so that it cannot pass for another.
        """


class TranscriptContext(RubricContext):
    """The conversation, an object of JSON on each line, so that no text can pass for a message."""

    def __init__(self, tool: str | None = None, last: int | None = None) -> None:
        """Take what to show.

        Args:
            tool: None for the messages; the name of a tool, or `*` for any, for its completed
                calls: arguments and result.
            last: Only so many, from the end.

        Raises:
            TaskDefinitionError: `last` is below 1.
        """
        if last is not None and last < 1:
            raise TaskDefinitionError(
                "TranscriptContext", f"last is {last!r}", fix="Give at least 1, or None for all"
            )
        self.tool, self.last = tool, last

    @override
    def render(self, transcript: Transcript) -> str:
        """Return the lines."""
        found = list(_messages(transcript) if self.tool is None else _calls(transcript, self.tool))
        shown = found if self.last is None else found[-self.last :]
        return "\n".join(json.dumps(one, ensure_ascii=False).translate(_LINE_ENDS) for one in shown)


class AnswersContext(RubricContext):
    """What the student handed in with `submit_answer`."""

    def __init__(self, key: str | None = None) -> None:
        """Take the name of the only answer to show; None for all."""
        self.key = key

    @override
    def render(self, transcript: Transcript) -> str:
        """Return each answer below its name."""
        answers = transcript.answers
        names = list(answers) if self.key is None else [self.key] * (self.key in answers)
        return "\n\n".join(
            f"# Answer {name!r}:\n{_quoted(answers[name], MAX_FILE_CHARS)}" for name in names
        )


class FileContext(RubricContext):
    """Saved submissions, each below its name. One that was not handed in is said to be missing."""

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Take the paths of saved copies, never those that the student wrote to."""
        if isinstance(paths, (str, os.PathLike)):
            raise TaskDefinitionError(
                "FileContext", f"paths is {paths!r}", fix="Give a list of paths"
            )
        self.paths = tuple(Path(path) for path in paths)

    @override
    def render(self, transcript: Transcript) -> str:
        """Return the files; nothing if none of them was handed in.

        Raises:
            MachineError: This machine cannot read a copy.
        """
        parts = [f"# File {_label(path, self.paths)!r}:\n{_file_text(path)}" for path in self.paths]
        return "\n\n".join(parts) if any(path.is_file() for path in self.paths) else ""


def _messages(transcript: Transcript) -> Iterator[dict[str, Any]]:
    for message in transcript.messages:
        shown: dict[str, Any] = {"role": message.role, "content": _content(message)}
        if message.tool_calls:
            shown["tool_calls"] = [
                {"tool": made.function.name, "arguments": _shortened(made.function.arguments)}
                for made in message.tool_calls
            ]
        yield shown


def _content(message: Message) -> str | None:
    if message.content is None or isinstance(message.content, str):
        return None if message.content is None else _shortened(message.content)
    texts = [
        str(part.get("text")) if part.get("type") == "text" else f"[{part.get('type')}]"
        for part in message.content
    ]
    return _shortened("\n\n".join(texts))


def _calls(transcript: Transcript, tool: str) -> Iterator[dict[str, Any]]:
    from pytest_chalk.schemas.transcript import (  # noqa: PLC0415 - a task's import needs none
        ToolCallCompletedEvent,
        ToolCallStartedEvent,
    )

    started = {}
    for event in transcript.events:
        if isinstance(event, ToolCallStartedEvent):
            started[event.tool_call.id] = event.tool_call.function
        elif isinstance(event, ToolCallCompletedEvent) and event.tool_call_id in started:
            function = started.pop(event.tool_call_id)
            if tool in {"*", function.name}:
                yield {
                    "tool": function.name,
                    "arguments": _shortened(function.arguments),
                    "result": _shortened(event.text),
                }


def _label(path: Path, others: Sequence[Path]) -> str:
    """Return the name of a file, with as much before it as tells it from the others."""
    for length in range(1, len(path.parts)):
        ends = [other.parts[-length:] for other in others]
        if ends.count(path.parts[-length:]) == 1:
            return "/".join(path.parts[-length:])
    return str(path)


def _file_text(path: Path) -> str:
    """Return a file's text; a link is not followed, for a tree may hold links of the student's."""
    from pytest_chalk.sandbox.untrusted_fs import (  # noqa: PLC0415 - as above
        NotRegularError,
        open_saved,
    )

    try:
        fd = open_saved(path)
    except FileNotFoundError:
        return "(was not handed in)"
    except NotRegularError as error:
        return f"({error.found})"
    except OSError as error:
        return f"(cannot be read: {error.strerror})"
    with open(fd, "rb") as opened:  # noqa: PTH123 - a descriptor, not a path
        content = opened.read(MAX_FILE_BYTES)
        skipped = os.fstat(fd).st_size - 2 * MAX_FILE_BYTES
        if skipped > 0:
            opened.seek(-MAX_FILE_BYTES, os.SEEK_END)
            content += f"\n[... {skipped:,} bytes cut ...]\n".encode()
        content += opened.read(MAX_FILE_BYTES)
    return _quoted(content.decode("utf-8", "replace"), MAX_FILE_CHARS)


def _quoted(text: str, max_chars: int) -> str:
    """Return a text with a bar before each line, so that none passes for another heading."""
    lines = _shortened(text, max_chars).splitlines()
    return "\n".join(f"| {line}" for line in lines) or "(is empty)"


def _shortened(text: str, max_chars: int = MAX_MESSAGE_CHARS) -> str:
    from pytest_chalk.reports.clean import clean_text  # noqa: PLC0415 - as above

    return clean_text(text, max_chars=max_chars)

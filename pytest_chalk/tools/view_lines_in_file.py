"""The `view_lines_in_file` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
from pytest_chalk.tools.student_files import StudentFiles  # noqa: TC001 - read for the schema

if TYPE_CHECKING:
    from pytest_chalk.tools.student_files import FileContent

MAX_READ_BYTES = 16_777_216
"""Of a file, from its start. Sources and reports are far smaller; for what is larger there are
`grep` and `sed` in the shell."""

MAX_LINES = 1_000
"""Per call. More would crowd out the task."""

MAX_SHOWN_CHARS = 50_000
"""Per call, about 12,000 tokens. A minified file is one line of a megabyte."""


def view_lines_in_file(
    files: StudentFiles,
    file_path: Annotated[str, Field(description="Absolute, or relative to the home directory.")],
    from_line: Annotated[int, Field(ge=1, description="First line; 1 is the first of the file.")],
    to_line: Annotated[int, Field(ge=1, description="Last line, included.")],
) -> ToolAnswer:
    """View lines of a text file. At most 1,000 lines are shown at once."""
    if to_line < from_line:
        message = f"to_line {to_line} is before from_line {from_line}."
        raise ToolRefusalError(message)
    found = files.read(file_path, max_bytes=MAX_READ_BYTES)
    if b"\0" in found.content:
        message = f"{found.path}: this is a binary file: it holds NUL bytes."
        raise ToolRefusalError(message)
    lines = found.content.split(b"\n")
    if not lines[-1]:
        lines.pop()  # what follows the last line's end is no line
    return _answer(found, lines, from_line, to_line)


def _answer(found: FileContent, lines: list[bytes], from_line: int, to_line: int) -> ToolAnswer:
    if from_line > max(len(lines), 1):
        raise ToolRefusalError(_past_end(found, len(lines), from_line))
    shown = lines[from_line - 1 : min(to_line, from_line + MAX_LINES - 1)]
    last = from_line + len(shown) - 1
    raw = b"\n".join(shown)
    text = raw.decode("utf-8", "replace")
    of = f"{'more than ' if found.is_longer else ''}{len(lines)}"
    notes = [f"lines {from_line}-{last} of {of}" if shown else "the file is empty"]
    if last < min(to_line, len(lines)):
        notes.append(f"at most {MAX_LINES} lines are shown at once")
    if len(text) > MAX_SHOWN_CHARS:
        text = text[:MAX_SHOWN_CHARS]
        notes.append(f"cut after {MAX_SHOWN_CHARS} characters, in line {_line_at(text, from_line)}")
    if text.count("\ufffd") > raw.count("\ufffd".encode()):
        notes.append("bytes that are no UTF-8 are shown as \ufffd")
    return ToolAnswer(
        "\n".join(part for part in (text, f"[{'; '.join(notes)}]") if part),
        details={"path": found.path, "from_line": from_line, "to_line": last, "lines": len(lines)},
    )


def _line_at(text: str, from_line: int) -> int:
    return from_line + text.count("\n")


def _past_end(found: FileContent, count: int, from_line: int) -> str:
    if not found.is_longer:
        return f"{found.path}: it has {count} lines, there is no line {from_line}."
    mebibytes = MAX_READ_BYTES // 1_048_576
    return (
        f"{found.path}: line {from_line} is beyond its first {mebibytes} MiB, which hold {count} "
        "lines and are all that this tool reads."
    )

"""The `replace_in_file` tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
from pytest_chalk.tools.student_files import StudentFiles  # noqa: TC001 - read for the schema

if TYPE_CHECKING:
    from pytest_chalk.tools.student_files import FileContent

MAX_FILE_BYTES = 10_485_760
"""Of the file before and after. A hundred times a large source file."""

MAX_LINES_NAMED = 10
"""Of those that changed or hold the text."""


def replace_in_file(
    files: StudentFiles,
    file_path: Annotated[str, Field(description="Absolute, or relative to the home directory.")],
    old: Annotated[str, Field(min_length=1, description="The exact text to replace.")],
    new: Annotated[str, Field(description="What to put in its place.")],
    replace_all: Annotated[bool, Field(description="Replace every occurrence.")] = False,  # noqa: FBT002 - by name
) -> ToolAnswer:
    """Replace text in a file. `old` must occur exactly once unless `replace_all` is true."""
    if old == new:
        raise ToolRefusalError("old and new are the same, nothing would change.")
    found = files.read(file_path, max_bytes=MAX_FILE_BYTES)
    old_bytes, new_bytes = _encoded(found, old), _encoded(found, new)
    count = _count(found, old_bytes)
    if count > 1 and not replace_all:
        message = (
            f"{found.path}: old occurs {count} times, {_lines(found.content, old_bytes)}. Give "
            "more of the text around it, or replace_all."
        )
        raise ToolRefusalError(message)
    replaced = found.content.count(old_bytes)
    if len(found.content) + replaced * (len(new_bytes) - len(old_bytes)) > MAX_FILE_BYTES:
        raise ToolRefusalError(_too_large(found.path, "would be"))
    files.write(found.path, found.content.replace(old_bytes, new_bytes), former=found.content)
    times = "once" if replaced == 1 else f"{replaced} times"
    return ToolAnswer(
        f"Replaced {times} in {found.path}, {_lines(found.content, old_bytes)}.",
        details={"path": found.path, "replaced": replaced},
    )


def _encoded(found: FileContent, text: str) -> bytes:
    """Return the text as the file has it: other encodings agree with UTF-8 in ASCII only."""
    if found.is_longer:
        raise ToolRefusalError(_too_large(found.path, "is"))
    if b"\0" in found.content:
        message = f"{found.path}: this is a binary file: it holds NUL bytes."
        raise ToolRefusalError(message)
    try:
        encoded = text.encode()
        if not text.isascii():
            found.content.decode()
    except UnicodeEncodeError:
        raise ToolRefusalError("old and new must be valid text.") from None
    except UnicodeDecodeError:
        message = f"{found.path}: this file is not UTF-8, so only ASCII can be replaced by ASCII."
        raise ToolRefusalError(message) from None
    return encoded


def _count(found: FileContent, old: bytes) -> int:
    """Return how often `old` occurs; 2 where two occurrences share characters."""
    first = found.content.find(old)
    if first >= 0:
        count = found.content.count(old)
        return 2 if count == 1 and found.content.find(old, first + 1) >= 0 else count
    hint = ""
    if b"\n" in old and old.replace(b"\n", b"\r\n") in found.content:
        hint = " The file's lines end in \\r\\n: write them so in old and new."
    message = f"{found.path}: old does not occur in it.{hint}"
    raise ToolRefusalError(message)


def _lines(content: bytes, old: bytes) -> str:
    """Name the lines in which the first occurrences begin."""
    lines: list[int] = []
    line, position, found = 1, 0, content.find(old)
    while found >= 0 and len(lines) <= MAX_LINES_NAMED:
        line += content.count(b"\n", position, found)
        if not lines or lines[-1] != line:
            lines.append(line)
        position, found = found, content.find(old, found + len(old))
    told = ", ".join(map(str, lines[:MAX_LINES_NAMED]))
    more = ", ..." if len(lines) > MAX_LINES_NAMED else ""
    return f"line{'s' if len(lines) > 1 else ''} {told}{more}"


def _too_large(path: str, verb: str) -> str:
    return f"{path}: the file {verb} larger than {MAX_FILE_BYTES // 1_048_576} MiB."

"""The journal of a session: append-only JSON lines, the one source of every report.

Only the controller writes it. A line is in the kernel's hands when `append` returns, so a killed
session loses at most what was running; runs are synced to the disk within a second.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import MachineError
from pytest_chalk.store.line_file import LineFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_chalk.schemas.frozen import Frozen


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


class Journal:
    """Appends entries, each a JSON object with a `type`.

    It is locked as long as it is open, so that no other session prunes this one.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the journal; see `LineFile`.

        Raises:
            MachineError: It cannot be opened, or another process writes it.
        """
        self.path = path
        if is_in_use(path):
            message = f"journal {str(path)!r} is written by another process: wait for its end"
            raise MachineError(message)
        self._file = LineFile(path, "journal")
        _lock(self._file.fileno())

    def append(
        self,
        entry_type: str,
        entry: Mapping[str, Any],
        *,
        record: Frozen | None = None,
        sync: bool = False,
    ) -> None:
        """Write one entry as one line; a `record` is added to it under that name.

        Raises:
            MachineError: The disk is full or gone; earlier entries are intact.
        """
        line = _ENCODER.encode({"type": entry_type, **entry}).encode()
        if record is not None:
            line = b'%b,"record":%b}' % (line[:-1], record.json_bytes())
        self._file.append(line, sync=sync)

    def close(self) -> None:
        """Close the file; what is in it survives a power cut from here on.

        Raises:
            MachineError: The disk refuses.
        """
        try:
            self._file.sync(always=True)
        finally:
            self._file.close()


class JournalTail:
    """Reads what others append to a journal, each line once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0

    def new_lines(self, entry_type: str) -> list[bytes]:
        """Return the whole lines of entries of a type that came since the last call.

        Cheap where there are none; nothing where there is no journal yet.
        """
        try:
            with self._path.open("rb") as opened:
                opened.seek(self._read_bytes)
                text = opened.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        begins = f'{{"type":{json.dumps(entry_type)}'.encode()
        return [line for line in whole.split(b"\n") if line.startswith(begins)]


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a journal, oldest first; a torn last line is left out.

    Raises:
        MachineError: It cannot be read, or a line is no JSON object: somebody else changed it.
    """
    return list(iterate_journal(path))


def iterate_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a journal one by one: see `read_journal`."""
    for number, line in enumerate(_lines(path), 1):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            message = f"journal {str(path)!r}, line {number}: {line[:200]!r} is no JSON object"
            raise MachineError(message)
        yield entry


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the whole lines of a journal, of which there may be more than fit into memory."""
    try:
        with path.open("rb") as opened:
            for line in opened:
                if line.endswith(b"\n"):
                    yield line[:-1]
    except OSError as error:
        message = f"journal {str(path)!r} cannot be read: {error}"
        raise MachineError(message) from error


def is_in_use(path: Path) -> bool:
    """Tell whether a living session writes this journal."""
    try:
        with path.open("rb") as opened:
            return not _lock(opened.fileno())
    except OSError:
        return False


def _lock(fd: int) -> bool:
    """Lock a file for as long as it is open; return whether nobody else has it."""
    with suppress(ImportError):  # no such locks on Windows, where no task runs either
        import fcntl  # noqa: PLC0415 - not on Windows

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True

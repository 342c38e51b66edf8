"""What the processes of a session run just now: each has a small file that it overwrites.

Nobody waits for anybody, and a run costs two short writes. Who wants to know looks into the files,
and into the transcripts that they name.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_chalk.store.journal import is_in_use

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

MAX_BYTES = 8_192
"""That are read of such a file. A path and a node id take a few hundred."""

_UNOPENED, _GIVEN_UP = -1, -2


class Running(NamedTuple):
    """A run under way.

    Attributes:
        transcript: None where it writes none.
        since_s: When it began, on this machine's monotonic clock.
    """

    nodeid: str
    transcript: Path | None
    since_s: float


class RunningFile:
    """The file of this process; it is locked until it is closed, or the process ends.

    A convenience: where it cannot be written, nothing is, and the run goes on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = _UNOPENED

    @contextmanager
    def during(self, nodeid: str, transcript: Path | None = None) -> Iterator[None]:
        """Say that a run is under way, until it is left in whatever way."""
        self.begin(nodeid, "" if transcript is None else str(transcript))
        try:
            yield
        finally:
            self.end()

    def begin(self, nodeid: str, transcript: str = "") -> None:
        """Say that a run begins."""
        if self._fd == _UNOPENED:
            self._fd = _opened(self._path)
        self._write(f"{time.monotonic()!r}\n{transcript}\n{nodeid}\n")

    def end(self) -> None:
        """Say that nothing runs."""
        self._write("\n")

    def close(self) -> None:
        """Give the file up; nothing is written after that."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = _GIVEN_UP

    def _write(self, text: str) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                os.pwrite(self._fd, text.encode("utf-8", "surrogateescape"), 0)


class Unwatched:
    """In place of such a file where nobody looks into it."""

    def during(self, _nodeid: str, _transcript: Path | None = None) -> AbstractContextManager[None]:
        """Say nothing."""
        return nullcontext()

    def close(self) -> None:
        """Do nothing."""


def _opened(path: Path) -> int:
    import fcntl  # noqa: PLC0415 - not on Windows, where no task runs

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError:
        return _GIVEN_UP
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        os.close(fd)
        return _GIVEN_UP
    return fd


def read_running(directory: Path) -> list[Running]:
    """Return what living processes run whose files are in `directory`; nothing if it is missing."""
    try:
        paths = sorted(directory.iterdir())
    except OSError:
        return []
    found = [_read(path) for path in paths if is_in_use(path)]
    return [running for running in found if running is not None]


def _read(path: Path) -> Running | None:
    try:
        with path.open("rb", buffering=0) as opened:
            text = (opened.read(MAX_BYTES) or b"").decode("utf-8", "surrogateescape")
        since, transcript, nodeid, _ = text.split("\n", 3)
        return Running(nodeid, Path(transcript) if transcript else None, float(since))
    except (OSError, ValueError):  # gone, nothing runs, or it is being written
        return None

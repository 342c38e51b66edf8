"""A file that grows by whole lines: an appended one is safe, a torn one leaves no trace."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError

if TYPE_CHECKING:
    from pathlib import Path

SYNC_INTERVAL_S = 1.0
"""Between two syncs of one file. A sync costs a fifth of a millisecond and more; a power cut takes
a second of results at most, and a killed process none."""


class LineFile:
    """Appends lines. Each is in the kernel's hands when `append` returns.

    Made readable for us alone. A torn last line of an earlier process is cut off.

    Attributes:
        path: Where it is.
    """

    def __init__(self, path: Path, kind: str, *, fresh: bool = False) -> None:
        """Open or make the file.

        Args:
            path: Its directory must exist.
            kind: What it is, for messages.
            fresh: Whether to throw away what is in it.

        Raises:
            MachineError: It cannot be opened.
        """
        self.path = path
        self._kind = kind
        self._synced_s = time.monotonic()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if fresh else 0)
        try:
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise self._failed(error) from error
        if not fresh:
            # Cutting an empty file would be no harm, but make ext4 flush it when it is closed.
            with suppress(OSError):
                os.ftruncate(self._fd, _whole_bytes(self._fd))

    def fileno(self) -> int:
        """Return the descriptor, for locks."""
        return self._fd

    def append(self, line: bytes, *, sync: bool = False) -> None:
        """Write one line, given without its end.

        Args:
            line: Without line breaks.
            sync: Whether it must survive a power cut.

        Raises:
            MachineError: The disk is full or gone; earlier lines are intact.
        """
        left = line + b"\n"
        written = 0
        try:
            while left:
                count = os.write(self._fd, left)
                left, written = left[count:], written + count
        except OSError as error:
            self._take_back(written)
            raise self._failed(error) from error
        if sync:
            self.sync()

    def sync(self, *, always: bool = False) -> None:
        """Make what was written survive a power cut, unless that was done a moment ago.

        Args:
            always: Whether to do it also then: nothing may come that would make up for it.

        Raises:
            MachineError: The disk refuses.
        """
        now_s = time.monotonic()
        if self._fd < 0 or (not always and now_s - self._synced_s < SYNC_INTERVAL_S):
            return
        self._synced_s = now_s
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file; calling it again does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _take_back(self, count: int) -> None:
        """Remove half a line, so that the next one does not continue it."""
        with suppress(OSError):
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - count)

    def _failed(self, error: OSError) -> MachineError:
        return MachineError(
            f"{self._kind} {str(self.path)!r} cannot be written: {error}. Earlier lines are "
            "intact; free the disk or choose another place with --chalk-session-dir."
        )


def whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file without their ends; a torn last one is left out."""
    return path.read_bytes().split(b"\n")[:-1]


def _whole_bytes(fd: int) -> int:
    """Return the length of the file without a torn last line."""
    size = os.fstat(fd).st_size
    end = size
    while end > 0:
        start = max(0, end - 65_536)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0

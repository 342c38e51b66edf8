"""What a session's models have used so far: one small file that all its processes share."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError
from pytest_chalk.schemas.spending import Spent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WIDTH_BYTES = 80
"""Of the file, always: one write replaces the whole. Two numbers of 20 digits fit."""


class SpendingFile:
    """The sum, under a lock of the kernel's: the workers of xdist and their threads add to it.

    It is opened anew each time: a lock belongs to an open file, and threads or a fork would share
    one. A process that dies gives its lock back.
    """

    def __init__(self, path: Path) -> None:
        """Take the path; its directory exists. Without a file nothing has been spent."""
        self.path = path

    def total(self) -> Spent:
        """Return what has been spent.

        Raises:
            MachineError: The file cannot be read, or is not ours.
        """
        with self._locked() as fd:
            return self._read(fd)

    def add(self, spent: Spent) -> None:
        """Add to the sum.

        Raises:
            MachineError: The file cannot be read or written.
        """
        with self._locked() as fd:
            total = self._read(fd) + spent
            line = json.dumps({"tokens": total.tokens, "nano_usd": total.nano_usd})
            os.pwrite(fd, line.ljust(WIDTH_BYTES - 1).encode() + b"\n", 0)

    def _read(self, fd: int) -> Spent:
        text = os.pread(fd, WIDTH_BYTES, 0)
        if not text:
            return Spent()
        try:
            found = json.loads(text)
            return Spent(int(found["tokens"]), int(found["nano_usd"]))
        except (ValueError, LookupError, TypeError):
            message = f"spending {str(self.path)!r} holds {text!r}: somebody else has written to it"
            raise MachineError(message) from None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        import fcntl  # noqa: PLC0415 - not on Windows, where no task runs

        fd = -1
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        except OSError as error:
            message = (
                f"spending {str(self.path)!r} cannot be kept: {error}. Nothing more is asked of "
                "models: free the disk or choose another place with --chalk-session-dir."
            )
            raise MachineError(message) from error
        finally:
            if fd >= 0:
                os.close(fd)

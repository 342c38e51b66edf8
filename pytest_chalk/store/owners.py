"""Who advances runs: each process that does holds a lock that the kernel frees when it dies."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError

if TYPE_CHECKING:
    from pathlib import Path


class Owner:
    """This process, as one that leases work.

    Attributes:
        id: Unique; names the lock file.
    """

    def __init__(self, base: Path) -> None:
        """Take a new id and its lock.

        Raises:
            MachineError: The lock file cannot be made.
        """
        self.id = f"{os.getpid()}-{secrets.token_hex(6)}"
        directory = base / "owners"
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path = directory / self.id
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX)
        except OSError as error:
            message = f"{str(directory)!r} cannot be used: {error}. Free the disk."
            raise MachineError(message) from error

    def release(self) -> None:
        """Give the lock back and remove its file."""
        if self._fd >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


def is_alive(base: Path, owner_id: str) -> bool:
    """Tell whether the process with that id still holds its lock; the dead one's file goes."""
    if not re.fullmatch(r"[0-9]+-[0-9a-f]+", owner_id):
        return False
    path = base / "owners" / owner_id
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        path.unlink(missing_ok=True)
        return False
    finally:
        os.close(fd)

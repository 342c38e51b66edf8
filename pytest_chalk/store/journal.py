"""The journal of a session: append-only JSON lines, the one source of every report.

Only the controller writes it. A line is in the kernel's hands when `append` returns, so a killed
session loses at most what was running; runs are synced to the disk.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Journal:
    """Appends entries, each a JSON object with a `type`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(
                path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise self._failed(error) from error

    def append(self, entry_type: str, entry: Mapping[str, Any], *, sync: bool = False) -> None:
        """Write one entry as one line.

        Raises:
            MachineError: The disk is full or gone; earlier entries are intact.
        """
        line = json.dumps({"type": entry_type, **entry}, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._fd, line) :]
            if sync:
                os.fsync(self._fd)
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _failed(self, error: OSError) -> MachineError:
        return MachineError(
            f"journal {str(self.path)!r} cannot be written: {error}. Earlier records are intact; "
            "free the disk or choose another place with --chalk-session-dir."
        )


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a journal, oldest first; a torn last line is left out."""
    entries = []
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            entries.append(json.loads(line))
    return entries

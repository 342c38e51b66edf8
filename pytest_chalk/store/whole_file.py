"""A text file that is replaced as a whole: whoever reads it sees the old one or the new one."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError

if TYPE_CHECKING:
    from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file anew; where that fails the old one is as it was.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        message = f"{str(path)!r} cannot be written and is as it was: {error}"
        raise MachineError(message) from error

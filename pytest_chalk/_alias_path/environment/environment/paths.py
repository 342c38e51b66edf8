"""`environment.paths`: where the student of this process works, from `pytest_chalk.sandbox`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.sandbox import peek_slot
from pytest_chalk.sandbox.workdir import ROOT_DATA_FOLDER as _ROOT_DATA_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    ROOT_DATA_DIR: Path
    SHARED_DATA_DIR: Path
    STUDENT_DATA_DIR: Path
    STUDENT_UID: int
    STUDENT_WORKDIR: Path

__all__ = [
    "ROOT_DATA_DIR",
    "SHARED_DATA_DIR",
    "STUDENT_DATA_DIR",
    "STUDENT_UID",
    "STUDENT_WORKDIR",
]


def __getattr__(name: str) -> Path | int:
    """Ask each time: which slot this process has is known late."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    slot = peek_slot()
    known: dict[str, Path | int] = {
        "ROOT_DATA_DIR": slot.directory / _ROOT_DATA_FOLDER,
        "SHARED_DATA_DIR": slot.paths.shared_dir,
        "STUDENT_DATA_DIR": slot.paths.data_dir,
        "STUDENT_UID": slot.student_uid,
        "STUDENT_WORKDIR": slot.paths.workdir,
    }
    return known[name]

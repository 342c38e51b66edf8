"""Where the workdirs of runs that did not pass are kept."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def workdir_of_step(directory: Path, step: int) -> Path:
    """Return where the workdir as it was before step `step` (from 0) was scored is kept."""
    return directory / "box" / f"step-{step + 1}"


def forget_workdirs(directory: Path) -> None:
    """Remove the workdirs that were kept of a run."""
    shutil.rmtree(directory / "box", ignore_errors=True)

"""A slot: which uid the student has, and where its folders are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class BoxPaths:
    """The three folders of one box, absolute and the same for harness, scripts and student."""

    workdir: Path
    """The student's home and first working directory. The student may create files in it."""

    data_dir: Path
    """`data/` in the workdir; belongs to the student."""

    shared_dir: Path
    """`shared/` in the workdir; the student reads it and cannot change it (level `uid` and up)."""

    @classmethod
    def under(cls, workdir: Path) -> BoxPaths:
        """Return the folders of the box whose workdir is `workdir`."""
        return cls(workdir, workdir / "data", workdir / "shared")


@dataclass(frozen=True)
class Slot:
    """One student uid with its directory."""

    number: int
    student_uid: int
    """Also the student's gid. Without root this is our own uid."""

    reaper_uid: int
    """Real uid of the helper that kills the student's processes; nothing else has it."""

    directory: Path
    """Ours; holds the workdir, so that the student cannot put another in its place."""

    paths: BoxPaths
    locked: bool
    """Whether this process holds the slot, so that nobody else uses it."""

    @property
    def separates_uids(self) -> bool:
        """Whether the student has another uid than we have (level `uid` and up)."""
        return self.student_uid != os.geteuid()

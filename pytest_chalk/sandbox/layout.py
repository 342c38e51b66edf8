"""A slot: which uid the student has, and where its folders are."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["isolated", "uid", "userns", "none"]
"""How the student is kept apart: by uid and namespaces, by one of the two, or not at all."""

PUBLIC_DIRECTORIES = tuple(
    map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/run/lock"))  # noqa: S108 - swept or made private
)
"""Where any uid may leave files on a usual system, besides its workdir."""


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
    """Ours; at levels without mounts it holds the workdir, so that nobody can put in another."""

    paths: BoxPaths
    locked: bool
    """Whether this process holds the slot, so that nobody else uses it."""

    level: Level = "none"
    public_dir: Path | None = None
    """Ours; holds what the student sees as /tmp and the like. None: it sees the machine's."""

    @property
    def separates_uids(self) -> bool:
        """Whether the student has another uid than we have (level `uid` and up)."""
        return self.student_uid != os.geteuid()

    @property
    def has_own_view(self) -> bool:
        """Whether the student has namespaces of its own."""
        return self.level in ("isolated", "userns")

    @property
    def runtime_dir(self) -> Path:
        """Ours; what every student of this machine may read, such as a judge's pytest."""
        return self.directory.parents[1] / "runtime"

    def on_disk(self) -> Slot:
        """Return the slot as without mounts: where a run at another level leaves its files."""
        paths = BoxPaths.under(self.directory / "workdir")
        return replace(self, level="uid", paths=paths, public_dir=None)

    def public_directories(self) -> dict[Path, Path]:
        """Return where each of the student's public directories really is."""
        if self.public_dir is None:
            return {path: path for path in PUBLIC_DIRECTORIES}
        return {path: self.public_dir / path.as_posix()[1:] for path in PUBLIC_DIRECTORIES}

    def mount_points(self) -> list[Path]:
        """Return where, in our view, something is mounted for the student in its own /tmp.

        Whoever removes such a folder takes the mount away.
        """
        return [
            ours / path.relative_to(theirs)
            for path in (self.paths.workdir, self.runtime_dir)
            for theirs, ours in self.public_directories().items()
            if self.has_own_view and path.is_relative_to(theirs)
        ]

    def located(self, path: Path) -> Path:
        """Return where an absolute path of the student's is for us: in /tmp that may differ."""
        if self.public_dir is None or path.is_relative_to(self.paths.workdir):
            return path
        for theirs, ours in self.public_directories().items():
            if path.is_relative_to(theirs):
                return ours / path.relative_to(theirs)
        return path

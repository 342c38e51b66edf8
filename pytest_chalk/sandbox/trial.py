"""A student's work run for its judge: as the student, from a copy it cannot change."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.sandbox.box import Box
from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.removal import empty_directory
from pytest_chalk.sandbox.slots import acquire_slot
from pytest_chalk.sandbox.sweep import delete_files
from pytest_chalk.sandbox.workdir import make_missing

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Trial:
    """Where a student's work is tried out.

    Attributes:
        box: Runs commands as the student.
        folder: Ours; the student can read what `put` copies here, and change nothing.
        home: The student's, empty: the only place made for it to write to.
    """

    box: Box
    folder: Path
    home: Path

    def put(self, source: Path, name: str) -> Path:
        """Copy a file or folder to `name` in `folder`, for everybody to read; return its path.

        Links stay links: what they name is opened as the student.
        """
        target = self.folder / name
        target.parent.mkdir(mode=0o755, exist_ok=True)
        target.parent.chmod(0o755)  # whatever the umask made of it
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copyfile(source, target, follow_symlinks=False)
        let_everybody_read(target)
        return target


@contextmanager
def open_trial() -> Iterator[Trial]:
    """Make a place where the student's work can run, in the current run's box if there is a run.

    The student's processes are killed before; after, they and all files of the student are gone,
    so that nothing learnt here reaches the student's next step.

    Raises:
        StudentMisbehaviorError: A process or file of the student cannot be removed.
        MachineError: The box cannot be used.
    """
    run = find_run()
    box = Box(acquire_slot()) if run is None else run.box
    try:
        with _place(box) as trial:
            yield trial
    finally:
        if run is None:
            box.close()


@contextmanager
def _place(box: Box) -> Iterator[Trial]:
    box.kill_processes()
    make_missing(box.slot)
    folder = Path(tempfile.mkdtemp(prefix="judged-", dir=box.paths.shared_dir))
    try:
        folder.chmod(0o755)
        home = Path(tempfile.mkdtemp(prefix="home-", dir=box.paths.workdir))
        uid = box.slot.student_uid
        os.chown(home, uid, uid if box.slot.separates_uids else -1)
        yield Trial(box, folder, home)
    finally:
        try:
            box.kill_processes()
        finally:
            empty_directory(folder)
            folder.rmdir()
        delete_files(box.slot.student_uid)


def let_everybody_read(target: Path) -> None:
    """Open a file or folder of ours for everybody to read, whatever the umask made of it."""
    below = (
        Path(above, name)
        for above, folders, files in os.walk(target)
        for name in (*folders, *files)
    )
    for path in (target, *below):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)

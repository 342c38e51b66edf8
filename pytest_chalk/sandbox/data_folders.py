"""Lays out a task's data before its run: for the student, for both, and for the grader alone."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pytest_chalk.sandbox.workdir import ROOT_DATA_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_chalk.sandbox.layout import Slot

Kind: TypeAlias = Literal["student_data", "shared_data", "root_data"]
KINDS: tuple[Kind, ...] = ("student_data", "shared_data", "root_data")
"""Names of the folders: the student's to change, its to read, and none of its business."""


@dataclass(frozen=True)
class DataFolder:
    """A folder of the project with data of one kind."""

    kind: Kind
    path: Path


class _Access(NamedTuple):
    """Whose the copies are, and what is added to and taken from their modes."""

    uid: int
    gid: int
    added: int
    removed: int


def find_data_folders(places: Iterable[Path]) -> tuple[DataFolder, ...]:
    """Return the data folders in `places`, in their order."""
    found = [DataFolder(kind, place / kind) for place in places for kind in KINDS]
    return tuple(folder for folder in found if folder.path.is_dir())


def lay_out(folders: Iterable[DataFolder], slot: Slot) -> None:
    """Copy what is in `folders` to where the student and the grader find it; the later one wins.

    Links are copied as links.

    Raises:
        OSError: It cannot be read or written.
    """
    own = (os.geteuid(), os.getegid())
    student = (slot.student_uid, slot.student_uid) if slot.separates_uids else own
    targets = {
        "student_data": (slot.paths.data_dir, _Access(*student, stat.S_IRUSR | stat.S_IWUSR, 0)),
        "shared_data": (slot.paths.shared_dir, _Access(*own, 0o444, 0o022)),
        "root_data": (slot.directory / ROOT_DATA_FOLDER, _Access(*own, stat.S_IRUSR, 0o077)),
    }
    filled = set()
    for folder in folders:
        target, _ = targets[folder.kind]
        if folder.kind == "root_data":
            target.mkdir(mode=0o700, exist_ok=True)
        shutil.copytree(folder.path, target, symlinks=True, dirs_exist_ok=True)
        filled.add(folder.kind)
    for kind in filled:
        _give_all(*targets[kind])
    # copytree gave them the modes of their sources.
    os.chown(slot.paths.data_dir, *student)
    slot.paths.data_dir.chmod(0o700)
    slot.paths.shared_dir.chmod(0o755)
    if (slot.directory / ROOT_DATA_FOLDER).is_dir():
        (slot.directory / ROOT_DATA_FOLDER).chmod(0o700)


def _give_all(target: Path, access: _Access) -> None:
    for below, _, files in os.walk(target):
        if Path(below) != target:
            _give(Path(below), access)
        for name in files:
            _give(Path(below, name), access)


def _give(path: Path, access: _Access) -> None:
    os.chown(path, access.uid, access.gid, follow_symlinks=False)
    if path.is_symlink():
        return
    mode = (path.stat().st_mode & 0o7777 | access.added) & ~access.removed & ~0o6000
    if path.is_dir():
        mode |= (mode & 0o444) >> 2
    path.chmod(mode)

"""What the student could put something into: where our own programs must not look for anything."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.slots import peek_slot


def student_can_write(directory: Path) -> bool:
    """Tell whether the student could make or replace something in a directory, by modes and owners.

    So it could where it may write to the directory, or to one above it that is not sticky. At level
    `none`, where the student has our own uid, only its workdir counts.
    """
    return _can_write(directory, *_student())


def safe_search_path(path: str) -> str:
    """Return a PATH without entries that are relative or that the student could write to."""
    return _safe_entries(path, *_student())


def _student() -> tuple[int | None, Path]:
    """Return the student's uid, None where it is our own, and its workdir."""
    run = find_run()
    slot = run.box.slot if run is not None and run.box is not None else peek_slot()
    return slot.student_uid if slot.separates_uids else None, slot.paths.workdir


@lru_cache(maxsize=16)
def _safe_entries(path: str, uid: int | None, workdir: Path) -> str:
    entries = [entry for entry in path.split(os.pathsep) if Path(entry).is_absolute()]
    return os.pathsep.join(entry for entry in entries if not _can_write(Path(entry), uid, workdir))


@lru_cache(maxsize=256)
def _can_write(given: Path, uid: int | None, workdir: Path) -> bool:
    # Cached: what lies on the way to a program does not change owners while tests run.
    directory = Path(os.path.realpath(given))
    if directory.is_relative_to(workdir):
        return True
    if uid is None:
        return False
    return _may_write_itself(directory, uid) or any(
        _may_write_itself(above, uid, spares_sticky=True) for above in directory.parents
    )


def _may_write_itself(directory: Path, uid: int, *, spares_sticky: bool = False) -> bool:
    try:
        found = directory.stat()
    except OSError:
        return False
    if found.st_uid == uid:
        return True
    if spares_sticky and found.st_mode & stat.S_ISVTX:
        return False
    is_groups = found.st_gid == uid and bool(found.st_mode & stat.S_IWGRP)
    return is_groups or bool(found.st_mode & stat.S_IWOTH)

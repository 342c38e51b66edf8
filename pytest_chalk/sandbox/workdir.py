"""The folders of a slot: making them, telling whether they are as new, emptying them."""

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

from pytest_chalk.errors import UnreapableCohortError
from pytest_chalk.sandbox.mounts import mount_box, unmount_box
from pytest_chalk.sandbox.process_table import living_of_uid
from pytest_chalk.sandbox.removal import (
    SWEEP_TIMEOUT_S,
    TreeRemoval,
    empty_directory,
    raise_for_survivors,
)
from pytest_chalk.sandbox.supervisor_link import SupervisorLink
from pytest_chalk.sandbox.sysv_ipc import remove_ipc

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_chalk.sandbox.layout import Slot

LEFTOVER_DEADLINE_S = 5.0
"""How long processes of a crashed run may take to die before their slot is given up."""

_USED_MARK = "used"

ROOT_DATA_FOLDER, PROTECTED_FOLDER = "root_data", "protected"
"""In a slot's directory, ours alone: data for the grader, and values that hooks write for it."""


def make_slot_directory(slot: Slot) -> None:
    """Make the slot's own directory, which the student may pass but neither list nor change."""
    slot.directory.mkdir(mode=0o711, exist_ok=True)
    slot.directory.chmod(0o711)
    if slot.has_own_view:  # before a box is started: what is made later is not seen there
        slot.runtime_dir.mkdir(mode=0o711, exist_ok=True)
        slot.runtime_dir.chmod(0o711)
    if slot.level == "userns":
        for path in slot.public_directories().values():
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o1777)


def mark_used(slot: Slot) -> None:
    """Note on disk that the student has run, so that the next holder knows what it may meet."""
    (slot.directory / _USED_MARK).touch(mode=0o600)


def clear_used_mark(slot: Slot) -> None:
    """Note that everything of the student was removed."""
    (slot.directory / _USED_MARK).unlink(missing_ok=True)


def clean_up_after_crash(slot: Slot) -> None:
    """Remove processes and files that the slot's last holder left, then make the folders anew.

    Raises:
        UnreapableCohortError: A process of the student's uid cannot be killed.
        ReclaimError: A file cannot be removed.
    """
    had_processes = kill_cohort(slot, LEFTOVER_DEADLINE_S)
    on_disk = slot.on_disk() if slot.level == "isolated" else slot
    if had_processes or (slot.directory / _USED_MARK).exists():
        remove_outside_workdir(on_disk)
    if not is_as_new(on_disk):
        make_anew(on_disk)
    clear_used_mark(slot)
    remove_private_folders(slot)


def remove_private_folders(slot: Slot) -> None:
    """Remove what one run's hooks and data folders left for its grader."""
    for name in (ROOT_DATA_FOLDER, PROTECTED_FOLDER):
        path = f"{slot.directory}/{name}"
        if os.path.lexists(path):
            shutil.rmtree(path)


def kill_cohort(slot: Slot, deadline_s: float) -> bool:
    """Kill every process with the uids of the slot; say whether there were any.

    Without a uid of its own there is no telling which are the student's, so none is killed.

    Raises:
        UnreapableCohortError: Some are left after the deadline.
    """
    uids = (slot.student_uid, slot.reaper_uid)
    if not slot.separates_uids or not living_of_uid(uids):
        return False
    link = SupervisorLink(*uids)
    try:
        raise_for_living(link.kill_all(deadline_s), slot.student_uid)
    finally:
        link.stop()
    return True


def raise_for_living(pids: list[int], student_uid: int) -> None:
    """Raise UnreapableCohortError naming `pids`, if there are any."""
    if pids:
        shown = ", ".join(map(str, pids[:10])) + ", …" * (len(pids) > 10)
        message = (
            f"{len(pids)} processes of the student (uid {student_uid}) could not be killed in "
            f"time: pid {shown}"
        )
        raise UnreapableCohortError(message)


def remove_outside_workdir(slot: Slot, *, timeout_s: float = SWEEP_TIMEOUT_S) -> None:
    """Remove the student's files in public directories, and its System V objects.

    Without a uid or temporary folders of its own there is no telling what is the student's, so
    nothing is removed.

    Raises:
        ReclaimError: Something could not be removed.
    """
    if slot.level == "userns":
        # In here nothing is anybody else's.
        removal = TreeRemoval(None, timeout_s=timeout_s)
        for root in slot.public_directories().values():
            removal.empty(root)
        raise_for_survivors(removal.survivors)
    elif slot.separates_uids:
        remove_ipc(slot.student_uid)
        kept = (slot.paths.workdir, slot.paths.data_dir, slot.paths.shared_dir)
        removal = TreeRemoval(slot.student_uid, kept=kept, timeout_s=timeout_s)
        for root in slot.public_directories().values():
            removal.empty(root, is_public=True)
        raise_for_survivors(removal.survivors)


def renew(slot: Slot) -> None:
    """Put empty folders in the place of those of an isolated slot, whatever is in them.

    Raises:
        SlotError: The kernel refuses.
    """
    unmount_box(slot)
    mount_box(slot)
    make_anew(slot)


def is_as_new(slot: Slot) -> bool:
    """Say whether the workdir holds nothing but an empty `data` and `shared` in the right hands."""
    paths = slot.paths
    try:
        return (
            os.listdir(paths.data_dir) == os.listdir(paths.shared_dir) == []  # noqa: PTH208 - speed
            and set(os.listdir(paths.workdir)) == {"data", "shared"}  # noqa: PTH208 - speed
            and all(_has_owner(*wanted) for wanted in _folders(slot))
        )
    except OSError:
        return False


def make_anew(slot: Slot, *, timeout_s: float = SWEEP_TIMEOUT_S) -> None:
    """Empty the workdir, whoever owns what is in it, and make its folders.

    Raises:
        ReclaimError: Something could not be removed.
        OSError: A folder could not be made.
    """
    workdir = slot.paths.workdir
    if workdir.is_symlink() or not workdir.is_dir():
        workdir.unlink(missing_ok=True)
        slot.directory.mkdir(parents=True, exist_ok=True)
        workdir.mkdir(mode=0o700)
    empty_directory(workdir, timeout_s=timeout_s)
    _set_owner(*_folders(slot)[0])
    make_missing(slot)


def make_missing(slot: Slot) -> None:
    """Make those of `data` and `shared` that are not there; the student can remove its own."""
    for path, *owner in _folders(slot)[1:]:
        if not os.path.lexists(path):
            path.mkdir()
            _set_owner(path, *owner)


def _set_owner(path: Path, uid: int, gid: int, mode: int) -> None:
    os.chown(path, uid, gid, follow_symlinks=False)
    path.chmod(mode)


def _folders(slot: Slot) -> tuple[tuple[Path, int, int, int], ...]:
    """Return (folder, uid, gid, mode) of each, outermost first."""
    paths, student, own, own_gid = slot.paths, slot.student_uid, os.geteuid(), os.getegid()
    if not slot.separates_uids:
        return (
            (paths.workdir, own, own_gid, 0o700),
            (paths.data_dir, own, own_gid, 0o700),
            (paths.shared_dir, own, own_gid, 0o755),
        )
    return (
        # Sticky: the student may add files but not take away what is ours.
        (paths.workdir, own, student, 0o1770),
        (paths.data_dir, student, student, 0o700),
        (paths.shared_dir, own, own_gid, 0o755),
    )


def _has_owner(path: Path, uid: int, gid: int, mode: int) -> bool:
    status = os.lstat(path)
    return (
        stat.S_ISDIR(status.st_mode)
        and (status.st_uid, status.st_gid) == (uid, gid)
        and stat.S_IMODE(status.st_mode) == mode
    )

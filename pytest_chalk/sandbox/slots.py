"""Which student uid and which directory this process may use.

A slot is held by flock on a file that only we can open: safe across workers and across independent
pytest runs on one host, and given back by the kernel when the holder dies.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pytest_chalk.errors import ChalkError, RunOptionError, SlotError
from pytest_chalk.sandbox.isolation import LEVELS, find_level
from pytest_chalk.sandbox.layout import BoxPaths, Level, Slot
from pytest_chalk.sandbox.mounts import unmount_box
from pytest_chalk.sandbox.process_table import ON_LINUX
from pytest_chalk.sandbox.workdir import clean_up_after_crash, make_slot_directory, renew

SLOT_VARIABLE = "CHALK_SLOT"
"""`<number>:<pid of the holder>:<level>`, set by the holder for its children."""

BASE_VARIABLE = "CHALK_SLOT_BASE"
"""Where the directories of all slots are, instead of the default."""

FIRST_UID = 60578
"""Up to 61183 systemd, Debian and container images leave uids unassigned, and they are inside the
65536 uids that a rootless container has."""

MAX_SLOTS = 303
"""Two uids each, from FIRST_UID up to the dynamic users of systemd at 61184."""

_ROOT_BASE = Path("/var/lib/chalk")
_ROOT_LOCKS = Path("/run/chalk")


class _Held(NamedTuple):
    pid: int
    slot: Slot
    lock_fd: int


class _Inherited(NamedTuple):
    """What a process knows of the slot that its parent holds."""

    number: int
    level: Level


_held: list[_Held] = []
_claims: list[bool] = []
_guard = threading.Lock()


def _let_go_in_child() -> None:
    # The lock belongs to the open file, which a fork shares: the child must not keep it alive.
    for held in _held:
        os.close(held.lock_fd)
    _held.clear()
    _claims.clear()


os.register_at_fork(after_in_child=_let_go_in_child)


def acquire_slot() -> Slot:
    """Take the first free slot for the life of this process, or return the one it has.

    A child of a holder gets the holder's slot, unlocked. A slot whose leftovers cannot be removed
    is marked bad, until somebody deletes the mark, and the next one is taken.

    Raises:
        SlotError: None is free, or this machine does not let us make the directories or the uids.
    """
    with _guard:
        inherited = _find_inherited()
        if _held or inherited is not None:
            return _held[0].slot if _held else peek_slot()
        level = find_level()
        locks = _make_base(level)
        for number in range(MAX_SLOTS):
            slot = _slot(number, level, locked=True)
            lock_fd = _try_lock(locks, slot)
            if lock_fd is None:
                continue
            if _prepare(locks, slot):
                _held.append(_Held(os.getpid(), slot, lock_fd))
                os.environ[SLOT_VARIABLE] = f"{number}:{os.getpid()}:{level}"
                return slot
            os.close(lock_fd)
    message = (
        f"none of the {MAX_SLOTS} slots is free: each is in use, marked bad in {locks}, or its "
        f"uids ({FIRST_UID} and up) belong to somebody or are not mapped here. "
        "Use fewer workers, or delete the marks"
    )
    raise SlotError(message)


def claim_on_use() -> None:
    """Make this process one that will run students: the first look at its slot takes one.

    Task code binds the student's paths while it is imported, and that may be before the first task
    is collected: in a conftest, or in a test of a task. A slot inherited from a parent is dropped,
    for that is the parent's student's.
    """
    if not _held:
        os.environ.pop(SLOT_VARIABLE, None)
        _claims.append(True)


def peek_slot() -> Slot:
    """Return the slot this process has or inherited, else slot 0 unlocked; touches no file.

    A process that has called `claim_on_use` takes a slot now if it has none.

    Raises:
        SlotError: As `acquire_slot`, where a slot is to be taken.
    """
    if _claims and not _held:
        return acquire_slot()
    if _held:
        return _held[0].slot
    inherited = _find_inherited()
    if inherited is not None:
        return _slot(inherited.number, inherited.level, locked=False)
    return _slot(0, find_level(), locked=False)


def has_slot() -> bool:
    """Say whether this process, or the parent it has its slot from, holds one."""
    return bool(_held) or _find_inherited() is not None


def release_slot() -> None:
    """Give the slot back before the process ends."""
    with _guard:
        for held in _held:
            if held.slot.level == "isolated":
                unmount_box(held.slot)
            os.close(held.lock_fd)
            os.environ.pop(SLOT_VARIABLE, None)
        _held.clear()
        _claims.clear()


def _find_inherited() -> _Inherited | None:
    """Return what a parent process holds, None when there is none.

    Raises:
        RunOptionError: The variable does not hold what a holder writes.
    """
    text = os.environ.get(SLOT_VARIABLE, "")
    number, holder, named = (*text.split(":"), "", "")[:3]
    if not text or holder == str(os.getpid()):
        return None
    level = next((level for level in LEVELS if level == named), None)
    if not (number.isdecimal() and holder.isdecimal() and int(number) < MAX_SLOTS and level):
        raise RunOptionError(
            SLOT_VARIABLE,
            f"holds {text!r}, which is not <slot>:<pid>:<level>",
            fix="Unset it: only a process that holds a slot sets it",
        )
    return _Inherited(int(number), level)


def separates_uids() -> bool:
    """Say whether we can give the student a uid of its own and take it away again."""
    return ON_LINUX and os.geteuid() == 0


def _default_base(level: Level) -> Path:
    override = os.environ.get(BASE_VARIABLE)
    if override:
        return Path(override).resolve()
    if separates_uids():
        return _ROOT_BASE
    # Resolved: where the temporary directory is a link, no path below it could be a submission.
    temporary = Path(tempfile.gettempdir()).resolve() / f"chalk-{os.geteuid()}"
    if level == "none":
        return temporary
    # Not in a temporary directory: the student may rename what is in its own, which has our uid.
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve()
    return cache / "chalk" if os.access(cache.parent, os.W_OK) else temporary


def _slot(number: int, level: Level, *, locked: bool) -> Slot:
    base = _default_base(level)
    directory = base / "slots" / str(number)
    own = os.geteuid()
    student, reaper = FIRST_UID + 2 * number, FIRST_UID + 2 * number + 1
    is_isolated = level == "isolated"
    return Slot(
        number=number,
        student_uid=student if separates_uids() else own,
        reaper_uid=reaper if separates_uids() else own,
        directory=directory,
        # One path for all: each holder mounts its own there, where the others do not see it.
        paths=BoxPaths.under((base if is_isolated else directory) / "workdir"),
        locked=locked,
        level=level,
        public_dir=_public_dir(base, directory, level),
    )


def _public_dir(base: Path, directory: Path, level: Level) -> Path | None:
    """Return where what the student sees as /tmp and the like is: in memory, on disk, or there."""
    if level == "isolated":
        return base / "public"
    return directory / "public" if level == "userns" else None


def _make_base(level: Level) -> Path:
    """Make and check the directories of slots and of locks, and return the latter.

    Root's locks are in one place whatever the base is: uids belong to the machine.
    """
    base = _default_base(level)
    _make_own_directory(base, 0o711 if separates_uids() else 0o700)
    _make_own_directory(base / "slots", 0o711)
    locks = base / "locks"
    if separates_uids():
        with suppress(SlotError):
            _make_own_directory(_ROOT_LOCKS, 0o700)
            return _ROOT_LOCKS
        _make_own_directory(_ROOT_BASE, 0o711)
        locks = _ROOT_BASE / "locks"
    _make_own_directory(locks, 0o700)
    return locks


def _make_own_directory(path: Path, mode: int) -> None:
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            message = f"{path} is not a directory of uid {os.geteuid()}. Remove it"
            raise SlotError(message)
        if stat.S_IMODE(status.st_mode) != mode:
            path.chmod(mode)
    except OSError as error:
        message = f"no slot can be had: {path}: {error.strerror}"
        raise SlotError(message) from error


def _try_lock(locks: Path, slot: Slot) -> int | None:
    """Return the descriptor that holds the slot's lock, None when it is not to be had."""
    if _bad_mark(locks, slot).exists() or not _may_use_uids(slot):
        return None
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(locks / f"{slot.number}.lock", flags, 0o600)
    except OSError as error:
        message = f"the lock {locks / str(slot.number)}.lock cannot be opened: {error.strerror}"
        raise SlotError(message) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _bad_mark(locks: Path, slot: Slot) -> Path:
    return locks / f"{slot.number}.bad"


def _may_use_uids(slot: Slot) -> bool:
    """Say whether the slot's uids exist in this user namespace and belong to nobody."""
    if not separates_uids():
        return True
    import pwd  # noqa: PLC0415 - only root's processes need it

    for uid in (slot.student_uid, slot.reaper_uid):
        if is_subordinate(uid, _read_or_empty(Path("/etc/subuid"))):
            return False
        if not all(is_mapped(uid, _id_map(kind)) for kind in ("uid", "gid")):
            return False
        with suppress(KeyError):
            pwd.getpwuid(uid)
            return False
    return True


def _id_map(kind: str) -> str:
    table = Path(f"/proc/self/{kind}_map")
    return table.read_text() if table.exists() else "0 0 4294967295"


def _read_or_empty(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def is_subordinate(uid: int, table: str) -> bool:
    """Say whether a uid is in a range of /etc/subuid: those belong to somebody's containers."""
    fields = ([*line.split(":"), "", ""][1:3] for line in table.splitlines())
    ranges = [(int(a), int(n)) for a, n in fields if a.isdecimal() and n.isdecimal()]
    return any(first <= uid < first + count for first, count in ranges)


def is_mapped(number: int, id_map: str) -> bool:
    """Say whether a uid or gid is inside the ranges of /proc/self/uid_map or gid_map."""
    ranges = (map(int, line.split()) for line in id_map.splitlines())
    return any(first <= number < first + count for first, _, count in ranges)


def _prepare(locks: Path, slot: Slot) -> bool:
    """Make the slot's directory and clear what a crashed run left; False quarantines the slot."""
    try:
        make_slot_directory(slot)
        clean_up_after_crash(slot)
        if slot.level == "isolated":
            renew(slot)
    except OSError as error:
        message = f"the directory {slot.directory} cannot be made: {error}"
        raise SlotError(message) from error
    except SlotError:
        raise
    except ChalkError as error:
        _bad_mark(locks, slot).write_text(f"{error}\n")
        return False
    return True

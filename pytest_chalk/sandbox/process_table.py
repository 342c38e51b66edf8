"""The table of processes: who runs below whom and since when, and how the student's are killed.

Used by the harness and by the supervisor, which loads this file on its own: standard library only,
nothing of this package, and nothing slow to import.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

ON_LINUX = sys.platform == "linux"


def read_proc(path: str) -> bytes:
    """Return the text of a small /proc file, empty when the process is gone."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(fd, 4096)
        finally:
            os.close(fd)
    return b""


class ProcessEntry:
    """One line of the process table: who, below whom, since when, and whether it can still run."""

    __slots__ = ("alive", "parent", "pid", "start_ticks")

    def __init__(self, pid: int, parent: int, start_ticks: int, *, alive: bool) -> None:
        self.pid, self.parent, self.start_ticks, self.alive = pid, parent, start_ticks, alive


def parse_stat(pid: int, text: bytes) -> ProcessEntry:
    """Read one /proc/<pid>/stat. The name in parentheses may itself hold parentheses and spaces."""
    fields = text[text.rindex(b")") + 2 :].split()
    # A leader that has left by pthread_exit shows as a zombie while its other threads still run.
    alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1
    return ProcessEntry(pid, int(fields[1]), int(fields[19]), alive=alive)


def all_pids() -> list[int]:
    """Return the pids that /proc shows now; none where there is no /proc."""
    names = os.listdir("/proc") if ON_LINUX else []  # noqa: PTH208 - pathlib would double the start time
    return [int(name) for name in names if name.isdigit()]


def read_table() -> dict[int, ProcessEntry]:
    """Return every process of this pid namespace by pid."""
    texts = ((pid, read_proc(f"/proc/{pid}/stat")) for pid in all_pids())
    return {pid: parse_stat(pid, text) for pid, text in texts if text}


def living_of_uid(uids: Collection[int]) -> list[int]:
    """Return pids of processes that can still run and have one of `uids` as any of their uids."""
    wanted = {str(uid).encode() for uid in uids}
    found = []
    for pid in all_pids():
        text = read_proc(f"/proc/{pid}/status")
        if wanted.isdisjoint(_field(text, b"Uid").split()):
            continue
        is_dead = _field(text, b"State").strip()[:1] in (b"Z", b"X")
        if not is_dead or int(_field(text, b"Threads") or 1) > 1:
            found.append(pid)
    return found


def _field(text: bytes, name: bytes) -> bytes:
    """Return a line of /proc/<pid>/status without its name; the first is Name, which has none."""
    before, found, after = text.partition(b"\n" + name + b":")
    del before
    return after.partition(b"\n")[0] if found else b""


def lineage(table: Mapping[int, ProcessEntry], pid: int, root: int) -> list[int] | None:
    """Return the ancestors of `pid` below `root`, nearest first, or None when it is not below."""
    ancestors: list[int] = []
    parent = table[pid].parent
    while parent != root:
        # The table is no snapshot: a pid used again while it was read could close a circle.
        if parent not in table or parent in ancestors:
            return None
        ancestors.append(parent)
        parent = table[parent].parent
    return ancestors


def plan_kill_newer(
    table: Mapping[int, ProcessEntry], root: int, since_ticks: int, keep: Collection[int]
) -> list[ProcessEntry]:
    """Return what was started below `root` since then, but for `keep` and what older ones started.

    A process of an earlier command may start children at any time; those are not the current
    command's. Only the processes in `keep` (the shell) answer for their newer children.
    """
    doomed = []
    for entry in table.values():
        if not entry.alive or entry.start_ticks < since_ticks or entry.pid in keep:
            continue
        ancestors = lineage(table, entry.pid, root)
        if ancestors is not None and not any(
            pid not in keep and table[pid].start_ticks < since_ticks for pid in ancestors
        ):
            doomed.append(entry)
    return doomed


def kill_entry(entry: ProcessEntry) -> None:
    """SIGKILL the very process of the table: through a pidfd, so that a reused pid is not hit."""
    try:
        pidfd = os.pidfd_open(entry.pid)
    except OSError:
        return
    try:
        text = read_proc(f"/proc/{entry.pid}/stat")
        if text and parse_stat(entry.pid, text).start_ticks == entry.start_ticks:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except (OSError, ValueError):
        pass  # gone in between
    finally:
        os.close(pidfd)


def kill_uid(student_uid: int, reaper_uid: int) -> None:
    """SIGKILL every process of the student in one sweep of the kernel's own.

    The helper has the student's effective uid, which lets it signal them, and the reaper's real and
    saved uid, so that they can neither signal nor trace it. It must not exec: a student at its
    process limit would make that fail.

    Raises:
        OSError: The helper could not be forked, or could not take the uids.
    """
    if 0 in (student_uid, reaper_uid) or os.getuid() in (student_uid, reaper_uid):
        msg = f"refusing to kill every process of uid {student_uid}"
        raise PermissionError(msg)
    helper = os.fork()
    if helper == 0:
        try:
            os.setresuid(reaper_uid, student_uid, reaper_uid)
            if os.getresuid() == (reaper_uid, student_uid, reaper_uid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(-1, signal.SIGKILL)
                os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(helper, 0)[1] != 0:
        msg = f"the helper could not become uid {student_uid}"
        raise PermissionError(msg)


def clock_s() -> float:
    """Return seconds on the clock that process start times are given in."""
    return time.clock_gettime(time.CLOCK_BOOTTIME if ON_LINUX else time.CLOCK_MONOTONIC)

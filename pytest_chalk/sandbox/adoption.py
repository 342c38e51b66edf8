"""Finds and kills what a scoring script leaves behind, also what left its process group.

While a script runs, this process is the reaper of its orphans: a daemon that made a session of its
own becomes our child, and a look at our own children finds it. What a script starts inherits two
marks, so that nobody else's children are hit: a variable, and a resource limit that nobody uses and
that a wiped environment does not take away. Where there is no /proc, only the group can be killed.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import resource
import signal
import threading
import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING

from pytest_chalk.sandbox.process_table import ON_LINUX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK_VARIABLE = "CHALK_SCORING"
"""Tells a script's processes from others; a script that runs scripts has its own mark in front."""

LIMIT_MARKS = 100_000
"""How many scripts in a row have a limit of their own: bytes of POSIX message queues, taken off the
819,200 that are usual. Whoever has fewer than these must do with the variable."""

KILL_DEADLINE_S = 2.0
"""How long what is left is chased. A fork bomb that is faster has to be stopped by a limit."""

PASS_INTERVAL_S = 0.002
"""Between two looks while something is still dying."""

MAX_ENVIRON_BYTES = 4_194_304
"""Of a process's environment that is searched: the kernel takes a quarter of the stack at most."""

READ_BYTES = 65_536

_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37

_numbers = itertools.count(1)
_running: dict[str, int] = {}
_guard = threading.Lock()


class Adoption:
    """One script's processes.

    Attributes:
        mark: To be put into the script's environment as `MARK_VARIABLE`.
    """

    def __init__(self) -> None:
        number = next(_numbers)
        outer = os.environ.get(MARK_VARIABLE, "")
        self.mark = f"{outer}{os.getpid()}.{number}/"
        self._limit = _limit_mark(number)
        self._pid = 0

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Give what is started in the block the limit that marks it."""
        if self._limit is None:
            yield
            return
        with _guard:
            before = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
            resource.setrlimit(resource.RLIMIT_MSGQUEUE, (self._limit, before[1]))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_MSGQUEUE, before)

    def started(self, pid: int) -> None:
        """Take the script's own pid, which is its session too."""
        self._pid = _running[self.mark] = pid

    def kill_left(self) -> int:
        """Kill what the script has left, once it was waited for; return how many would not die."""
        end = time.monotonic() + KILL_DEADLINE_S
        while left := [pid for pid in _children() if self._is_left(pid)]:
            for pid in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            for pid in left:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() >= end:
                return len(left)
            time.sleep(PASS_INTERVAL_S)
        return 0

    def _is_left(self, pid: int) -> bool:
        """Tell whether a child of ours is the script's orphan."""
        if pid in _running.values():
            return False
        if _session(pid) == self._pid or _has_limit(pid, self._limit):
            return True
        mark = f"\0{MARK_VARIABLE}={self.mark}".encode()
        return mark in b"\0" + _read_whole(f"/proc/{pid}/environ")


@contextmanager
def adoption() -> Iterator[Adoption]:
    """Be the reaper of a script's orphans until the block ends."""
    adopted = Adoption()
    with _guard:
        _running[adopted.mark] = 0
        if len(_running) == 1 and not _was_reaper():
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield adopted
    finally:
        with _guard:
            del _running[adopted.mark]
            if not _running and not _was_reaper():
                _prctl(_PR_SET_CHILD_SUBREAPER, 0)


@cache
def _was_reaper() -> bool:
    """Tell whether this process was one before the first script, by somebody else's wish."""
    found = ctypes.c_int(0)
    _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.addressof(found))
    return bool(found.value)


def _prctl(option: int, argument: int) -> None:
    if ON_LINUX:
        _find_prctl()(option, argument, 0, 0, 0)


@cache
def _find_prctl() -> Callable[[int, int, int, int, int], int]:
    prctl: Callable[[int, int, int, int, int], int] = ctypes.CDLL(None).prctl
    prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)  # type: ignore[attr-defined] # ctypes'
    return prctl


def _children() -> list[int]:
    """Return the pids of the main thread's children; none where there is no such list.

    The kernel makes orphans children of the reaper's first thread, whichever started their parent.
    """
    if not ON_LINUX:
        return []
    pid = os.getpid()
    return [int(child) for child in _read_whole(f"/proc/{pid}/task/{pid}/children").split()]


def _session(pid: int) -> int:
    with suppress(OSError):
        return os.getsid(pid)
    return -1


def _limit_mark(number: int) -> int | None:
    """Return the limit that marks a script; None where there is none to spare."""
    own = _own_limit()
    return None if own is None else own - 1 - number % LIMIT_MARKS


@cache
def _own_limit() -> int | None:
    # Read once: while a script is being started, this process has the script's.
    soft = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0] if ON_LINUX else 0
    return None if soft == resource.RLIM_INFINITY or soft <= LIMIT_MARKS else soft


def _has_limit(pid: int, limit: int | None) -> bool:
    if limit is None:
        return False
    with suppress(OSError):
        return resource.prlimit(pid, resource.RLIMIT_MSGQUEUE)[0] == limit
    return False


def _read_whole(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = [os.read(fd, READ_BYTES)]
        while len(parts[-1]) and len(parts) * READ_BYTES < MAX_ENVIRON_BYTES:
            parts.append(os.read(fd, READ_BYTES))
    except OSError:
        return b""
    finally:
        os.close(fd)
    return b"".join(parts)

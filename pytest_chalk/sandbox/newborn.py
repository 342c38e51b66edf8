"""From fork to exec: how a new process becomes a command of the student.

Used by the supervisor, which loads this file on its own: standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

ON_LINUX = sys.platform == "linux"
SAME_UID = -1
"""Stands for a student that has the supervisor's own uid."""

PR_SET_NO_NEW_PRIVS = 38

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
"""The number of the system call, by machine."""

_JOIN_SESSION_KEYRING = 1


# Looked up once, by the supervisor: all that a newborn does for the first time, it does on pages
# that have to be copied for it.
_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl if ON_LINUX else None
_syscall = _libc.syscall if ON_LINUX else None
_keyctl = _KEYCTL.get(os.uname().machine)


def set_prctl(option: int, value: int = 1) -> None:
    """Set one option of prctl(2), where there is one; OSError when the kernel refuses."""
    if _prctl is not None and _prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl option {option} refused")


def prepare_launches() -> None:
    """Do for the whole process what each newborn would have to do, when it has opened its files.

    To exec gives back what is caught, not what is ignored or blocked; and it closes what Python
    opens, not what was inherited.
    """
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) in (signal.SIG_IGN, None):
            signal.signal(number, _do_nothing)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for name in os.listdir("/proc/self/fd" if ON_LINUX else "/dev/fd"):  # noqa: PTH208 - as above
        if int(name) > 2:
            with contextlib.suppress(OSError):  # what the list itself was read from
                os.set_inheritable(int(name), False)  # noqa: FBT003 - its only form
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _do_nothing(*_: object) -> None:
    pass


def place_fds(sources: Sequence[int], targets: Sequence[int], error_fd: int) -> int:
    """Put each source at its target number; return where `error_fd` went, out of their way.

    Nothing else is to outlive the exec: see `prepare_launches`.
    """
    above = max(targets) + 1
    error_fd = fcntl.fcntl(error_fd, fcntl.F_DUPFD_CLOEXEC, above)
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for fd in sources]
    for source, target in zip(moved, targets, strict=True):
        os.dup2(source, target, inheritable=True)
    return error_fd


def lower_limits(student_uid: int, process_count: int | None) -> None:
    """Set the limits of the newborn while it may still do so."""
    if student_uid == SAME_UID:
        return
    if process_count is not None:
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = process_count if hard < 0 else min(hard, process_count)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    with contextlib.suppress(OSError):  # a container may forbid it; it only orders the OOM killer
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(fd, b"1000")
        os.close(fd)


def leave_keyring() -> None:
    """Take a session keyring of its own: whoever has inherited ours may use the keys in it."""
    if _syscall is not None and _keyctl is not None:
        # A kernel without keys or a container that forbids them has none to leave either.
        _syscall(_keyctl, _JOIN_SESSION_KEYRING, None)


def drop_privileges(student_uid: int) -> None:
    """Become the student, for good."""
    if student_uid != SAME_UID:
        os.setgroups([])
        os.setresgid(student_uid, student_uid, student_uid)
        os.setresuid(student_uid, student_uid, student_uid)
    set_prctl(PR_SET_NO_NEW_PRIVS)


def execute(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    """Exec `argv`, looking in its own PATH.

    os.execvpe would import a module, and the student may not be able to read our Python.
    """
    name = argv[0]
    failure: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for folder in [""] if "/" in name else env.get("PATH", "").split(":"):
        try:
            os.execve(f"{folder}/{name}" if folder else name, argv, env)  # noqa: S606 - the launch
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            failure = error
    raise failure


def failure_of(error: Exception, stage: str) -> dict[str, Any]:
    """Return the reply for a launch that failed at `stage` (setup, chdir, exec or late)."""
    return {"failed": str(error), "errno": getattr(error, "errno", None), "stage": stage}


def become_command(
    request: Mapping[str, Any], fds: Sequence[int], error_fd: int, student_uid: int
) -> NoReturn:
    """Turn the forked child into the student's command; say on `error_fd` why it cannot be."""
    stage = "setup"
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        error_fd = place_fds(fds, request["targets"], error_fd)
        if request["cpus"] is not None:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: request["cpus"]])
        lower_limits(student_uid, request["processes"])
        leave_keyring()
        drop_privileges(student_uid)
        stage = "chdir"
        os.chdir(request["cwd"])
        stage = "exec"
        execute(request["argv"], request["env"])
    except Exception as error:  # noqa: BLE001 - a newborn must never go on as a second supervisor
        os.write(error_fd, json.dumps(failure_of(error, stage)).encode())
    finally:
        os._exit(127)

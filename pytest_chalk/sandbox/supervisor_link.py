"""Our end of the line to the supervisor process: requests, answers and exits as they arrive.

This is the one door through which anything of the student is started or killed.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_chalk.errors import BoxError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SUPERVISOR_FILE = Path(__file__).with_name("supervisor.py")
INIT_FILE = Path(__file__).with_name("box_init.py")

ANSWER_SLACK_S = 15.0
"""What an answer may take beyond the deadline inside the request: a launch may need 10 s before the
supervisor gives it up."""

STOP_DEADLINE_S = 2.0
"""How long a supervisor whose socket was closed gets to leave by itself."""

_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""A Python with a shared library may not start without these; they hold no secret."""

_links: weakref.WeakSet[SupervisorLink] = weakref.WeakSet()
_retired: list[subprocess.Popen[bytes]] = []
"""Supervisors that are ending by themselves."""


def _forget_links_after_fork() -> None:
    # A forked child that keeps our end open would hide pytest's death from the supervisor.
    for link in list(_links):
        link.abandon()
    for process in _retired:
        process.returncode = 0
    _retired.clear()


os.register_at_fork(after_in_child=_forget_links_after_fork)


class SupervisorLink:
    """A running supervisor. Safe for one user thread beside others that only wait."""

    def __init__(
        self, student_uid: int | None, reaper_uid: int, view: Mapping[str, Any] | None = None
    ) -> None:
        """Start the supervisor of `student_uid`; None means: the student has our own uid.

        With a `view` (see `namespaces.build_view`) the student gets namespaces of its own.

        Raises:
            BoxError: It could not be started.
        """
        self._lock = threading.RLock()
        self._unread = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._exits: dict[int, int] = {}
        self._sequence = 0
        self.reaped: list[dict[str, Any]] = []
        self._broken = ""
        wait_for_retired()
        self._socket, theirs = socket.socketpair()
        with theirs:
            file = SUPERVISOR_FILE if view is None else INIT_FILE
            self._process = _start_supervisor(file, theirs.fileno(), student_uid, reaper_uid)
        _links.add(self)
        if view is not None:
            self._enter(view)

    def _enter(self, view: Mapping[str, Any]) -> None:
        answer = self._ask({"op": "enter", "view": dict(view)}, 0.0)
        if "failed" in answer:
            self.stop()
            message = f"the student's namespaces cannot be made: {answer['failed']}"
            raise BoxError(message)

    def launch(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        fds: Mapping[int, int],
        shares: tuple[int | None, int | None] = (None, None),
    ) -> tuple[int, int]:
        """Start `argv` as the student and return (launch id, pid). `fds`: child's number → ours.

        `shares`: how many processes and threads the student may have from then on, and on how many
        processors the command runs; None for no limit.

        Raises:
            OSError: The working directory cannot be entered or the command cannot be executed, as
                the student; TimeoutError when it was held up before exec.
            BoxError: The supervisor could not make a process of the student.
        """
        request = {
            "op": "launch",
            "argv": list(argv),
            "env": dict(env),
            "cwd": str(cwd),
            "targets": list(fds),
            "processes": shares[0],
            "cpus": shares[1],
        }
        with self._lock:
            launch_id = self._sequence + 1
            answer = self._ask({**request, "id": launch_id}, 0.0, list(fds.values()))
        if "failed" in answer:
            raise _launch_failure(answer, argv[0], cwd)
        return launch_id, answer["pid"]

    def kill_all(self, deadline_s: float) -> list[int]:
        """Kill every process of the student and return the pids that could not be killed."""
        survivors: list[int] = self._ask({"op": "kill", "deadline_s": deadline_s}, deadline_s)[
            "survivors"
        ]
        return survivors

    def kill_newer(
        self, since_s: float, keep: Collection[int], deadline_s: float
    ) -> tuple[int, list[int]]:
        """Kill what the current command started; return (how many, the pids that are left)."""
        request = {
            "op": "kill_newer",
            "since_s": since_s,
            "keep": list(keep),
            "deadline_s": deadline_s,
        }
        answer = self._ask(request, 2 * deadline_s)
        return answer["killed"], answer["survivors"]

    def interrupt(self, launch_id: int) -> None:
        """Send SIGUSR1 to a launched command, if it still runs."""
        self._ask({"op": "interrupt", "launch": launch_id}, 0.0)

    def limit_memory(self, memory_bytes: int | None, folders: Sequence[str]) -> None:
        """Have everybody killed who takes more, the files in `folders` (in memory) counted in."""
        self._ask({"op": "limit", "memory": memory_bytes, "folders": list(folders)}, 0.0)

    def renew_ipc(self) -> None:
        """Give the box an IPC namespace that is empty. For boxes with a view, with nobody alive."""
        self._ask({"op": "renew_ipc"}, 0.0)

    def find_exit(self, launch_id: int, timeout_s: float | None = 0.0) -> int | None:
        """Return the exit status of a launch (negative: the signal), None if it still runs."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                if launch_id not in self._exits:
                    self._read_lines(0.0)
                if launch_id in self._exits:
                    return self._exits[launch_id]
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            self._wait_readable(left)

    def stop(self) -> None:
        """End the supervisor; what still runs of the student dies with it. Never raises."""
        self.retire()
        wait_for_retired()

    def retire(self) -> None:
        """End the supervisor of a student whose processes are dead, without waiting for it.

        The kernel takes 20 ms to take the namespaces of a box apart.
        """
        _links.discard(self)
        self._broken = self._broken or "it was stopped"
        self._socket.close()
        _retired.append(self._process)

    def abandon(self) -> None:
        """Let go in a forked child: the supervisor belongs to the parent."""
        self._broken = "it belongs to the process that forked this one"
        self._socket.close()
        self._process.returncode = 0  # or Popen would try to wait for a process that is no child

    def _ask(
        self, request: Mapping[str, Any], deadline_s: float, fds: Sequence[int] = ()
    ) -> dict[str, Any]:
        with self._lock:
            self._sequence += 1
            sequence = self._sequence
            self._send(json.dumps({**request, "seq": sequence}).encode() + b"\n", fds)
            end = time.monotonic() + deadline_s + ANSWER_SLACK_S
            while sequence not in self._answers:
                if time.monotonic() >= end:
                    self._break("it does not answer")
                self._read_lines(end - time.monotonic())
            answer = self._answers.pop(sequence)
            # Answers to requests that an interrupt left behind are of no use to anybody.
            self._answers.clear()
            return answer

    def _send(self, line: bytes, fds: Sequence[int]) -> None:
        if self._broken:
            raise self._error()
        # An interrupt may leave half a line on the way: unusable until the line is whole.
        self._broken = "a request was interrupted"
        try:
            count = socket.send_fds(self._socket, [line], fds) if fds else 0
            self._socket.sendall(line[count:])
        except OSError as error:
            self._break(str(error))
        self._broken = ""

    def _read_lines(self, timeout_s: float) -> None:
        """Take in what has arrived, waiting up to `timeout_s` for a first byte."""
        if self._broken:
            raise self._error()
        if not self._wait_readable(timeout_s):
            return
        try:
            received = self._socket.recv(65_536)
        except OSError as error:
            self._break(str(error))
        if not received:
            self._break("it ended")
        *lines, self._unread = (self._unread + received).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "exit" in message:
                self._exits[message["exit"]] = message["status"]
            elif "reaped" in message:
                self.reaped.append(message)
            else:
                self._answers[message["seq"]] = message

    def _wait_readable(self, timeout_s: float | None) -> bool:
        if self._broken:
            raise self._error()
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(None if timeout_s is None else max(0.0, timeout_s * 1000)))

    def _break(self, why: str) -> NoReturn:
        self._broken = why
        raise self._error()

    def _error(self) -> BoxError:
        status = self._process.poll()
        ending = "" if status is None else f" (exit status {status})"
        return BoxError(
            f"the supervisor of the student's box is of no use any more: {self._broken}{ending}. "
            "Nothing can be said about this run; run it again"
        )


def _await_end(process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Wait for a process; Popen would look again every few milliseconds, once in each run.

    Raises:
        TimeoutExpired: It still runs.
    """
    if process.poll() is not None:  # waited for, or none of ours: its pid may be somebody else's
        return
    try:
        pidfd = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on macOS, nor for one that was waited for
        process.wait(timeout_s)
        return
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.poll(timeout_s * 1000)
    finally:
        os.close(pidfd)
    process.wait(0.05)


def wait_for_retired() -> None:
    """Wait until the supervisors that were retired have ended."""
    while _retired:
        process = _retired.pop()
        try:
            _await_end(process, STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def supervisor_environment() -> dict[str, str]:
    """Return the whole environment of a supervisor: no secret may be in it."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **kept}


def _start_supervisor(
    file: Path, fd: int, student_uid: int | None, reaper_uid: int
) -> subprocess.Popen[bytes]:
    uid = -1 if student_uid is None else student_uid
    argv = [sys.executable, "-I", "-S", str(file), str(fd), str(uid), str(reaper_uid)]
    try:
        return subprocess.Popen(  # noqa: S603 - our own file, by our own interpreter
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[fd],
            env=supervisor_environment(),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        message = f"the supervisor of the student's box cannot be started ({argv[0]}): {error}"
        raise BoxError(message) from error


def _launch_failure(answer: Mapping[str, Any], program: str, cwd: Path) -> Exception:
    number, text = answer["errno"], answer["failed"]
    match answer["stage"]:
        case "late":
            return TimeoutError(f"{program}: {text}")
        case "chdir" if number is not None:
            return OSError(number, os.strerror(number), str(cwd))
        case "exec" if number is not None:
            return OSError(number, os.strerror(number), program)
        case "exec" | "chdir":
            return ValueError(f"{program!r} cannot be executed: {text}")
        case stage:
            return BoxError(f"no process of the student can be made ({stage}): {text}")

"""Our end of the line to the supervisor process: requests, answers and exits as they arrive.

This is the one door through which anything of the student is started or killed.
"""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox.fork_server_link import start_supervisor
from pytest_chalk.sandbox.newborn import SAME_UID
from pytest_chalk.sandbox.output import SHARED_WAIT_S
from pytest_chalk.sandbox.supervisor_process import Start, end

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from pytest_chalk.sandbox.supervisor_process import SupervisorProcess

ANSWER_SLACK_S = 15.0
"""What an answer may take beyond the deadline inside the request: a launch may need 10 s before the
supervisor gives it up."""

MAX_RETIRED = 4
"""How many supervisors may be on their way out when another is started. The kernel takes 20 ms for
the namespaces of each, and until then it keeps what was in the student's folders."""


class MemoryLimit(NamedTuple):
    """What a student's processes may take together, the files in `folders` (in memory) counted."""

    bytes: int | None
    folders: tuple[str, ...]

    def request(self) -> dict[str, Any]:
        """Return it as the supervisor is told."""
        return {"memory": self.bytes, "folders": list(self.folders)}


NO_LIMIT = MemoryLimit(None, ())

_links: weakref.WeakSet[SupervisorLink] = weakref.WeakSet()
_retired: list[SupervisorProcess] = []
"""Supervisors that are ending by themselves."""


def _forget_links_after_fork() -> None:
    # A forked child that keeps our end open would hide pytest's death from the supervisor.
    for link in list(_links):
        link.abandon()
    for process in _retired:
        process.abandon()
    _retired.clear()


os.register_at_fork(after_in_child=_forget_links_after_fork)


class SupervisorLink:
    """A running supervisor. Safe for one user thread beside others that only wait."""

    def __init__(
        self,
        student_uid: int | None,
        reaper_uid: int,
        view: Mapping[str, Any] | None = None,
        memory: MemoryLimit = NO_LIMIT,
    ) -> None:
        """Start the supervisor of `student_uid`; None means: the student has our own uid.

        With a `view` (see `namespaces.build_view`) the student gets namespaces of its own. To make
        them takes some milliseconds, for which only the first request waits.

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
        _reap_retired()
        uid = SAME_UID if student_uid is None else student_uid
        start = Start(own_view=view is not None, student_uid=uid, reaper_uid=reaper_uid)
        self._process, self._socket = start_supervisor(start)
        _links.add(self)
        self._entering: int | None = None
        try:
            self._tell(view, memory)
        except BaseException:
            self.retire()  # nobody else knows of it yet
            raise

    def _tell(self, view: Mapping[str, Any] | None, memory: MemoryLimit) -> None:
        if view is not None:
            request = {"op": "enter", "view": dict(view), **memory.request()}
            self._entering = self._post(request)
        elif memory.bytes is not None:
            self.limit_memory(memory)

    def _finish_entering(self) -> None:
        entering, self._entering = self._entering, None
        if entering is None:
            return
        answer = self._await_answer(entering, 0.0)
        if "failed" in answer:
            self._broken = f"the student's namespaces cannot be made: {answer['failed']}"
            raise BoxError(self._broken)

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

    def limit_memory(self, memory: MemoryLimit) -> None:
        """Have everybody killed when they take more together."""
        self._ask({"op": "limit", **memory.request()}, 0.0)

    def renew_ipc(self) -> None:
        """Give the box an IPC namespace that is empty. For boxes with a view, with nobody alive."""
        self._ask({"op": "renew_ipc"}, 0.0)

    def fileno(self) -> int:
        """Return the descriptor on which the supervisor speaks; -1 when the link was ended."""
        return self._socket.fileno()

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
            # Another thread may read our news, and nothing would wake us.
            self._wait_readable(SHARED_WAIT_S if left is None else min(left, SHARED_WAIT_S))

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
        self._process.abandon()

    def _ask(
        self, request: Mapping[str, Any], deadline_s: float, fds: Sequence[int] = ()
    ) -> dict[str, Any]:
        with self._lock:
            self._finish_entering()
            answer = self._await_answer(self._post(request, fds), deadline_s)
            # Answers to requests that an interrupt left behind are of no use to anybody.
            self._answers.clear()
            return answer

    def _post(self, request: Mapping[str, Any], fds: Sequence[int] = ()) -> int:
        """Send a request and return its number."""
        self._sequence += 1
        self._send(json.dumps({**request, "seq": self._sequence}).encode() + b"\n", fds)
        return self._sequence

    def _await_answer(self, sequence: int, deadline_s: float) -> dict[str, Any]:
        end = time.monotonic() + deadline_s + ANSWER_SLACK_S
        while sequence not in self._answers:
            if time.monotonic() >= end:
                self._break("it does not answer")
            self._read_lines(end - time.monotonic())
        return self._answers.pop(sequence)

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
        ending = self._process.ending()
        ending = f" ({ending})" if ending else ""
        return BoxError(
            f"the supervisor of the student's box is of no use any more: {self._broken}{ending}. "
            "Nothing can be said about this run; run it again"
        )


def wait_for_retired() -> None:
    """Wait until the supervisors that were retired have ended."""
    while _retired:
        end(_retired.pop())


def _reap_retired() -> None:
    """Forget those that have ended; wait for the oldest only when there are many."""
    _retired[:] = [process for process in _retired if not process.await_end(0.0)]
    while len(_retired) > MAX_RETIRED:
        end(_retired.pop(0))


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

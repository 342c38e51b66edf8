"""Our end of the line to the fork server, and the supervisors that it has forked for us."""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox.supervisor_process import (
    STOP_DEADLINE_S,
    SpawnedSupervisor,
    run_python,
)

if TYPE_CHECKING:
    from pytest_chalk.sandbox.supervisor_process import Start, SupervisorProcess

FORK_SERVER_FILE = Path(__file__).with_name("fork_server.py")

ANSWER_DEADLINE_S = 15.0
"""How long the fork server may take: it has nothing else to do, but the machine may."""

PACKET_BYTES = 4096


ATTEMPTS = 2
"""To have a supervisor forked; for the second there is a new fork server."""


def start_supervisor(start: Start) -> tuple[SupervisorProcess, socket.socket]:
    """Start a supervisor and return it with our end of the socket on which it listens.

    Raises:
        BoxError: It could not be started.
    """
    lost: _ServerLostError | None = None
    for _ in range(ATTEMPTS):
        # A pair for each attempt: what was too slow may still be at the first, and two supervisors
        # that listen on one socket would each get a part of what is said.
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                return _start(start, theirs.fileno()), ours
            except _ServerLostError as error:
                ours.close()
                lost = error
            except BaseException:
                ours.close()
                raise
    message = f"the helper that starts supervisors was lost twice: {lost}"
    raise BoxError(message) from lost


def _start(start: Start, channel_fd: int) -> SupervisorProcess:
    if not can_fork():
        return SpawnedSupervisor(start, channel_fd)
    with _guard:
        server = _server()
        try:
            return server.fork(start, channel_fd)
        except _ServerLostError:
            # Somebody killed it, or it is too slow. What it has forked serves on.
            _servers.remove(server)
            server.kill()
            raise


@functools.cache
def can_fork() -> bool:
    """Tell whether a process that is no child of ours can be waited for and killed safely."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # macOS, or a Linux before 5.3
        return False
    return True


class _ServerLostError(Exception):
    """The fork server does not answer."""


class _ForkServer:
    """The running fork server of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sequence = 0
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(ANSWER_DEADLINE_S)
        with theirs:
            self._process = run_python(FORK_SERVER_FILE, theirs.fileno())
        self._mounts = _own_mounts()

    @property
    def is_of_use(self) -> bool:
        """Whether what it forks would be as if started by us now."""
        return self._process.poll() is None and self._mounts == _own_mounts()

    def fork(self, start: Start, channel_fd: int) -> SupervisorProcess:
        """Have a supervisor forked."""
        request = {
            "op": "start",
            "own_view": start.own_view,
            "student": start.student_uid,
            "reaper": start.reaper_uid,
        }
        answer, fds = self._ask(request, channel_fd)
        if "failed" in answer:
            message = f"the supervisor of the student's box cannot be forked: {answer['failed']}"
            raise BoxError(message)
        return _Forked(self, answer["pid"], fds[0])

    def reap(self, pid: int) -> int | None:
        """Return the exit status of one that has ended, None where nobody knows it any more."""
        with suppress(_ServerLostError):
            status: int | None = self._ask({"op": "reap", "pid": pid})[0]["status"]
            return status
        return None

    def close(self) -> None:
        """Let it end, which takes a millisecond."""
        self._socket.close()
        try:
            self._process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End it at once: it must not get to what it was asked for."""
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def abandon(self) -> None:
        """Let go of it in a forked child."""
        self._socket.close()
        self._process.returncode = 0

    def _ask(self, request: dict[str, Any], *fds: int) -> tuple[dict[str, Any], list[int]]:
        with self._lock:
            self._sequence += 1
            packet = json.dumps({**request, "seq": self._sequence}).encode()
            try:
                socket.send_fds(self._socket, [packet], fds)
                answer, received = self._receive()
                while answer["seq"] != self._sequence:
                    # To a request that an interrupt left behind; so ends what was forked for it.
                    for fd in received:
                        os.close(fd)
                    answer, received = self._receive()
            except OSError as error:
                raise _ServerLostError(str(error)) from error
            return answer, received

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        packet, fds, _, _ = socket.recv_fds(self._socket, PACKET_BYTES, 1)
        if not packet:
            message = "it ended"
            raise ConnectionError(message)
        answer: dict[str, Any] = json.loads(packet)
        return answer, fds


class _Forked:
    """A child of the fork server. Until it is reaped its pid is nobody else's."""

    def __init__(self, server: _ForkServer, pid: int, pidfd: int) -> None:
        self._server, self.pid, self._pidfd = server, pid, pidfd
        self._status: int | None = None

    def ending(self) -> str:
        self.await_end(0.0)
        return "" if self._status is None else f"exit status {self._status}"

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            if self._pidfd >= 0:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def await_end(self, timeout_s: float | None) -> bool:
        if self._pidfd >= 0:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            if not poll.poll(None if timeout_s is None else timeout_s * 1000):
                return False
            self._status = self._server.reap(self.pid)
            self.abandon()
        return True

    def abandon(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


_servers: list[_ForkServer] = []
_guard = threading.RLock()


def _server() -> _ForkServer:
    """Return the fork server of this process; a new one where the last is of no use any more."""
    while _servers and not _servers[0].is_of_use:
        _servers.pop().close()
    if not _servers:
        _servers.append(_ForkServer())
    return _servers[0]


@atexit.register
def _close_servers() -> None:
    while _servers:
        _servers.pop().close()


def _abandon_after_fork() -> None:
    global _guard  # noqa: PLW0603 - another thread may have held it
    _guard = threading.RLock()
    while _servers:
        _servers.pop().abandon()


os.register_at_fork(after_in_child=_abandon_after_fork)


def _own_mounts() -> str:
    """Return the name of the calling thread's mount namespace: what it forks has the same."""
    return os.readlink("/proc/thread-self/ns/mnt")  # noqa: PTH115 - for each box

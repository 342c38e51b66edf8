"""The supervisor of a box with its own view of the machine: pid 1 of the student's namespaces.

Run as `python -I -S box_init.py <socket fd> <student uid> <reaper uid>`, or with `probe uid` or
`probe userns` to find out whether it could. The first request, `enter`, says what the student is to
see. The process that was started then only waits: it makes the namespaces and forks pid 1, which
serves as any supervisor does. When either dies, the kernel kills everything in them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from typing_extensions import override
else:

    def override(method: object) -> object:
        """Stand in for the real one, which is not in the standard library of every Python."""
        return method


sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - see supervisor
if TYPE_CHECKING:
    from pytest_chalk.sandbox import namespaces, newborn, process_table, supervisor
else:
    import namespaces
    import newborn
    import process_table
    import supervisor

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4

HOST_NAME = "box"


class InitSupervisor(supervisor.Supervisor):
    """Kills by namespace: nobody can leave it, and whoever loses its parent is ours to reap."""

    # A student with our uid could send it; whoever wants us to leave closes the socket.
    heeds_sigterm = False

    @override
    def _operations(self) -> dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        return {**super()._operations(), "renew_ipc": self._renew_ipc}

    @override
    def _living(self) -> list[int]:
        return [pid for pid in process_table.all_pids() if pid != os.getpid()]

    @override
    def _chase(self, deadline_s: float) -> list[int]:
        """Kill everything but ourselves and return who outlived the deadline.

        That nobody is left is not looked up but known: every process in here is our child or a
        descendant of one, so when there is no child to wait for there is no process.
        """
        end = time.monotonic() + deadline_s
        while True:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            pass_end = time.monotonic() + supervisor.PASS_INTERVAL_S
            while self.reap() >= 0 and has_children():
                if time.monotonic() >= min(pass_end, end):
                    break
                time.sleep(0.0005)
            else:
                return []
            if time.monotonic() >= end:
                return self._living() or [supervisor.UNSEEN_PID]

    def _renew_ipc(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Leave all IPC objects behind; with nobody else in their namespace they are gone."""
        del request
        namespaces.unshare(namespaces.NEW_IPC)
        namespaces.unmount("/dev/mqueue")
        namespaces.mount_message_queues()
        return {}


def has_children() -> bool:
    """Say whether there is a child, dead or alive."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def enter(view: Mapping[str, Any]) -> int:
    """Make the namespaces and fork; return 0 in the child, which has its view, else its pid."""
    if view["user"]:
        namespaces.become_root_of_user_namespace()
    namespaces.unshare(
        namespaces.NEW_MOUNTS
        | namespaces.NEW_IPC
        | namespaces.NEW_UTS
        | namespaces.NEW_PIDS
        | namespaces.NEW_NETWORK
    )
    namespaces.raise_loopback()
    socket.sethostname(HOST_NAME)
    return os.fork()


def become_init(view: Mapping[str, Any]) -> None:
    """Finish pid 1: it dies with its parent, sees what the student sees, and cannot be traced."""
    newborn.set_prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    namespaces.build_view(view)
    newborn.set_prctl(PR_SET_DUMPABLE, 0)


def wait_for(pid: int) -> NoReturn:
    """Stay as long as pid 1 does, and end as it did."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os._exit(min(abs(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])), 125))


def read_request(channel: socket.socket) -> dict[str, Any]:
    """Return the first request. Nothing follows it before it is answered."""
    text = b""
    while not text.endswith(b"\n"):
        received = channel.recv(supervisor.RECEIVE_BYTES)
        if not received:
            os._exit(0)
        text += received
    request: dict[str, Any] = json.loads(text)
    return request


def serve(channel: socket.socket, student_uid: int, reaper_uid: int) -> None:
    """Serve one box."""
    request = read_request(channel)
    try:
        pid = enter(request["view"])
        if pid:
            channel.close()
            wait_for(pid)
        become_init(request["view"])
    except OSError as error:
        answer = {"seq": request["seq"], **newborn.failure_of(error, "view")}
        channel.sendall(json.dumps(answer).encode() + b"\n")
        return
    channel.sendall(json.dumps({"seq": request["seq"]}).encode() + b"\n")
    init = InitSupervisor(channel, student_uid, reaper_uid)
    init.limit_memory(request)
    supervisor.run(init, channel)


def probe(level: str) -> None:
    """Do what a box of this level needs, and print what was refused."""
    view = {"user": level == "userns", "hide": [], "binds": [["/tmp", "/tmp"]]}  # noqa: S108 - nothing is written there
    view |= {"shown": [], "read_only": [], "devices": []}
    refused = ""
    try:
        pid = enter(view)
        if pid:
            wait_for(pid)
        become_init(view)
    except OSError as error:
        refused = str(error.strerror or error)
    sys.stdout.write(json.dumps({"refused": refused}))
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "probe":
        probe(sys.argv[2])
    else:
        fd, *uids = map(int, sys.argv[1:])
        serve(socket.socket(fileno=fd), *uids)

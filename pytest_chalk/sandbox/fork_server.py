"""Forks supervisors: one helper for each process of pytest, without secrets.

Run as `python -I -S fork_server.py <socket fd>`. To start Python and to load what a supervisor
needs takes 20 ms of CPU time; to fork a process that has done so takes half of one. Each packet is
a JSON object; requests have `op` and `seq`, and the answer has the same `seq`:

    start: own_view, student, reaper; with it the supervisor's end of its socket
                → pid, with it a pidfd; or failed
    reap: pid   → status; null while it runs, or when it is none of ours

It ends when the socket does, so when pytest is gone. What it has forked lives on: each supervisor
has a socket of its own, which tells it the same.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - see supervisor
if TYPE_CHECKING:
    from pytest_chalk.sandbox import box_init, supervisor
else:
    import box_init
    import supervisor

PACKET_BYTES = 4096


def serve(control: socket.socket) -> None:
    """Answer until the socket ends."""
    answer: dict[str, Any]
    pidfds: list[int]
    while True:
        packet, fds, _, _ = socket.recv_fds(control, PACKET_BYTES, 1)
        if not packet:
            return
        request = json.loads(packet)
        try:
            if request["op"] == "reap":
                answer, pidfds = {"status": _reap(request["pid"])}, []
            else:
                answer, pidfds = _start(control, request, fds[0])
            packet = json.dumps({"seq": request["seq"], **answer}).encode()
            socket.send_fds(control, [packet], pidfds)
            fds += pidfds
        finally:
            for fd in fds:
                os.close(fd)


def _start(
    control: socket.socket, request: Mapping[str, Any], channel_fd: int
) -> tuple[dict[str, Any], list[int]]:
    try:
        pid = os.fork()
        if pid == 0:
            _become_supervisor(control, request, channel_fd)
        return {"pid": pid}, [_open_pidfd(pid)]
    except OSError as error:
        return {"failed": str(error)}, []


def _open_pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError:
        # Nobody will be told of it.
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _become_supervisor(
    control: socket.socket, request: Mapping[str, Any], channel_fd: int
) -> NoReturn:
    """Turn the forked child into a supervisor that has nothing but its own socket."""
    try:
        os.setsid()
        control.close()
        channel = socket.socket(fileno=channel_fd)
        uids = (request["student"], request["reaper"])
        if request["own_view"]:
            box_init.serve(channel, *uids)
        else:
            supervisor.run(supervisor.Supervisor(channel, *uids), channel)
    finally:
        os._exit(1)


def _reap(pid: int) -> int | None:
    with contextlib.suppress(ChildProcessError):
        ended, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if ended else None
    return None


def main() -> None:
    """Serve one process of pytest."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()  # or the first collection of each fork would copy the pages of all that was loaded
    # Without a socket pytest is gone, and there is nobody to tell anything.
    with contextlib.suppress(ConnectionError):
        serve(socket.socket(fileno=int(sys.argv[1])))
    os._exit(0)


if __name__ == "__main__":
    main()

"""The student's supervisor: a process of its own, standard library only, without secrets.

Run as `python -I -S supervisor.py <socket fd> <student uid> <reaper uid>`; a student uid of -1
means level `none`, where the student has the supervisor's own uid. It speaks JSON lines over the
socket (descriptors travel beside the line that needs them), is the reaper of every orphan the
student makes, and kills the student when the socket reaches its end: also when pytest was killed.

    launch: id, argv, env, cwd, targets, processes, cpus → pid, or failed, errno, stage
    kill: deadline_s                       → survivors
    kill_newer: since_s, keep, deadline_s  → killed, survivors
    limit: memory (bytes or null), folders → {}; holds until the next
    unasked, once a launch has ended       → exit (its id), status
    unasked, when memory ran out           → reaped, used, limit

Every request has `op` and `seq`; its answer has the same `seq`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time

TYPE_CHECKING = False  # importing typing would cost more than the rest of the start
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

# `-I` leaves this folder out. Last in the path, nothing here can hide a standard module; pathlib
# would double the time to start.
sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - no pathlib
if TYPE_CHECKING:
    from pytest_chalk.sandbox import memory_watch, newborn, process_table
else:
    import memory_watch
    import newborn
    import process_table

ON_LINUX = process_table.ON_LINUX
SAME_UID = newborn.SAME_UID

PASS_INTERVAL_S = 0.05
"""How long a killed process gets to disappear before the next pass of killing."""

LAUNCH_DEADLINE_S = 10.0
"""From fork to exec. A student that stops every process of its uid can catch the newborn between
the uid change and exec; without a deadline that would hang the supervisor for ever."""

QUIET_PASSES = 3
"""How often in a row nothing of a command may be met before it counts as gone: what hops from pid
to pid is missed by most readings of /proc."""

ORPHAN_PASSES = 25
"""How often in a row orphans may come in although nothing is seen. More is such a hopper, and only
the kernel's own sweep over the whole cohort is sure to catch it."""

FAREWELL_DEADLINE_S = 10.0
"""How long the supervisor goes on killing after pytest is gone."""

WATCH_INTERVAL_S = 0.5
"""How often to look how much memory the student takes. A look at all processes of a machine takes a
millisecond or two; what a program can fill in that time is less than is left for others."""

UNSEEN_PID = -1
"""Stands for a survivor that nobody saw, but whose dead parents kept coming in."""

MAX_FDS_PER_MESSAGE = 64
RECEIVE_BYTES = 65_536

PR_SET_CHILD_SUBREAPER = 36


class Supervisor:
    """Launches, reaps and kills the processes of one student."""

    heeds_sigterm = True

    def __init__(self, channel: socket.socket, student_uid: int, reaper_uid: int) -> None:
        self._channel = channel
        self._student_uid, self._reaper_uid = student_uid, reaper_uid
        self._launch_ids: dict[int, int] = {}
        self._sessions: dict[int, float] = {}
        self._unread = b""
        self._fds: list[int] = []
        self._memory_bytes: int | None = None
        self._memory_folders: list[str] = []
        self._may_run = False

    @property
    def is_watching(self) -> bool:
        """Whether memory is limited and something launched may be running."""
        return self._may_run and self._memory_bytes is not None

    def serve(self, wake_fd: int) -> None:
        """Answer until the socket ends or SIGTERM comes."""
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        poll.register(wake_fd, select.POLLIN)
        next_look_s = time.monotonic() + WATCH_INTERVAL_S
        while True:
            watches = self.is_watching
            ready = [fd for fd, _ in poll.poll(WATCH_INTERVAL_S * 1000 if watches else None)]
            if wake_fd in ready and signal.SIGTERM in os.read(wake_fd, 512) and self.heeds_sigterm:
                return
            self.reap()
            if watches and time.monotonic() >= next_look_s:
                self._watch_memory()
                next_look_s = time.monotonic() + WATCH_INTERVAL_S
            if self._channel.fileno() in ready and not self._receive():
                return

    def _receive(self) -> bool:
        received, fds, _, _ = socket.recv_fds(self._channel, RECEIVE_BYTES, MAX_FDS_PER_MESSAGE)
        for fd in fds:
            os.set_inheritable(fd, False)  # noqa: FBT003 - its only form
        self._fds += fds
        *lines, self._unread = (self._unread + received).split(b"\n")
        for line in lines:
            request = json.loads(line)
            operation = self._operations()[request["op"]]
            self._send({"seq": request["seq"], **operation(request)})
        return bool(received)

    def _operations(self) -> dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
        return {
            "launch": self._launch,
            "kill": self._kill,
            "kill_newer": self._kill_newer,
            "interrupt": self._interrupt,
            "limit": self.limit_memory,
        }

    def limit_memory(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Take over what the student may use from now on."""
        self._memory_bytes, self._memory_folders = request["memory"], request["folders"]
        return {}

    def _watch_memory(self) -> None:
        """Kill everybody when they take too much memory together."""
        if self._memory_bytes is None:
            return
        living = self._living()
        used = memory_watch.excess(self._memory_bytes, living, self._memory_folders)
        if used:
            # Before the ends of those who are killed for it are told.
            self._send({"reaped": "memory", "used": used, "limit": self._memory_bytes})
            self.kill_cohort(FAREWELL_DEADLINE_S)

    def _send(self, message: Mapping[str, Any]) -> None:
        self._channel.sendall(json.dumps(message).encode() + b"\n")

    def _launch(self, request: Mapping[str, Any]) -> dict[str, Any]:
        count = len(request["targets"])
        fds, self._fds = self._fds[:count], self._fds[count:]
        error_fd, child_error_fd = os.pipe()
        try:
            pid = os.fork()
            if pid == 0:
                newborn.become_command(request, fds, child_error_fd, self._student_uid)
        except OSError as error:
            os.close(error_fd)
            return newborn.failure_of(error, "setup")
        finally:
            for fd in (child_error_fd, *fds):
                os.close(fd)
        failure = self._await_exec(pid, error_fd)
        if failure:
            os.waitpid(pid, 0)
            return failure
        self._launch_ids[pid], self._may_run = request["id"], True
        if not ON_LINUX:
            self._sessions[pid] = process_table.clock_s()
        return {"pid": pid}

    def _await_exec(self, pid: int, error_fd: int) -> dict[str, Any]:
        """Return {} once exec has closed the error pipe, else the failure."""
        try:
            if not select.select([error_fd], [], [], LAUNCH_DEADLINE_S)[0]:
                os.kill(pid, signal.SIGKILL)
                return newborn.failure_of(TimeoutError("it was stopped before it began"), "late")
            text = os.read(error_fd, 4096)
        finally:
            os.close(error_fd)
        return json.loads(text) if text else {}

    def reap(self) -> int:
        """Wait for every dead child, report the launched ones, return how many there were."""
        count = 0
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                count += 1
                launch_id = self._launch_ids.pop(ended[0], None)
                if launch_id is not None:
                    status = os.waitstatus_to_exitcode(ended[1])
                    self._send({"exit": launch_id, "status": status})
        return count

    def _descendants(self) -> list[process_table.ProcessEntry]:
        return process_table.plan_kill_newer(process_table.read_table(), os.getpid(), 0, ())

    def _living(self) -> list[int]:
        if self._student_uid != SAME_UID:
            return process_table.living_of_uid((self._student_uid, self._reaper_uid))
        return [entry.pid for entry in self._descendants()]

    def _strike(self) -> None:
        if self._student_uid != SAME_UID:
            process_table.kill_uid(self._student_uid, self._reaper_uid)
            return
        for entry in self._descendants():
            process_table.kill_entry(entry)
        if not ON_LINUX:
            self._strike_sessions(0.0)

    def _strike_sessions(self, since_s: float, keep: Collection[int] = ()) -> int:
        """Kill process groups of launches since then: all that can be had without /proc."""
        groups = [pid for pid, at in self._sessions.items() if at >= since_s and pid not in keep]
        for group in groups:
            del self._sessions[group]
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        return len(groups)

    def kill_cohort(self, deadline_s: float) -> list[int]:
        """Kill the whole cohort and return the pids that outlived the deadline."""
        survivors = self._chase(deadline_s)
        self._may_run = bool(survivors)
        return survivors

    def _chase(self, deadline_s: float) -> list[int]:
        """Kill until a pass meets nobody, and return who outlived the deadline.

        /proc is read entry by entry, so a process that hops from pid to pid can be missed once,
        and a second strike costs about a millisecond.
        """
        end = time.monotonic() + deadline_s
        while True:
            self._strike()
            met_somebody = self.reap() > 0
            pass_end = time.monotonic() + PASS_INTERVAL_S
            while living := self._living():
                met_somebody = True
                if time.monotonic() >= min(pass_end, end):
                    break
                time.sleep(0.001)
                self.reap()
            # One that died between the reaping and the look was not seen living: report it too.
            met_somebody = self.reap() > 0 or met_somebody
            if not met_somebody:
                return []
            if time.monotonic() >= end:
                return living or [UNSEEN_PID]

    def leave(self) -> None:
        """Kill everybody and reap them: pid 1 may be slow to, and zombies count as processes."""
        self._launch_ids.clear()  # there is nobody left to report an exit to
        self.kill_cohort(FAREWELL_DEADLINE_S)
        self.reap()

    def _kill(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {"survivors": self.kill_cohort(request["deadline_s"])}

    def _interrupt(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send SIGUSR1 to a launched command; not reaped yet, it still owns its pid."""
        for pid in [pid for pid, launch in self._launch_ids.items() if launch == request["launch"]]:
            os.kill(pid, signal.SIGUSR1)
        return {}

    def _kill_newer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Kill the current command's tree; the whole cohort when that cannot be won in time."""
        since_s, keep = request["since_s"], set(request["keep"])
        if not ON_LINUX:
            return {"killed": self._strike_sessions(since_s, keep), "survivors": []}
        since_ticks = int(since_s * os.sysconf("SC_CLK_TCK"))
        end = time.monotonic() + request["deadline_s"]
        killed: set[tuple[int, int]] = set()
        survivors: list[int] = []
        quiet_passes = orphan_passes = 0
        while quiet_passes < QUIET_PASSES:
            if time.monotonic() >= end or orphan_passes >= ORPHAN_PASSES:
                survivors = self.kill_cohort(request["deadline_s"])
                break
            table = process_table.read_table()
            doomed = process_table.plan_kill_newer(table, os.getpid(), since_ticks, keep)
            for entry in doomed:
                process_table.kill_entry(entry)
                killed.add((entry.pid, entry.start_ticks))
            had_orphans = self.reap() > 0
            quiet_passes = 0 if doomed or had_orphans else quiet_passes + 1
            orphan_passes = orphan_passes + 1 if had_orphans and not doomed else 0
            time.sleep(0.002)
        return {"killed": len(killed), "survivors": survivors}


def run(supervisor: Supervisor, channel: socket.socket) -> None:
    """Serve until pytest is gone, then kill whoever is left."""
    wake_fd, signal_fd = os.pipe()
    os.set_blocking(signal_fd, False)
    signal.set_wakeup_fd(signal_fd, warn_on_full_buffer=False)
    # What comes in is read from the descriptor, and some of it means nothing to us.
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda *_: None)
    newborn.set_prctl(PR_SET_CHILD_SUBREAPER)
    newborn.prepare_launches()
    try:
        supervisor.serve(wake_fd)
    except ConnectionError:
        pass  # pytest was killed while it was being told something
    finally:
        channel.close()
        supervisor.leave()
        os._exit(0)  # what Python would tidy up now the kernel does faster


def main(arguments: Sequence[str]) -> None:
    """Serve one box."""
    channel = socket.socket(fileno=int(arguments[0]))
    run(Supervisor(channel, int(arguments[1]), int(arguments[2])), channel)


if __name__ == "__main__":
    main(sys.argv[1:])

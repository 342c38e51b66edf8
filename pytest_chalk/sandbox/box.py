"""The student's box: where its commands run, and how all of it is ended."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_chalk.errors import BoxError, ChalkError
from pytest_chalk.sandbox.command import Command, StudentProcess, student_environment
from pytest_chalk.sandbox.mounts import limit_file_system
from pytest_chalk.sandbox.removal import SWEEP_TIMEOUT_S
from pytest_chalk.sandbox.resources import Limits, default_limits
from pytest_chalk.sandbox.supervisor_link import MemoryLimit, SupervisorLink, wait_for_retired
from pytest_chalk.sandbox.view import view_of
from pytest_chalk.sandbox.workdir import (
    clear_used_mark,
    is_as_new,
    kill_cohort,
    make_anew,
    mark_used,
    raise_for_living,
    remove_outside_workdir,
    remove_private_folders,
    renew,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from pytest_chalk.sandbox.layout import BoxPaths, Level, Slot
    from pytest_chalk.schemas.hardware import Hardware

KILL_DEADLINE_S = 30.0
"""How long the student's processes may take to be gone: seconds of disk wait do happen, but what
takes half a minute is not going to end."""

COMMAND_KILL_DEADLINE_S = 2.0
"""How long one command's processes are chased singly before everything of the student is killed."""

CLOSE_DEADLINE_S = 5.0
"""How long the end of a run may be held up; the supervisor goes on killing for longer than that."""

_unclean: set[Slot] = set()
"""Slots whose last box could not be emptied when it was closed."""


class Box:
    """One student's box in one slot. Starts nothing until something is launched or killed."""

    def __init__(self, slot: Slot) -> None:
        """Make the box of `slot`; a slot that this process holds was cleaned when it was taken."""
        self.slot = slot
        self._owner_pid = os.getpid()
        self._link: SupervisorLink | None = None
        self._is_closed = False
        self._limits: Limits | None = None
        self._hardware: Hardware | None = None
        is_known = slot.locked and slot not in _unclean
        _unclean.discard(slot)
        # Whether something of the student may be there, and whether it may be running.
        self._was_used = not is_known
        self._may_run = not is_known and slot.separates_uids

    @property
    def level(self) -> Level:
        """How the student is kept apart."""
        return self.slot.level

    @property
    def limits(self) -> Limits:
        """What the student's processes may take together."""
        return self._limits or default_limits()

    def limit(self, limits: Limits) -> None:
        """Change the limits until the box is reset; of processes, for what is launched then.

        Raises:
            BoxError: The supervisor died.
        """
        self._limits = limits
        if self._link is not None:
            self._link.limit_memory(self._memory_limit())

    @property
    def reaped(self) -> list[str]:
        """Why all processes were killed, each time since the supervisor was started."""
        reports = self._link.reaped if self._link is not None else []
        return [f"{r['reaped']}: {r['limit'] // 1024**2} MiB were allowed" for r in reports]

    def equip(self, hardware: Hardware) -> None:
        """Give the box what its task requires, until it is reset.

        Raises:
            OSError: The workdir cannot have that size.
        """
        self._hardware = hardware
        if hardware.memory_bytes is not None:
            self.limit(replace(self.limits, memory_bytes=hardware.memory_bytes))
        if hardware.disk_bytes is not None and self.level == "isolated":
            self.limit_files(self.paths.workdir, hardware.disk_bytes, None)

    def limit_files(self, path: Path, size_bytes: int | None, count: int | None) -> None:
        """Change how much an isolated box's file system that holds `path` may hold; until reset.

        Raises:
            OSError: More is in use, or `path` is in none of the student's folders.
        """
        self._was_used = True  # what it is now is not what the next run is to find
        limit_file_system(self.slot, path, size_bytes, count)

    def _memory_limit(self) -> MemoryLimit:
        # As the supervisor sees them; the public ones are one file system.
        public = next(iter(self.slot.public_directories()))
        folders = (str(self.paths.workdir), str(public)) if self.level == "isolated" else ()
        return MemoryLimit(self.limits.memory_bytes, folders)

    @property
    def paths(self) -> BoxPaths:
        """The student's folders."""
        return self.slot.paths

    def prepare(self) -> None:
        """Start what the first command would start, and do not wait for it.

        What the student is to see of the machine is decided now.

        Raises:
            BoxError: It cannot be started.
        """
        if not self._is_closed:
            self._started_link()

    def launch(self, command: Command) -> StudentProcess:
        """Start a command as the student, in a session of its own, and return at once.

        Raises:
            OSError: The student cannot execute the program or enter the working directory.
            BoxError: The box is closed or broken. Not the student's doing.
        """
        if self._is_closed:
            raise BoxError("nothing can be launched in a box that was closed")
        link = self._started_link()
        if not self._may_run and self.slot.level in ("uid", "userns"):
            with suppress(FileNotFoundError):  # no slot was taken: there is no next holder either
                mark_used(self.slot)
        self._was_used = self._may_run = True
        given = self._hardware.env if self._hardware else {}
        environment = {**student_environment(self.paths.workdir), **given, **command.env}
        with ExitStack() as opened:
            standard = (command.stdin_fd, command.stdout_fd, command.stderr_fd)
            fds = {**dict(enumerate(standard)), **command.extra_fds}
            if None in standard:
                null_fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
                opened.callback(os.close, null_fd)
                fds = {number: null_fd if fd is None else fd for number, fd in fds.items()}
            ours = {number: fd for number, fd in fds.items() if fd is not None}
            cwd = command.cwd or self.paths.workdir
            shares = (self.limits.process_count, self._hardware.cpus if self._hardware else None)
            launch_id, pid = link.launch(command.argv, environment, cwd, ours, shares)
        return StudentProcess(link, launch_id, pid)

    def kill_processes(self, *, deadline_s: float = KILL_DEADLINE_S) -> None:
        """Kill every process of the student and return when none is left.

        At level `none` these are the processes started in this box and all their descendants.

        Raises:
            UnreapableCohortError: Some are left after `deadline_s`.
            BoxError: The supervisor had died. At level `uid` the processes are gone all the same.
        """
        author_may_have_started_some = self._was_used and self.slot.separates_uids
        if not self._may_run and not author_may_have_started_some:
            return
        if self.slot.has_own_view:
            self._kill_in_namespace(deadline_s)
        else:
            self._kill_by_uid(deadline_s)
        self._may_run = False

    def _kill_by_uid(self, deadline_s: float) -> None:
        try:
            living = self._started_link().kill_all(deadline_s)
        except BoxError:
            # A student may have broken its box on purpose: its processes are to go all the same.
            self._drop_link()
            living = self._started_link().kill_all(deadline_s)
            raise_for_living(living, self.slot.student_uid)
            self._may_run = False
            raise
        raise_for_living(living, self.slot.student_uid)

    def _kill_in_namespace(self, deadline_s: float) -> None:
        try:
            living = [] if self._link is None else self._link.kill_all(deadline_s)
        except BoxError:
            self._drop_link()  # nobody outlives pid 1 of the namespace
            kill_cohort(self.slot, deadline_s)
            self._may_run = False
            raise
        raise_for_living(living, self.slot.student_uid)
        kill_cohort(self.slot, deadline_s)  # what the author started as the student, outside

    def kill_started_since(self, boottime_s: float, *, keep: Collection[int] = ()) -> int:
        """Kill the current command's processes and return how many there were.

        These are the student's processes started since `boottime_s` (`clock_s()`, to 10 ms), but
        for the pids in `keep` and for what earlier processes other than those started. When they
        multiply faster than they can be killed one by one, everything of the student is killed.

        Raises:
            UnreapableCohortError: Not even that helped.
            BoxError: The supervisor died.
        """
        if self._link is None:
            return 0
        killed, living = self._link.kill_newer(boottime_s, keep, COMMAND_KILL_DEADLINE_S)
        raise_for_living(living, self.slot.student_uid)
        return killed

    def renew_ipc(self) -> None:
        """Remove the student's IPC objects, in a box with its own view whose processes are dead.

        Raises:
            BoxError: The supervisor died.
        """
        if self._link is not None and self.slot.has_own_view:
            self._link.renew_ipc()

    def reset(self) -> None:
        """Make the box as new: no process, no file of the student, an empty `data` and `shared`.

        Raises:
            UnreapableCohortError: A process could not be killed.
            ReclaimError: A file could not be removed.
            BoxError: The supervisor died, or a folder cannot be made.
        """
        self.kill_processes()
        self._remove_files()
        self._limits = self._hardware = None

    def close(self) -> None:
        """End the box, in whatever state it is; may be repeated. Never raises a ChalkError.

        What is not dead or gone after about 5 s each stays noted for the slot's next box. In a
        fork of the process that made the box nothing is ended: the student is not the fork's.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if os.getpid() != self._owner_pid:
            self._drop_link()
            return
        try:
            with suppress(BoxError):
                self.kill_processes(deadline_s=CLOSE_DEADLINE_S)
            self._remove_files(timeout_s=CLOSE_DEADLINE_S)
        except ChalkError:
            _unclean.add(self.slot)
        finally:
            self._drop_link()
            wait_for_retired()

    def _drop_link(self) -> None:
        if self._link is not None:
            self._link.stop()
            self._link = None

    def _started_link(self) -> SupervisorLink:
        if self._link is None:
            slot = self.slot
            student_uid = slot.student_uid if slot.separates_uids else None
            devices = self._hardware.devices if self._hardware else ()
            view = view_of(slot, devices) if slot.has_own_view else None
            memory = self._memory_limit()
            self._link = SupervisorLink(student_uid, slot.reaper_uid, view, memory)
        return self._link

    def _remove_files(self, *, timeout_s: float = SWEEP_TIMEOUT_S) -> None:
        remove_private_folders(self.slot)
        if self.slot.has_own_view and self._link is not None:
            # With its namespaces and all that is in them; nobody is alive there any more.
            link, self._link = self._link, None
            link.retire()
        if not self._was_used and is_as_new(self.slot):
            return
        try:
            if self.slot.level == "isolated":
                renew(self.slot)
            else:
                if self._was_used:
                    remove_outside_workdir(self.slot, timeout_s=timeout_s)
                make_anew(self.slot, timeout_s=timeout_s)
                clear_used_mark(self.slot)
        except OSError as error:
            message = f"the folders of the student's box cannot be made: {error}"
            raise BoxError(message) from error
        self._was_used = False

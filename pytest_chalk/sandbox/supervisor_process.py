"""A supervisor's process: how it is started, and how its end is awaited."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

from pytest_chalk.errors import BoxError

SUPERVISOR_FILE = Path(__file__).with_name("supervisor.py")
INIT_FILE = Path(__file__).with_name("box_init.py")

STOP_DEADLINE_S = 2.0
"""How long a supervisor whose socket was closed gets to leave by itself."""

_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""A Python with a shared library may not start without these; they hold no secret."""


class SupervisorProcess(Protocol):
    """A supervisor, whichever way it was started."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def ending(self) -> str:
        """Say how it ended; empty while it runs, or where nobody knows."""

    def kill(self) -> None:
        """Send it SIGKILL, if it still runs."""

    def await_end(self, timeout_s: float | None) -> bool:
        """Wait for its end, and reap it; False if it still runs."""

    def abandon(self) -> None:
        """Let go of it in a forked child, where it is nobody's child."""


class Start(NamedTuple):
    """What a supervisor is to be: with namespaces of its own or without, and for which uids."""

    own_view: bool
    student_uid: int
    reaper_uid: int


class SpawnedSupervisor:
    """A child of ours: a Python of its own."""

    def __init__(self, start: Start, channel_fd: int) -> None:
        file = INIT_FILE if start.own_view else SUPERVISOR_FILE
        uids = (str(start.student_uid), str(start.reaper_uid))
        self._process = run_python(file, channel_fd, *uids)
        self.pid = self._process.pid

    def ending(self) -> str:
        """Say how it ended; empty while it runs."""
        status = self._process.poll()
        return "" if status is None else f"exit status {status}"

    def kill(self) -> None:
        """Send it SIGKILL."""
        self._process.kill()

    def await_end(self, timeout_s: float | None) -> bool:
        """Wait for its end; False if it still runs."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def abandon(self) -> None:
        """Let go of it in a forked child."""
        self._process.returncode = 0  # or Popen would try to wait for a process that is no child


def end(process: SupervisorProcess) -> None:
    """Wait for a supervisor that is to leave by itself, and kill it when that takes too long."""
    if not process.await_end(STOP_DEADLINE_S):
        process.kill()
        process.await_end(None)


def supervisor_environment() -> dict[str, str]:
    """Return the whole environment of a supervisor: no secret may be in it."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {"PATH": os.defpath, "LANG": "C.UTF-8", **kept}


def run_python(file: Path, fd: int, *arguments: str) -> subprocess.Popen[bytes]:
    """Run a file of ours in a Python that knows nothing of us but one descriptor.

    Raises:
        BoxError: It cannot be started.
    """
    argv = [sys.executable, "-I", "-S", str(file), str(fd), *arguments]
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

"""What is launched in a box, and what it is afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_chalk.sandbox.supervisor_link import SupervisorLink

STUDENT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Never the harness's PATH: it may name a virtual environment that the student cannot read."""


@dataclass(frozen=True)
class Command:
    """One command of the student. Descriptors are ours and stay open on our side."""

    argv: tuple[str, ...]
    """The program, looked up in the student's PATH as the student, and its arguments."""

    stdin_fd: int | None = None
    """None is /dev/null, for each of the three."""

    stdout_fd: int | None = None
    stderr_fd: int | None = None
    extra_fds: Mapping[int, int] = field(default_factory=dict)
    """Further descriptors: number in the child → our number."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Added to, or instead of, the variables of `student_environment`. Nothing is inherited."""

    cwd: Path | None = None
    """None is the workdir."""


def student_environment(workdir: Path) -> dict[str, str]:
    """Return the whole environment a student's command gets by default."""
    return {
        "HOME": str(workdir),
        "USER": "student",
        "LOGNAME": "student",
        "PATH": STUDENT_PATH,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


class StudentProcess:
    """A command that was started in a box."""

    def __init__(self, link: SupervisorLink, launch_id: int, pid: int) -> None:
        self._link, self._launch_id = link, launch_id
        self.pid = pid
        """Its process id, which is also its session and process group."""

    @property
    def news_fd(self) -> int:
        """Readable when `poll` may have something new to say."""
        return self._link.fileno()

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal, or None while it runs.

        Raises:
            BoxError: The supervisor died, so nobody can know.
        """
        return self._link.find_exit(self._launch_id)

    def interrupt(self) -> None:
        """Send it SIGUSR1, which ends a command that does not expect it.

        Raises:
            BoxError: The supervisor died.
        """
        self._link.interrupt(self._launch_id)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Return what `poll` returns as soon as it is not None, or None after `timeout_s`.

        Raises:
            BoxError: The supervisor died, so nobody can know.
        """
        return self._link.find_exit(self._launch_id, timeout_s)

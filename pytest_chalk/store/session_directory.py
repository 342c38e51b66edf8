"""`.chalk/sessions/<id>/`: where one pytest session keeps what it measured."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path

from pytest_chalk.errors import MachineError, RunOptionError
from pytest_chalk.store.journal import is_in_use

_IGNORE_ALL = "# Results of pytest-chalk; not for version control.\n*\n"
_OURS = frozenset(
    {"sessions", "latest", "datasets", "owners", "store.db", "store.db-wal", "store.db-shm"}
)

NAME_MAX_CHARS = 160
"""Of a run's directory name. File systems take 255 bytes; a run id made of a task id, a model and
a hash stays below it."""

UNUSED_S = 24 * 3600.0
"""After the last change of a session without a journal, which may be about to get one."""


def new_session_id() -> str:
    """Return an id that sorts by time, to the millisecond, and is unique."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%S}.{now.microsecond // 1000:03}Z-{secrets.token_hex(3)}"


@lru_cache(maxsize=64)  # asked several times for each run
def file_name(text: str) -> str:
    """Return `text` as a part of a file name; where something had to go, a hash tells it apart."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")
    if safe == text and len(safe) <= NAME_MAX_CHARS:
        return safe or "x"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[: NAME_MAX_CHARS - 9]}-{digest}".lstrip("-")


@dataclass(frozen=True)
class SessionDirectory:
    """Paths of one session. Nothing is made until it is asked for; all of it is mode 0700.

    Attributes:
        base: `.chalk`, or what `--chalk-session-dir` names.
    """

    base: Path
    session_id: str

    @cached_property
    def path(self) -> Path:
        """The session's own directory."""
        return self.base / "sessions" / self.session_id

    @property
    def journal(self) -> Path:
        """The session's journal file."""
        return self.path / "journal.jsonl"

    def spending_path(self) -> Path:
        """Return the file of what the session's models have used; the directory it is in exists.

        Raises:
            MachineError: The directory cannot be made.
        """
        if not self.path.is_dir():
            self._make(self.path)
        return self.path / "spending.json"

    def run_directory(self, run_id: str) -> Path:
        """Return the directory of one run's submissions and artifacts, made if missing.

        Raises:
            MachineError: It cannot be made.
        """
        directory = self.run_path(run_id)
        try:
            directory.mkdir(mode=0o700)  # all above it are there, but for the first run
        except FileExistsError:
            return directory
        except OSError:
            self._make(directory)
        return directory

    def run_path(self, run_id: str) -> Path:
        """Return where the directory of one run is, or will be."""
        return self._runs / file_name(run_id)

    @cached_property
    def _runs(self) -> Path:
        return self.path / "runs"

    def transcript_path(self, run_id: str) -> Path:
        """Return the file for the transcript of one run; the directory it is in exists.

        It stands beside the run's directory, which most runs do not need.

        Raises:
            MachineError: The directory cannot be made.
        """
        if not os.path.isdir(self._runs):  # noqa: PTH112 - once a run, twice as fast
            self._make(self._runs)
        return self._runs / f"{file_name(run_id)}.jsonl"

    def open(self) -> None:
        """Make the directory, point `latest` to it, and keep git out of it.

        Raises:
            MachineError: It cannot be made.
        """
        self._make(self.path)
        with suppress(OSError):  # a convenience, and not every file system has links
            _point_latest(self.base, self.session_id)

    def prune(self, keep: int) -> None:
        """Remove all but the newest `keep` sessions, never this one nor one still running.

        Sessions of evaluations alone have no journal and do not count: they go with tasks'
        sessions of their time. Nothing tells whether they run, so they have a day at least.
        """
        sessions = self.base / "sessions"
        others = [name for name in reversed(session_ids(self.base)) if name != self.session_id]
        for name in others[max(0, keep - 1) :]:
            if not is_in_use(sessions / name / self.journal.name):
                shutil.rmtree(sessions / name, ignore_errors=True)
        oldest_kept = min([self.session_id, *session_ids(self.base)])
        for path in sessions.iterdir() if sessions.is_dir() else ():
            if path.name < oldest_kept and not (path / self.journal.name).exists():
                _remove_unused(path)

    def _make(self, directory: Path) -> None:
        """Make `directory` and what is missing above it."""
        try:
            make_base(self.base)
            # Level by level: with `parents=True` only the last one would get the mode.
            for above in reversed(directory.relative_to(self.base).parents):
                (self.base / above).mkdir(mode=0o700, exist_ok=True)
            directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            message = (
                f"session directory {str(self.path)!r} cannot be made: {error}. "
                "Free the disk or choose another place with --chalk-session-dir."
            )
            raise MachineError(message) from error


def _remove_unused(session: Path) -> None:
    """Remove a session without a journal, if it is one and nothing was written for a day."""
    with suppress(OSError):  # another process may remove it as well
        unused_s = datetime.now(UTC).timestamp() - session.stat().st_mtime
        if session.is_dir() and unused_s > UNUSED_S:
            shutil.rmtree(session, ignore_errors=True)


def find_session(base: Path, session_id: str = "") -> SessionDirectory:
    """Return a session that has a journal; the newest where no id is given.

    The beginning of an id will do where it is that of one session only.

    Raises:
        RunOptionError: There is none, or several begin so; names those that there are.
    """
    known = session_ids(base)
    fits = [name for name in known if name == session_id]
    fits = fits or [name for name in known if name.startswith(session_id)]
    if session_id in {"", "latest"}:
        fits = [name for name in known if name == _latest(base)] or known[-1:]
    if len(fits) == 1:
        return SessionDirectory(base, fits[0])
    if not known:
        raise RunOptionError(
            where="session",
            problem=f"there is no session in {str(base)!r}",
            fix="Run pytest on the tasks first, or name the directory of another project",
        )
    raise RunOptionError(
        where=f"session {session_id or 'latest'!r}",
        problem=f"{len(fits) or 'no'} session{'s' if fits else ''} of that name in {str(base)!r}",
        fix=f"Name one of: {', '.join(reversed(known))}",
    )


def _latest(base: Path) -> str:
    """Return the id of the session that was opened last; empty where that is not known."""
    with suppress(OSError):
        return (base / "latest").readlink().name
    return ""


def session_ids(base: Path) -> list[str]:
    """Return the ids of all sessions that have a journal, oldest first."""
    return sorted(path.parent.name for path in (base / "sessions").glob("*/journal.jsonl"))


def make_base(base: Path) -> None:
    """Make `.chalk`, readable for us alone and ignored by git.

    Raises:
        OSError: It cannot be made.
    """
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    _ignore_in_git(base)


def _ignore_in_git(base: Path) -> None:
    """Write a .gitignore that covers everything, unless the directory holds things of others."""
    if {path.name for path in base.iterdir()} <= _OURS:
        (base / ".gitignore").write_text(_IGNORE_ALL, encoding="utf-8")


def _point_latest(base: Path, session_id: str) -> None:
    """Replace the link in one step: two sessions may start at once."""
    link, fresh = base / "latest", base / f".latest-{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(Path("sessions") / session_id)
    fresh.replace(link)

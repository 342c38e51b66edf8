"""`.chalk/sessions/<id>/`: where one pytest session keeps what it measured."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pytest_chalk.errors import MachineError

_IGNORE_ALL = "# Results of pytest-chalk; not for version control.\n*\n"
_NAME_MAX_CHARS = 120
"""Of a run's directory name. File systems take 255 bytes; a run id has a hash and counters too."""


def new_session_id() -> str:
    """Return an id that sorts by time and is unique among sessions started in the same second."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def file_name(text: str) -> str:
    """Return `text` as a safe part of a file name; not unique by itself."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:_NAME_MAX_CHARS] or "x"


@dataclass(frozen=True)
class SessionDirectory:
    """Paths of one session. Nothing is made until it is asked for.

    Attributes:
        base: `.chalk`, or what `--chalk-session-dir` names.
    """

    base: Path
    session_id: str

    @property
    def path(self) -> Path:
        """The session's own directory."""
        return self.base / "sessions" / self.session_id

    @property
    def journal(self) -> Path:
        """The session's journal file."""
        return self.path / "journal.jsonl"

    def run_directory(self, run_id: str) -> Path:
        """Return the directory of one run, made if missing (mode 0700).

        Raises:
            MachineError: It cannot be made.
        """
        directory = self.path / "runs" / file_name(run_id)
        try:
            _make_private(self.base)
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MachineError(
                f"session directory {str(self.path)!r} cannot be made: {error}. "
                "Free the disk or choose another place with --chalk-session-dir."
            ) from error
        return directory

    def open(self) -> None:
        """Make the directory, point `latest` to it, and keep git out of it."""
        try:
            _make_private(self.base)
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _point_latest(self.base, self.session_id)
        except OSError as error:
            raise MachineError(
                f"session directory {str(self.path)!r} cannot be made: {error}. "
                "Free the disk or choose another place with --chalk-session-dir."
            ) from error

    def prune(self, keep: int) -> None:
        """Remove all but the newest `keep` sessions, never this one."""
        sessions = sorted((self.base / "sessions").iterdir(), reverse=True)
        for old in [s for s in sessions if s.name != self.session_id][max(0, keep - 1) :]:
            shutil.rmtree(old, ignore_errors=True)


def _make_private(base: Path) -> None:
    if base.is_dir():
        return
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    ignore = base / ".gitignore"
    if not ignore.exists():
        ignore.write_text(_IGNORE_ALL, encoding="utf-8")


def _point_latest(base: Path, session_id: str) -> None:
    """Replace the link in one step: two sessions may start at once."""
    link, fresh = base / "latest", base / f".latest-{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(Path("sessions") / session_id)
    fresh.replace(link)

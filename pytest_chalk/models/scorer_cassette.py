"""Recordings of scorers: conversations about the rows of a dataset, each by its own label.

Rows come and go, and runs are killed and go on, here or in several processes at once. So a file is
added to, label by label, and never begun anew.
"""

from __future__ import annotations

import bisect
import fcntl
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from pytest_chalk.errors import CassetteMissError
from pytest_chalk.models.cassette import STUDENT, Cassette, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_chalk.authoring.ports import Model


@dataclass
class ScorerCassette(Cassette):
    """`record` replaces the labels that are asked; `auto` asks, and adds, those it lacks."""

    @override
    def __post_init__(self) -> None:
        self._own: set[str] = set()
        self._seen: object = None
        super().__post_init__()
        self.replays = self.mode == "replay"

    @override
    def wrap(self, model: Model, border: str = STUDENT) -> Model:
        """Return a model for one conversation.

        Where fewer rows of that content were recorded, the others are told what the first was.
        """
        first, _, number = border.rpartition(" #")
        if self.replays and number.isdecimal() and border not in self._by_border:
            border = first
        return super().wrap(model, border)

    @override
    def plays(self, border: str) -> bool:
        return self.replays or (self.mode == "auto" and border in self._by_border)

    @override
    def _is_loaded(self, *, exists: bool) -> bool:
        return exists

    @override
    def _read(self) -> list[dict[str, Any]]:
        try:
            return sorted(super()._read(), key=place_of)
        except CassetteMissError:
            if self.mode == "record":
                return []  # what cannot be read is recorded anew
            raise

    @override
    def _insert(self, entry: dict[str, Any]) -> None:
        border = entry["border"]
        if not entry["turn"] and border in self._by_border:
            replaced = self._by_border.pop(border)  # neighbours, for turns are sorted by border
            start = bisect.bisect_left(self._entries, place_of(replaced[0]), key=place_of)
            del self._entries[start : start + len(replaced)]
        self._own.add(border)
        super()._insert(entry)

    @override
    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(self.path.parent):
            if _state(self.path) not in (None, self._seen):
                theirs = [e for e in self._read() if e["border"] not in self._own]
                ours = [e for e in self._entries if e["border"] in self._own]
                self._keep(sorted(theirs + ours, key=place_of))
            super()._write()
            self._seen = _state(self.path)


def _state(path: Path) -> object:
    """Return what tells one version of a file from another; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keep other processes out. The lock is on the directory: no file of it is left there."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)

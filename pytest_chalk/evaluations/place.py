"""Which store is meant: one for each `.chalk` directory, opened once per process."""

from __future__ import annotations

import atexit
import getpass
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.discovery.settings import find_session_base
from pytest_chalk.errors import EvaluationError
from pytest_chalk.store.cell_ledger import CellLedger
from pytest_chalk.store.evaluation_store import EvaluationStore
from pytest_chalk.store.owners import Owner
from pytest_chalk.store.run_ends import RunEnds
from pytest_chalk.store.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = threading.RLock()
_OPEN: dict[Path, Place] = {}
_CHOSEN: list[Path] = []
_LOADING: list[int] = []
"""Threads that load definitions."""


class Place:
    """A store, and this process as one that works on it.

    Attributes:
        store: Suites, datasets, definitions and runs.
        ledger: The cells of runs that have not ended.
        ends: How runs end.
        workers: The worker processes.
    """

    def __init__(self, base: Path) -> None:
        self.store = EvaluationStore(base)
        self.ledger = CellLedger(base, self.store.database)
        self.ends = RunEnds(base, self.store.database)
        self.workers = Workers(base, self.store.database)
        self._owner: Owner | None = None
        self._pid = 0

    def has_worker(self) -> bool:
        """Tell whether a worker process is there for `workflow` runs."""
        return self.workers.is_any_alive()

    @property
    def owner_id(self) -> str:
        """This process's id among those that lease work; taken at first use, and after a fork."""
        with _LOCK:
            if self._owner is None or self._pid != os.getpid():
                self._owner, self._pid = Owner(self.store.base), os.getpid()
                atexit.register(self._owner.release)
            return self._owner.id


def current_place() -> Place:
    """Return the store of this process: the one chosen with `use_store`, else the project's.

    The project's is `CHALK_SESSION_DIR`, ini `chalk_session_dir`, or `.chalk` in its root.

    Raises:
        MachineError: It cannot be opened.
        EvaluationError: Definitions are being loaded, and the script runs more than these.
    """
    if threading.get_ident() in _LOADING:
        where, problem = "script", "it uses evaluations while its definitions are loaded"
        fix = 'Put what runs under `if __name__ == "__main__":`'
        raise EvaluationError(where, problem, fix=fix)
    return open_place(_CHOSEN[-1] if _CHOSEN else find_session_base())


def place_or_current(place: Place | None) -> Place:
    """Return the store of a handle; one that was made by hand has that of the process."""
    return current_place() if place is None else place


@contextmanager
def loading_definitions() -> Iterator[None]:
    """Forbid the use of stores while a script's definitions are loaded: it would run for ever."""
    _LOADING.append(threading.get_ident())
    try:
        yield
    finally:
        _LOADING.pop()


def open_place(base: Path) -> Place:
    """Return the store in `base`, opened at the first call."""
    base = base.absolute()
    with _LOCK:
        if base not in _OPEN:
            _OPEN[base] = Place(base)
        return _OPEN[base]


def use_store(base: str | os.PathLike[str] | None) -> None:
    """Work on the store in `base` from now on in this process; None for the project's again."""
    _CHOSEN[:] = [] if base is None else [Path(base).absolute()]


def created_by() -> str:
    """Return who this is: `CHALK_CREATED_BY`, the actor of a CI job, or user and host."""
    for variable in ("CHALK_CREATED_BY", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        if os.environ.get(variable):
            return os.environ[variable]
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid{os.getuid()}"
    return f"{user}@{os.uname().nodename}"

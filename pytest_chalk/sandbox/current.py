"""The one student run of this process, for the functions that task code calls without naming it."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox.view import hidden

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from pytest_chalk.sandbox.box import Box


@dataclass(frozen=True)
class CurrentRun:
    """Where the run's student lives and where what it hands in is kept."""

    box: Box
    artifacts_dir: Path
    submissions_dir: Path
    save_submission_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Options of `save_submission` that hold for every submission the run collects."""

    keeps_artifacts: bool = True
    """False by the run config's `save_artifacts`. Submissions are kept all the same: judges need
    them, and whoever judges again."""

    is_judged_again: bool = False
    """The student is long gone: what it handed in then is found, not collected."""

    collected: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Numbers of what is found again, in the order in which it was collected."""


_runs: list[CurrentRun] = []


@contextmanager
def enter_run(run: CurrentRun) -> Iterator[CurrentRun]:
    """Make `run` the current one until the block ends.

    Raises:
        BoxError: There is one already: a process has one slot, hence one student at a time.
    """
    if _runs:
        raise BoxError("a student is running in this process already. Use another process")
    _runs.append(run)
    try:
        with hidden(run.artifacts_dir, run.submissions_dir):
            yield run
    finally:
        _runs.remove(run)


def find_run() -> CurrentRun | None:
    """Return the current run, None outside of one."""
    return _runs[0] if _runs else None

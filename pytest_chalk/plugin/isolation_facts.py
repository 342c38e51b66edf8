"""What held the students of a session, as its JUnit file and its journal say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.sandbox import LEVELS, asked_level, enforced, not_enforced

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_chalk.schemas.record import RunRecord


def isolation_facts(runs: Iterable[RunRecord]) -> dict[str, str]:
    """Return what was asked for, and what was enforced on every run and what was not on some.

    Properties by name, for the suite of a JUnit file; lists are separated by commas.
    """
    used = {run.isolation for run in runs}
    levels = [level for level in LEVELS if level in used]
    on_every_run = [
        name
        for name in (enforced(levels[0]) if levels else ())
        if all(name in enforced(level) for level in levels)
    ]
    on_some_not = dict.fromkeys(name for level in levels for name in not_enforced(level))
    return {
        "chalk.isolation.asked": asked_level()[0],
        "chalk.isolation.enforced": ",".join(on_every_run),
        "chalk.isolation.not_enforced": ",".join(on_some_not),
    }

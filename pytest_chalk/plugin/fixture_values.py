"""What our fixtures return, and how task items get it where nobody overrides them.

Apart from the fixtures themselves, which are loaded in every pytest run.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.running import run_config_for, student_seat
from pytest_chalk.plugin.seat import Submissions
from pytest_chalk.plugin.state import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chalk.plugin.items import TaskItem
    from pytest_chalk.runner.students import Student
    from pytest_chalk.schemas.run_config import RunConfig

OUR_FIXTURES = "pytest_chalk.plugin.fixtures"
"""Where our own are defined; any others of these names are a conftest's."""

_FILLED_IN = ("chalk_model", "chalk_student", "chalk_run_config", "chalk_submissions")

_RUN_CONFIG = pytest.StashKey[tuple[int, "RunConfig"]]()
"""The run config of an item's latest attempt, with the attempt: hooks are asked once for each."""


def is_ours(name: str, function: pytest.Function) -> bool:
    """Tell whether a test has our fixture of that name: nobody overrides it where the test is."""
    found = function._fixtureinfo.name2fixturedefs.get(name)  # noqa: SLF001 - no public way exists
    return found is not None and len(found) > 0 and found[-1].func.__module__ == OUR_FIXTURES


@contextmanager
def filled_in(item: TaskItem) -> Iterator[None]:
    """Put the values of our fixtures into `item.funcargs` around its set-up, if they are ours.

    Pytest leaves alone what it finds there. Making the values takes little but its machinery: a
    fifth of the time of a short run. Where it shows its fixtures, it makes them.
    """
    shows = item.config.getoption("setupshow", default=False)
    ours = [] if shows else [name for name in _FILLED_IN if is_ours(name, item)]
    values: dict[str, Any] = item.funcargs
    values.update(dict.fromkeys(ours))
    yield
    if "chalk_model" in ours:
        values["chalk_model"] = make_model(item.config, str(item.callspec.params["chalk_model"]))
    if "chalk_student" in ours:
        values["chalk_student"] = student_seat()
    if "chalk_run_config" in ours:
        values["chalk_run_config"] = make_run_config(item, values["chalk_model"])
    if "chalk_submissions" in ours:
        values["chalk_submissions"] = make_submissions(item.config, values["chalk_run_config"])


def make_model(config: pytest.Config, name: str) -> Student:
    """Return the student of that name."""
    return config.stash[STATE].student(name)


def make_run_config(node: pytest.Item, student: Student) -> RunConfig:
    """Return the run config of an item's attempt, the same each time."""
    attempt = getattr(node, "attempts", 0)
    known_attempt, known = node.stash.get(_RUN_CONFIG, (-1, None))
    if known is not None and known_attempt == attempt:
        return known
    made = run_config_for(node, student)
    node.stash[_RUN_CONFIG] = attempt, made
    return made


def make_submissions(config: pytest.Config, run_config: RunConfig) -> Submissions:
    """Return where a run's submissions go, under the usual limits."""
    directory = config.stash[STATE].directory.run_path(run_config.run_id)
    return Submissions(directory / "submissions")

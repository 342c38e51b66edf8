"""What our fixtures return, and how task items get it where nobody overrides them.

Apart from the fixtures themselves, which are loaded in every pytest run.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.running import run_config_for, student_seat
from pytest_chalk.plugin.seat import Submissions
from pytest_chalk.plugin.state import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_chalk.plugin.items import TaskItem
    from pytest_chalk.runner.students import Student
    from pytest_chalk.schemas.run_config import RunConfig

OUR_FIXTURES = "pytest_chalk.plugin.fixtures"
"""Where our own are defined; any others of these names are a conftest's."""

ALWAYS_NAMED = ("request", "subtests", "chalk_model")
FILLED_IN = ("chalk_student", "chalk_run_config", "chalk_submissions")
"""What every task item needs. The first are asked of pytest, the others only where a conftest has
one of its own: making the values takes little but pytest's machinery, a fifth of a short run."""

_RUN_CONFIG = pytest.StashKey[tuple[int, "RunConfig"]]()
"""The run config of an item's latest attempt, with the attempt: hooks are asked once for each."""


def is_ours(name: str, function: pytest.Function) -> bool:
    """Tell whether a test has our fixture of that name: nobody overrides it where the test is."""
    found = function._fixtureinfo.name2fixturedefs.get(name)  # noqa: SLF001 - no public way exists
    return found is not None and len(found) > 0 and _are_ours(found)


def _are_ours(definitions: Sequence[pytest.FixtureDef[Any]]) -> bool:
    return definitions[-1].func.__module__ == OUR_FIXTURES


def fixture_names(module: pytest.Module) -> tuple[str, ...]:
    """Return the fixtures that the tasks of a module ask pytest for, where it shows them, all."""
    if module.config.getoption("setupshow", default=False):
        return ALWAYS_NAMED + FILLED_IN
    manager = module.session._fixturemanager  # noqa: SLF001 - no public way exists
    found = {name: manager.getfixturedefs(name, module) for name in FILLED_IN}
    overridden = (n for n, defs in found.items() if defs and not _are_ours(defs))
    return (*ALWAYS_NAMED, *overridden)


@contextmanager
def filled_in(item: TaskItem) -> Iterator[None]:
    """Put those values into `item.funcargs` around its set-up that pytest does not put there.

    It leaves alone what it finds there, such as the student's name, which is but a parameter.
    """
    values: dict[str, Any] = item.funcargs
    shows = item.config.getoption("setupshow", default=False)
    model_is_ours = not shows and is_ours("chalk_model", item)
    if model_is_ours:
        values["chalk_model"] = None
    yield
    if model_is_ours:
        values["chalk_model"] = make_model(item.config, str(item.callspec.params["chalk_model"]))
    if "chalk_student" not in values:
        values["chalk_student"] = student_seat()
    if "chalk_run_config" not in values:
        values["chalk_run_config"] = make_run_config(item, values["chalk_model"])
    if "chalk_submissions" not in values:
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


def forget_run_config(item: pytest.Item) -> None:
    """Let go of the run config: pytest keeps its items to the end."""
    with suppress(KeyError):
        del item.stash[_RUN_CONFIG]


def make_submissions(config: pytest.Config, run_config: RunConfig) -> Submissions:
    """Return where a run's submissions go, under the usual limits."""
    directory = config.stash[STATE].directory.run_path(run_config.run_id)
    return Submissions(directory / "submissions")

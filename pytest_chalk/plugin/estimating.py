"""`--collect-only --chalk-estimate`: what a session would take and cost, before it is begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.items import TaskItem, epoch_of
from pytest_chalk.plugin.state import only_looks
from pytest_chalk.reports.epochs import group_of
from pytest_chalk.reports.estimate import by_group, render_estimate
from pytest_chalk.store.history import read_history

if TYPE_CHECKING:
    from pytest_chalk.plugin.result_settings import ResultSettings
    from pytest_chalk.plugin.state import ChalkState


def check_estimate(config: pytest.Config, asked: ResultSettings) -> None:
    """Raise RunOptionError if it is asked for where there is none: it comes before the money."""
    if asked.estimate and not only_looks(config):
        raise RunOptionError(
            "--chalk-estimate",
            "is about a session that has not begun",
            fix="Give it with --collect-only",
        )
    others = {"--chalk-validate": asked.validate, "--chalk-rejudge": bool(asked.rejudge)}
    for option in [name for name, is_given in others.items() if is_given and asked.estimate]:
        raise RunOptionError(
            "--chalk-estimate",
            f"is about what students do, and with {option} they do nothing",
            fix="Leave out one of the two",
        )


class Estimate:
    """Prints the estimate after the list of what was collected."""

    def __init__(self, state: ChalkState) -> None:
        self._state = state
        self._planned: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take note of what would run."""
        tasks = [item for item in session.items if isinstance(item, TaskItem)]
        self._planned = [group_of(item.nodeid, epoch_of(item)) for item in tasks]

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print it."""
        base = self._state.settings.session_base
        past = list(read_history(base))
        sessions = len({run.session_id for run in past})
        workers = _workers(self._state.config)
        terminalreporter.section("chalk estimate")
        terminalreporter.line(
            f"by the means of {len(past)} runs in {sessions} earlier session"
            f"{'' if sessions == 1 else 's'} in {base}"
        )
        lines = render_estimate(self._planned, by_group(past), workers)
        for line in lines if self._planned else ["no tasks are selected"]:
            terminalreporter.line(line)


def _workers(config: pytest.Config) -> int:
    """Return how many workers xdist would start; 0 where it would start none, or is not there."""
    if config.getoption("dist", default="no") == "no":
        return 0
    specs = [spec.partition("*") for spec in config.getoption("tx") or ()]  # `popen`, `2*popen`
    return sum(int(count) if star and count.isdecimal() else 1 for count, star, _ in specs)

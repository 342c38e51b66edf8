"""Registers what not every session has: epochs, resuming, comparing, somebody who watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.plugin.auto_epochs import AutoEpochs
from pytest_chalk.plugin.dealing import DealingController, LongestFirst
from pytest_chalk.plugin.estimating import Estimate
from pytest_chalk.plugin.live import register_live, watched_file
from pytest_chalk.plugin.marker import DECLARATION
from pytest_chalk.plugin.ordinary_tests import OrdinaryTests
from pytest_chalk.plugin.rejudging import RejudgeReport
from pytest_chalk.plugin.resuming import Resuming

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.plugin.baseline import Baseline
    from pytest_chalk.plugin.state import ChalkState


def register_everywhere(config: pytest.Config, state: ChalkState) -> None:
    """Register what every process needs that collects."""
    config.addinivalue_line("markers", DECLARATION)
    config.pluginmanager.register(AutoEpochs(config), "chalk-auto-epochs")
    state.running = watched_file(state)
    config.add_cleanup(state.running.close)  # of a worker; `Live` closes the other one
    config.pluginmanager.register(LongestFirst(state), "chalk-longest-first")
    if state.resumed is not None:
        config.pluginmanager.register(Resuming(state.resumed), "chalk-resuming")


def register_in_controller(
    config: pytest.Config,
    account: SessionAccount,
    baseline: Baseline | None,
    is_task_nodeid: Callable[[str], bool],
) -> None:
    """Register what looks at the session as a whole."""
    register = config.pluginmanager.register
    register(OrdinaryTests(config, account), "chalk-ordinary-tests")
    register_live(config, account)
    register(DealingController(account.state, is_task_nodeid), "chalk-dealing")
    if account.state.settings.results.estimate and config.getoption("collectonly"):
        register(Estimate(account.state), "chalk-estimate")
    rejudged = account.state.rejudged
    if rejudged is not None:
        report = RejudgeReport(rejudged)
        register(report, "chalk-rejudge")
        account.checks.append(report.take)
    if baseline is not None:
        register(baseline, "chalk-baseline")
        account.checks.append(baseline.problems)

"""Registers what not every session has: epochs, resuming, comparing, somebody who watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.plugin.auto_epochs import AutoEpochs
from pytest_chalk.plugin.live import register_live, watched_file
from pytest_chalk.plugin.marker import DECLARATION
from pytest_chalk.plugin.rejudging import RejudgeReport
from pytest_chalk.plugin.resuming import Resuming

if TYPE_CHECKING:
    import pytest

    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.plugin.baseline import Baseline
    from pytest_chalk.plugin.state import ChalkState


def register_everywhere(config: pytest.Config, state: ChalkState) -> None:
    """Register what every process needs that collects."""
    config.addinivalue_line("markers", DECLARATION)
    config.pluginmanager.register(AutoEpochs(config), "chalk-auto-epochs")
    state.running = watched_file(state)
    if state.resumed is not None:
        config.pluginmanager.register(Resuming(state.resumed), "chalk-resuming")


def register_in_controller(
    config: pytest.Config, account: SessionAccount, baseline: Baseline | None
) -> None:
    """Register what looks at the session as a whole."""
    register_live(config, account)
    rejudged = account.state.rejudged
    if rejudged is not None:
        report = RejudgeReport(rejudged)
        config.pluginmanager.register(report, "chalk-rejudge")
        account.checks.append(report.take)
    if baseline is not None:
        config.pluginmanager.register(baseline, "chalk-baseline")
        account.checks.append(baseline.problems)

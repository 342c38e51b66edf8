"""What the terminal shows of tasks: words with scores, the table, and what the gate says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.errors import MachineError
from pytest_chalk.plugin.report_data import ITEM_ATTRIBUTE
from pytest_chalk.plugin.validating import print_notes
from pytest_chalk.plugin.words import find_status
from pytest_chalk.reports.epoch_summary import UNDEFINED, overall_interval, render_epochs
from pytest_chalk.reports.score_table import render_score_table

if TYPE_CHECKING:
    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.plugin.gate import GateVerdict
    from pytest_chalk.plugin.words import Status


class Terminal:
    """Writes through pytest's own reporter."""

    def __init__(self, config: pytest.Config, account: SessionAccount) -> None:
        self._config, self._account = config, account
        self._in_summary = False
        self._is_verbose = config.get_verbosity(pytest.Config.VERBOSITY_SUBTESTS) > 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> Status | None:  # noqa: ANN401 - any report
        """Show scores; also for reports whose outcome the gate `mean` has changed."""
        if not hasattr(report, ITEM_ATTRIBUTE):
            return None
        return find_status(report, verbose=self._is_verbose, plain=self._in_summary)

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of scores and what the gate says."""
        self._in_summary = True
        verdict, runs = self._account.verdict, self._account.ledger.runs
        if verdict is None or not self._account.ledger.accounts:
            return
        if runs:
            terminalreporter.section("chalk scores")
            for line in render_score_table(runs):
                terminalreporter.line(line)
        self._print_totals(terminalreporter, verdict)

    def _print_totals(self, terminal: pytest.TerminalReporter, verdict: GateVerdict) -> None:
        runs = self._account.ledger.planned_runs
        if verdict.mean is not None:
            partial = sum(step.partial for run in runs for step in run.steps)
            note = f", {partial} step{'s' if partial != 1 else ''} partial" if partial else ""
            interval = overall_interval(runs)
            sure = f", 95 % {interval}" if interval != UNDEFINED else ""
            terminal.line(
                f"mean {verdict.mean:.3f} over {verdict.scored} scored of {verdict.planned}"
                f"{sure}{note}"
            )
            for line in render_epochs(runs):
                terminal.line(line)
        budget = self._account.state.settings.budget
        if budget.is_bound:
            left_out = sum(run.outcome == "not_run" for run in runs)
            note = f"; {left_out} run{'s' if left_out != 1 else ''} not run" if left_out else ""
            terminal.line(f"budget: {self._spent()}{note}")
        print_notes(terminal, runs)
        for run in runs:
            if run.outcome == "misbehaved":
                terminal.line(f"MISBEHAVED {run.nodeid}: {run.reason}", red=True)
        if self._account.has_records:
            terminal.line(f"records: {self._shown_path()}")
        for problem in verdict.problems:
            terminal.line(f"FAIL chalk: {problem}", red=True, bold=True)

    def _shown_path(self) -> str:
        """Return the session's directory as a person would type it here."""
        path, here = self._account.state.directory.path, self._config.invocation_params.dir
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    def _spent(self) -> str:
        state = self._account.state
        try:
            return f"{state.settings.budget.describe(state.purse.total())} spent"
        except MachineError as error:
            return str(error)

"""The controller: sees every report of the session, whichever process made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.errors import MachineError
from pytest_chalk.plugin.header import render_plan
from pytest_chalk.plugin.items import TaskItem
from pytest_chalk.plugin.node_id import model_in
from pytest_chalk.plugin.project import SESSION_KEY
from pytest_chalk.plugin.replay import REPLAY_KEY, find_replay
from pytest_chalk.plugin.report_data import ITEM_ATTRIBUTE, RUN_ATTRIBUTE, STEP_ATTRIBUTE
from pytest_chalk.plugin.resuming import restore
from pytest_chalk.plugin.state import only_looks
from pytest_chalk.sandbox.own_process import interrupt_children
from pytest_chalk.schemas.record import RunRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.schemas.record import StepRecord


class Controller:
    """Feeds the account, and sets the exit status by its verdict."""

    def __init__(
        self,
        config: pytest.Config,
        account: SessionAccount,
        is_task_nodeid: Callable[[str], bool],
    ) -> None:
        self._config, self._account = config, account
        self._is_task_nodeid = is_task_nodeid

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist exports no type
        """Give a worker of xdist the session's id, and how pytest was started."""
        state = self._account.state
        node.workerinput[SESSION_KEY] = state.directory.session_id
        node.workerinput[REPLAY_KEY] = tuple(find_replay(state))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Take hold of a session that is resumed, before anything of it runs twice."""
        if self._account.state.resumed is not None and not only_looks(self._config):
            try:
                self._account.open()
            except MachineError as error:
                raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take note of what is to run in this process."""
        if not only_looks(self._config):
            tasks = [item for item in session.items if isinstance(item, TaskItem)]
            self._plan([item.nodeid for item in tasks], {t.nodeid: t.task_class.id for t in tasks})

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Say how much is to run, before anything is sent."""
        nodeids = [item.nodeid for item in items if isinstance(item, TaskItem)]
        return self._announcement(nodeids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Take note of what is to run in workers, and say it once."""
        nodeids = [nodeid for nodeid in ids if self._is_task_nodeid(nodeid)]
        is_first = not self._account.ledger.accounts
        self._plan(nodeids, {})
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if is_first and terminal is not None and self._config.get_verbosity() >= 0:
            terminal.ensure_newline()
            for line in self._announcement(nodeids):
                terminal.write_line(line)

    def _announcement(self, nodeids: Sequence[str]) -> list[str]:
        if not nodeids or only_looks(self._config):
            return []
        settings = self._account.state.settings
        return [render_plan(settings, [model_in(nodeid, settings.models) for nodeid in nodeids])]

    def _plan(self, nodeids: Sequence[str], task_ids: Mapping[str, str]) -> None:
        resumed = self._account.state.resumed
        if resumed is not None and resumed.log is not None:
            restore(self._account.ledger, resumed.log, frozenset(nodeids))
        self._account.ledger.plan(nodeids, self._account.state.settings.models, task_ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what a report brings; under the gate `mean` no task fails by itself."""
        if not hasattr(report, ITEM_ATTRIBUTE) and report.nodeid not in self._account.ledger:
            return
        record = self._take(report)
        if isinstance(record, RunRecord) and not hasattr(report, RUN_ATTRIBUTE):
            # A worker's death has no data of its own: show it as the error that it is.
            setattr(report, ITEM_ATTRIBUTE, {"task_id": record.task_id})
            setattr(report, RUN_ATTRIBUTE, record)
        if report.failed and report.when != "teardown" and self._is_tolerated(report):
            report.outcome = "passed"

    def _is_tolerated(self, report: pytest.TestReport) -> bool:
        """Tell whether this failure alone fails nothing: a mean decides, or several runs do."""
        if not self._account.state.settings.gate.each:
            return True
        record = getattr(report, RUN_ATTRIBUTE, None) or getattr(report, STEP_ATTRIBUTE, None)
        about = getattr(report, ITEM_ATTRIBUTE, {})
        return "bars" in about and record is not None and record.outcome == "failed"

    def _take(self, report: pytest.TestReport) -> StepRecord | RunRecord | None:
        try:
            return self._account.take(report)
        except MachineError as error:
            # Going on would spend money on results that are lost.
            pytest.exit(str(error), returncode=pytest.ExitCode.TESTS_FAILED)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge the session when everything has run: exit status 1 where the gate says no."""
        came = yield
        if not only_looks(self._config):
            verdict = self._account.judge()
            if self._account.state.resumed is not None:
                # Nothing left to run is no "no tests ran": the gate has judged what there is.
                session.testscollected = session.testscollected or verdict.planned
            if verdict.problems and not session.testsfailed:
                session.testsfailed = 1  # as pytest-cov does: later is too late for other plugins
        return came

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt workers too; xdist itself would leave them running for seconds."""
        interrupt_children(self._account.ledger.pids)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, None, None]:
        """Close the account, also after an interrupt."""
        if not only_looks(self._config):
            self._account.judge()
        yield
        try:
            self._account.close(int(exitstatus))
        except MachineError as error:  # the summary is printed: say it all the same
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._config.get_terminal_writer().line(f"FAIL chalk: {error}", red=True, bold=True)

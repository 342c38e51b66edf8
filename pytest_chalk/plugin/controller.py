"""The controller: sees every report of the session, whichever process made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.items import TaskItem
from pytest_chalk.plugin.report_data import ITEM_ATTRIBUTE, RUN_ATTRIBUTE
from pytest_chalk.plugin.state import SESSION_KEY, only_looks
from pytest_chalk.sandbox.own_process import interrupt_children
from pytest_chalk.schemas.record import RunRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from pytest_chalk.plugin.account import SessionAccount


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
        """Give a worker of xdist the session's id."""
        node.workerinput[SESSION_KEY] = self._account.state.directory.session_id

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take note of what is to run in this process."""
        if not only_looks(self._config):
            tasks = [item for item in session.items if isinstance(item, TaskItem)]
            self._plan([item.nodeid for item in tasks], {t.nodeid: t.task_class.id for t in tasks})

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Take note of what is to run in workers."""
        self._plan([nodeid for nodeid in ids if self._is_task_nodeid(nodeid)], {})

    def _plan(self, nodeids: Sequence[str], task_ids: Mapping[str, str]) -> None:
        self._account.ledger.plan(nodeids, self._account.state.settings.models, task_ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what a report brings; under the gate `mean` no task fails by itself."""
        if not hasattr(report, ITEM_ATTRIBUTE) and report.nodeid not in self._account.ledger:
            return
        record = self._account.take(report)
        if isinstance(record, RunRecord) and not hasattr(report, RUN_ATTRIBUTE):
            # A worker's death has no data of its own: show it as the error that it is.
            setattr(report, ITEM_ATTRIBUTE, {"task_id": record.task_id})
            setattr(report, RUN_ATTRIBUTE, record.model_dump(mode="json"))
        gate = self._account.state.settings.gate
        if not gate.each and report.failed and report.when != "teardown":
            report.outcome = "passed"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge the session when everything has run: exit status 1 where the gate says no."""
        came = yield
        if not only_looks(self._config):
            verdict = self._account.judge()
            if verdict.problems and not session.testsfailed:
                session.testsfailed = 1  # as pytest-cov does: later is too late for other plugins
        return came

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt workers too; xdist itself would leave them running for seconds."""
        interrupt_children(self._account.ledger.pids)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, exitstatus: int) -> Generator[None, None, None]:
        """Close the account, also after an interrupt."""
        if not only_looks(self._config):
            self._account.judge()
        yield
        self._account.close(int(exitstatus))

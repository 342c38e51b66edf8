"""The controller: journal, gate, JUnit and the terminal's summary, from reports alone."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.gate import GateVerdict, judge_session
from pytest_chalk.plugin.items import TaskItem
from pytest_chalk.plugin.ledger import Ledger
from pytest_chalk.plugin.report_data import ITEM_ATTRIBUTE, RUN_ATTRIBUTE
from pytest_chalk.plugin.state import SESSION_KEY, STATE, only_looks
from pytest_chalk.plugin.words import find_status
from pytest_chalk.reports.junit import JunitCase, JunitStyle, rewrite_junit
from pytest_chalk.reports.score_table import render_score_table
from pytest_chalk.sandbox.own_process import interrupt_children
from pytest_chalk.schemas.record import RunRecord, StepRecord
from pytest_chalk.store.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from pytest_chalk.plugin.ledger import ItemAccount
    from pytest_chalk.plugin.words import Status

INTERRUPTED = "the session ended before a verdict"


class Controller:
    """Sees every report of the session, whichever process made it."""

    def __init__(self, config: pytest.Config, is_task_nodeid: Callable[[str], bool]) -> None:
        self._config = config
        self._state = config.stash[STATE]
        self._is_task_nodeid = is_task_nodeid
        self._ledger = Ledger()
        self._journal: Journal | None = None
        self._verdict: GateVerdict | None = None
        self._in_summary = False

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist exports no type
        """Give a worker of xdist the session's id."""
        node.workerinput[SESSION_KEY] = self._state.directory.session_id

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
        self._ledger.plan(nodeids, self._state.settings.models, task_ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down what a report brings; under the gate `mean` no task fails by itself."""
        if not hasattr(report, ITEM_ATTRIBUTE) and report.nodeid not in self._ledger:
            return
        record = self._ledger.take(report)
        if record is not None:
            self._write(record, report.nodeid)
        if isinstance(record, RunRecord) and not hasattr(report, RUN_ATTRIBUTE):
            # A worker's death has no data of its own: show it as the error that it is.
            setattr(report, ITEM_ATTRIBUTE, {"task_id": record.task_id})
            setattr(report, RUN_ATTRIBUTE, record.model_dump(mode="json"))
        if not self._state.settings.gate.each and report.failed and report.when != "teardown":
            report.outcome = "passed"

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> Status | None:  # noqa: ANN401 - any report
        """Show scores; also for reports whose outcome the gate `mean` has changed."""
        if not hasattr(report, ITEM_ATTRIBUTE):
            return None
        verbose = self._config.get_verbosity(pytest.Config.VERBOSITY_SUBTESTS) > 0
        return find_status(report, verbose=verbose, plain=self._in_summary)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge the session when everything has run: exit status 1 where the gate says no."""
        came = yield
        if not only_looks(self._config):
            self._judge()
            if self._verdict is not None and self._verdict.problems and not session.testsfailed:
                session.testsfailed = 1  # as pytest-cov does: later is too late for other plugins
        return came

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Interrupt workers too; xdist itself would leave them running for seconds."""
        interrupt_children(self._ledger.pids)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, exitstatus: int) -> Generator[None, None, None]:
        """Close the accounts, also after an interrupt, and rewrite the JUnit file."""
        self._judge()
        yield
        if self._ledger.accounts and not only_looks(self._config):
            self._rewrite_junit()
        if self._journal is not None:
            self._journal.append("session_finished", {"exit_status": int(exitstatus)}, sync=True)
            self._journal.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table of scores and what the gate says."""
        self._in_summary = True
        if self._verdict is None or not self._ledger.accounts:
            return
        runs = self._ledger.runs
        if runs:
            terminalreporter.section("chalk scores")
            for line in render_score_table(runs):
                terminalreporter.line(line)
        self._print_totals(terminalreporter)

    def _print_totals(self, terminal: pytest.TerminalReporter) -> None:
        verdict = self._verdict
        if verdict is None:
            return
        if verdict.mean is not None:
            partial = sum(step.partial for run in self._ledger.planned_runs for step in run.steps)
            note = f", {partial} step{'s' if partial != 1 else ''} partial" if partial else ""
            terminal.line(
                f"mean {verdict.mean:.3f} over {verdict.scored} scored of {verdict.planned}{note}"
            )
        misbehaved = [run for run in self._ledger.planned_runs if run.outcome == "misbehaved"]
        for run in misbehaved:
            terminal.line(f"MISBEHAVED {run.nodeid}: {run.reason}", red=True)
        if self._journal is not None:
            terminal.line(f"records: {self._shown_path()}")
        for problem in verdict.problems:
            terminal.line(f"FAIL chalk: {problem}", red=True, bold=True)

    def _shown_path(self) -> str:
        """Return the session's directory as a person would type it here."""
        path, here = self._state.directory.path, self._config.invocation_params.dir
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    def _judge(self) -> None:
        if self._verdict is not None or only_looks(self._config):
            return
        for record in self._ledger.close(INTERRUPTED):
            self._write(record, record.nodeid)
        self._verdict = judge_session(
            self._state.settings.gate,
            self._ledger.planned_runs,
            selected=sum(not account.skipped_by_mark for account in self._ledger.accounts),
        )

    def _write(self, record: StepRecord | RunRecord, nodeid: str) -> None:
        if self._journal is None:
            self._state.directory.open()
            self._state.directory.prune(self._state.settings.keep_sessions)
            self._journal = Journal(self._state.directory.journal)
            self._journal.append(
                "session_started",
                {
                    "schema_version": 1,
                    "session_id": self._state.directory.session_id,
                    "models": list(self._state.settings.models),
                    "arguments": [str(a) for a in self._config.invocation_params.args],
                },
            )
        is_run = isinstance(record, RunRecord)
        self._journal.append(
            "run" if is_run else "step",
            {"nodeid": nodeid, "record": record.model_dump(mode="json")},
            sync=is_run,
        )

    def _rewrite_junit(self) -> None:
        xml_path = self._config.getoption("xmlpath", None)
        if not xml_path or not Path(xml_path).is_file():
            return
        path, settings = Path(xml_path), self._state.settings
        tree = ET.parse(path)  # noqa: S314 - pytest wrote it a moment ago
        rewrite_junit(
            tree.getroot(),
            [_junit_case(account) for account in self._ledger.accounts],
            self._suite_properties(),
            JunitStyle(steps=settings.junit_steps, properties=settings.junit_properties),
        )
        fresh = path.with_name(f"{path.name}.chalk")
        tree.write(fresh, encoding="utf-8", xml_declaration=True)
        fresh.replace(path)

    def _suite_properties(self) -> dict[str, str]:
        verdict, runs = self._verdict, self._ledger.runs
        values = {
            "chalk.session": self._state.directory.session_id,
            "chalk.models": ",".join(dict.fromkeys(run.model for run in runs)),
            "chalk.isolation": ",".join(sorted({run.isolation for run in runs} - {""})),
        }
        if verdict is not None:
            values["chalk.planned"] = str(verdict.planned)
            values["chalk.scored"] = str(verdict.scored)
            values["chalk.gate"] = "failed" if verdict.problems else "passed"
            if verdict.mean is not None:
                values["chalk.mean_score"] = f"{verdict.mean:.6g}"
        return values


def _junit_case(account: ItemAccount) -> JunitCase:
    run = account.run if account.expected else None
    return JunitCase(account.nodeid, run, account.output, account.teardown_error)

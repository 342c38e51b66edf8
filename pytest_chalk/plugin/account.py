"""What became of the session: its ledger, its journal, and the word of the gate."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.errors import MachineError
from pytest_chalk.plugin.gate import GateVerdict, judge_session
from pytest_chalk.plugin.isolation_facts import isolation_facts
from pytest_chalk.plugin.ledger import Ledger
from pytest_chalk.plugin.replay import signposted
from pytest_chalk.plugin.report_data import RUN_ATTRIBUTE
from pytest_chalk.schemas.record import RunRecord, Usage
from pytest_chalk.store.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_chalk.plugin.ledger import ItemAccount
    from pytest_chalk.plugin.state import ChalkState
    from pytest_chalk.schemas.ordinary_test import OrdinaryTest
    from pytest_chalk.schemas.record import StepRecord

INTERRUPTED = "the session ended before a verdict"


class SessionAccount:
    """Kept by the controller from reports alone; the journal is opened with the first record.

    Attributes:
        ledger: Every task item.
        verdict: What the gate says; None until the session is judged.
        checks: Find further problems in the records that count, when the session is judged.
        broken: Why the journal could not be written, or empty. Nothing is written after that.
    """

    def __init__(self, state: ChalkState, arguments: tuple[str, ...]) -> None:
        self.state = state
        self.ledger = Ledger()
        self.verdict: GateVerdict | None = None
        self._arguments = arguments
        self._journal: Journal | None = None
        self._early: list[tuple[str, dict[str, Any]]] = []  # entries of before the journal
        self.checks: list[Callable[[Sequence[RunRecord]], Sequence[str]]] = []
        self._is_planned = False
        self.broken = ""

    @property
    def has_records(self) -> bool:
        """Whether anything was written to the journal."""
        return self._journal is not None

    def open(self) -> None:
        """Open the journal before there is a record; nobody else can write it from here on.

        Raises:
            MachineError: It cannot be written, or somebody else does.
        """
        if self._journal is None:
            self._open_journal()

    def take(self, report: pytest.TestReport) -> StepRecord | RunRecord | None:
        """Take a report in, and write down the record that it completes, if it does.

        Raises:
            MachineError: The journal cannot be written: what comes now would be lost.
        """
        record = self.ledger.take(report)
        if isinstance(record, RunRecord) and not hasattr(report, RUN_ATTRIBUTE):
            # No run of it came from a worker: a fixture broke, or the worker died.
            record = self.ledger[report.nodeid].run = signposted(record, self.state)
        if record is not None:
            self._write(record, report.nodeid)
        if report.when == "teardown" and not isinstance(report, pytest.SubtestReport):
            self._write_end(self.ledger[report.nodeid])
        return record

    def take_ordinary(self, test: OrdinaryTest) -> None:
        """Write down a test that is no task. Where the journal is broken, tasks have said so."""
        with suppress(MachineError):
            self._append_beside("test", dict(vars(test)))  # `asdict` takes as long as the rest

    def judge(self) -> GateVerdict:
        """Close the ledger and return the word of the gate; only the first call does anything."""
        if self.verdict is None:
            self._write_unmeasured()
            verdict = judge_session(
                self.state.settings.gate,
                self.ledger.planned_runs,
                selected=sum(not account.skipped_by_mark for account in self.ledger.accounts),
                bars=self.ledger.bars,
            )
            more = [p for check in self.checks for p in check(self.ledger.planned_runs)]
            first = [self.broken] if self.broken else []
            verdict = replace(verdict, problems=(*first, *verdict.problems, *more))
            self.verdict = verdict
        return self.verdict

    def close(self, exit_status: int) -> None:
        """Write the end of the session.

        Raises:
            MachineError: The journal cannot be written.
        """
        if self._journal is None:
            return
        problems = list(self.verdict.problems) if self.verdict else []
        runs = self.ledger.runs
        usage = sum((run.usage for run in runs), Usage())
        judge_usage = sum((run.judge_usage for run in runs), Usage())
        entry = {
            "exit_status": exit_status,
            "problems": problems,
            "usage": usage.model_dump(mode="json"),
            "judge_usage": judge_usage.model_dump(mode="json"),
            "isolation": isolation_facts(runs),
            "finished_at": _now(),
        }
        self._append("session_finished", entry, sync=True)
        self._journal.close()

    def _write_unmeasured(self) -> None:
        """Write down what has no verdict when the session ends."""
        for unsigned in self.ledger.close(INTERRUPTED):
            record = self.ledger[unsigned.nodeid].run = signposted(unsigned, self.state)
            with suppress(MachineError):  # in `broken`, which fails the session
                self._write(record, record.nodeid)

    def _write(self, record: StepRecord | RunRecord, nodeid: str) -> None:
        entry: dict[str, Any] = {"nodeid": nodeid}
        kind, index = ("run", -1) if isinstance(record, RunRecord) else ("step", record.index)
        output = self.ledger[nodeid].output.get(index)
        if output:
            entry["output"] = output
        if kind == "run" and "bars" in self.ledger[nodeid].about:
            entry["bars"] = self.ledger[nodeid].about["bars"]
        self._append(kind, entry, record=record, sync=kind == "run")

    def _write_end(self, account: ItemAccount) -> None:
        """Write what the records of an item do not say, if there is anything."""
        if not (account.left_out or account.teardown_error or account.properties):
            return
        entry = {
            "nodeid": account.nodeid,
            "left_out": account.left_out.model_dump(mode="json") if account.left_out else None,
            "teardown_error": account.teardown_error,
            "properties": account.properties,
            "duration_s": account.duration_s,
        }
        self._append_beside("item", entry)

    def _append_beside(self, entry_type: str, entry: dict[str, Any]) -> None:
        """Write what is no reason to begin a journal: tasks may all be skipped."""
        if self._is_planned:
            self._append(entry_type, entry)
        else:
            self._early.append((entry_type, entry))

    def _append(
        self,
        entry_type: str,
        entry: Mapping[str, Any],
        *,
        record: StepRecord | RunRecord | None = None,
        sync: bool = False,
    ) -> None:
        if self.broken:
            return
        try:
            journal = self._journal or self._open_journal()
            if not self._is_planned:
                self._write_plan(journal)
            journal.append(entry_type, entry, record=record, sync=sync)
        except MachineError as error:
            self.broken = str(error)
            raise

    def _open_journal(self) -> Journal:
        directory, settings = self.state.directory, self.state.settings
        directory.open()
        directory.prune(settings.keep_sessions)
        journal = self._journal = Journal(directory.journal)
        journal.append(
            "session_started",
            {
                "schema_version": 1,
                "session_id": directory.session_id,
                "started_at": _now(),
                "models": list(settings.models),
                "arguments": list(self._arguments),
                "junit_steps": settings.junit_steps,
                "junit_properties": settings.junit_properties,
            },
        )
        return journal

    def _write_plan(self, journal: Journal) -> None:
        """Write what is to run, as soon as there is something to write about it."""
        self._is_planned = True
        planned = [account.nodeid for account in self.ledger.accounts]
        journal.append("planned", {"nodeids": planned})
        for entry_type, entry in self._early:
            journal.append(entry_type, entry)


def _now() -> str:
    return datetime.now(UTC).isoformat()

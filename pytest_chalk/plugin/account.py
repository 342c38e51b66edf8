"""What became of the session: its ledger, its journal, and the word of the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.plugin.gate import GateVerdict, judge_session
from pytest_chalk.plugin.ledger import Ledger
from pytest_chalk.schemas.record import RunRecord
from pytest_chalk.store.journal import Journal

if TYPE_CHECKING:
    import pytest

    from pytest_chalk.plugin.state import ChalkState
    from pytest_chalk.schemas.record import StepRecord

INTERRUPTED = "the session ended before a verdict"


class SessionAccount:
    """Kept by the controller from reports alone; the journal is opened with the first record.

    Attributes:
        ledger: Every task item.
        verdict: What the gate says; None until the session is judged.
    """

    def __init__(self, state: ChalkState, arguments: tuple[str, ...]) -> None:
        self.state = state
        self.ledger = Ledger()
        self.verdict: GateVerdict | None = None
        self._arguments = arguments
        self._journal: Journal | None = None

    @property
    def has_records(self) -> bool:
        """Whether anything was written to the journal."""
        return self._journal is not None

    def take(self, report: pytest.TestReport) -> StepRecord | RunRecord | None:
        """Take a report in, and write down the record that it completes, if it does."""
        record = self.ledger.take(report)
        if record is not None:
            self._write(record, report.nodeid)
        return record

    def judge(self) -> GateVerdict:
        """Close the ledger and return the word of the gate; only the first call does anything."""
        if self.verdict is None:
            for record in self.ledger.close(INTERRUPTED):
                self._write(record, record.nodeid)
            self.verdict = judge_session(
                self.state.settings.gate,
                self.ledger.planned_runs,
                selected=sum(not account.skipped_by_mark for account in self.ledger.accounts),
            )
        return self.verdict

    def close(self, exit_status: int) -> None:
        """Write the end of the session."""
        if self._journal is not None:
            self._journal.append("session_finished", {"exit_status": exit_status}, sync=True)
            self._journal.close()

    def _write(self, record: StepRecord | RunRecord, nodeid: str) -> None:
        journal = self._journal or self._open_journal()
        is_run = isinstance(record, RunRecord)
        journal.append(
            "run" if is_run else "step",
            {"nodeid": nodeid, "record": record.model_dump(mode="json")},
            sync=is_run,
        )

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
                "models": list(settings.models),
                "arguments": list(self._arguments),
            },
        )
        return journal

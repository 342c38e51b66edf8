"""The controller's account of the session, from reports alone: the same with and without xdist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.node_id import model_in
from pytest_chalk.plugin.report_data import (
    ITEM_ATTRIBUTE,
    NOT_REACHED_ATTRIBUTE,
    RUN_ATTRIBUTE,
    STEP_ATTRIBUTE,
)
from pytest_chalk.reports.clean import clean_text
from pytest_chalk.reports.epochs import Bars, group_of
from pytest_chalk.schemas.record import Failure, LeftOut, RunRecord, StepRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(slots=True)
class ItemAccount:
    """What the reports said about one task item: its latest attempt.

    Attributes:
        about: Task id, model, epoch and attempt, as the worker sent them.
        expected: False for an item that pytest skipped or expected to fail.
        left_out: What pytest says of such an item.
        output: Captured text by step index; -1 is the item's own.
        why_missing: What to say if it has no verdict when the session ends.
        properties: Those of pytest, by `record_property`.
        duration_s: Of all reports, as pytest adds them up.
    """

    nodeid: str
    about: dict[str, Any] = field(default_factory=dict)
    steps: dict[int, StepRecord] = field(default_factory=dict)
    not_reached: list[str] = field(default_factory=list)
    run: RunRecord | None = None
    expected: bool = True
    left_out: LeftOut | None = None
    skipped_by_mark: bool = False
    teardown_error: str = ""
    why_missing: str = ""
    output: dict[int, str] = field(default_factory=dict)
    properties: list[tuple[str, Any]] = field(default_factory=list)
    duration_s: float = 0.0

    def begin_attempt(self, about: dict[str, Any]) -> None:
        """Forget the earlier attempt's steps once a later one reports."""
        if about.get("attempt", 1) > self.about.get("attempt", 1):
            self.steps, self.not_reached, self.run, self.output = {}, [], None, {}
        self.about = about

    def keep_output(self, step: int, report: pytest.TestReport) -> None:
        """Keep what was captured, if anything was."""
        captured = [f"--- {name} ---\n{text}" for name, text in report.sections if text]
        if captured:
            self.output[step] = "\n".join(captured)

    def broken(self, failure: Failure, *, outcome: str = "error") -> RunRecord:
        """Return the record of a run whose worker sent none."""
        return RunRecord.model_validate(
            {
                "run_id": "",
                "task_id": self.about.get("task_id") or self.nodeid,
                "model": self.about.get("model") or "?",
                "outcome": outcome,
                "reason": failure.summary,
                "failure": failure if outcome == "error" else None,
                "steps": tuple(self.steps[index] for index in sorted(self.steps)),
                "not_reached": tuple(self.not_reached),
                "nodeid": self.nodeid,
                "epoch": self.about.get("epoch", 1),
                "attempt": self.about.get("attempt", 1),
            }
        )


class Ledger:
    """Accounts of all task items, by node id, in the order they were planned or first reported."""

    def __init__(self) -> None:
        self._accounts: dict[str, ItemAccount] = {}

    def plan(
        self, nodeids: Sequence[str], models: Sequence[str], task_ids: Mapping[str, str]
    ) -> None:
        """Take note of the task items that are to run, by students of these names.

        `task_ids` by node id: a controller that has no items of its own does not know them.
        """
        for nodeid in nodeids:
            about = {"model": model_in(nodeid, models), "task_id": task_ids.get(nodeid, "")}
            self._accounts.setdefault(nodeid, ItemAccount(nodeid, about))

    def restore(self, account: ItemAccount, *, why_missing: str) -> None:
        """Take over the account of an item that ran in an earlier process, unless it is known."""
        account.why_missing = why_missing
        self._accounts.setdefault(account.nodeid, account)

    def __contains__(self, nodeid: str) -> bool:
        return nodeid in self._accounts

    def __len__(self) -> int:
        return len(self._accounts)

    def __getitem__(self, nodeid: str) -> ItemAccount:
        return self._accounts[nodeid]

    @property
    def accounts(self) -> tuple[ItemAccount, ...]:
        """Every account."""
        return tuple(self._accounts.values())

    @property
    def pids(self) -> frozenset[int]:
        """The processes that reported, for interrupting those that are workers of ours."""
        return frozenset(a.about["pid"] for a in self.accounts if "pid" in a.about)

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The latest record of every item that has one."""
        return tuple(account.run for account in self.accounts if account.run is not None)

    @property
    def planned_runs(self) -> tuple[RunRecord, ...]:
        """The records that count: no skips, no expected failures."""
        return tuple(
            account.run
            for account in self.accounts
            if account.run is not None and account.expected and account.run.outcome != "skipped"
        )

    @property
    def bars(self) -> dict[str, Bars]:
        """What the runs of a task have to reach together, by group, where they have to."""
        return {
            group_of(account.nodeid, account.about.get("epoch", 1)): Bars(**account.about["bars"])
            for account in self.accounts
            if account.about.get("bars")
        }

    def take(self, report: pytest.TestReport) -> StepRecord | RunRecord | None:
        """Take a report in; return the record that it completed, if it did."""
        about = getattr(report, ITEM_ATTRIBUTE, None)
        if about is None and report.nodeid not in self._accounts:
            return None
        account = self._accounts.setdefault(report.nodeid, ItemAccount(report.nodeid))
        if about is not None:
            account.begin_attempt(about)
        account.duration_s += report.duration
        if isinstance(report, pytest.SubtestReport):
            return _take_step(account, report)
        return _take_phase(account, report)

    def close(self, reason: str) -> list[RunRecord]:
        """Give every item without a verdict its record, `not_run`; return these records."""
        ended = []
        for account in self.accounts:
            if account.run is None and account.expected:
                why = account.why_missing or reason
                failure = Failure(stage="session", blame="machine", exception_type="", message=why)
                account.run = account.broken(failure, outcome="not_run")
                account.run = account.run.model_copy(update={"reason": why})
                ended.append(account.run)
        return ended


def _take_step(account: ItemAccount, report: pytest.SubtestReport) -> StepRecord | None:
    unreached = getattr(report, NOT_REACHED_ATTRIBUTE, None)
    if unreached is not None:
        account.not_reached.append(unreached)
        return None
    step: StepRecord | None = getattr(report, STEP_ATTRIBUTE, None)
    if step is not None:
        account.steps[step.index] = step
        account.keep_output(step.index, report)
    return step


def _take_phase(account: ItemAccount, report: pytest.TestReport) -> RunRecord | None:
    """Take the setup, call or teardown report of the item itself, or the one of a crash."""
    _note_for_junit(account, report)
    run: RunRecord | None = getattr(report, RUN_ATTRIBUTE, None)
    if run is not None:
        if not is_rerun(report):  # else it is recorded, but a later attempt counts
            account.run = run
            account.keep_output(-1, report)
        return run
    if is_rerun(report):
        return None
    if report.skipped:
        _take_skip(account, report)
    elif report.failed and report.when == "teardown":
        account.teardown_error = clean_text(report.longreprtext)
    elif report.failed and account.run is None:
        account.run = account.broken(_crash(account, report))
        return account.run
    return None


def _note_for_junit(account: ItemAccount, report: pytest.TestReport) -> None:
    """Keep what pytest's own testcase says: a journal has to tell the same."""
    if report.when == "teardown":
        account.properties = report.user_properties
    if hasattr(report, "wasxfail"):
        account.expected = False
        account.left_out = _expected_to_fail(report)


def is_rerun(report: pytest.TestReport) -> bool:
    """Tell whether pytest-rerunfailures will try the item again."""
    outcome: str = report.outcome
    return outcome == "rerun"


def _take_skip(account: ItemAccount, report: pytest.TestReport) -> None:
    account.expected = False
    account.skipped_by_mark = report.when == "setup"
    if isinstance(report.longrepr, tuple):
        path, line, text = report.longrepr
        reason = text.removeprefix("Skipped: ")
        account.left_out = LeftOut(
            kind="pytest.skip", reason=reason, text=f"{path}:{line}: {reason}"
        )


def _expected_to_fail(report: pytest.TestReport) -> LeftOut:
    reason = str(getattr(report, "wasxfail", "")).removeprefix("reason: ")
    return LeftOut(kind="pytest.xfail" if report.skipped else "", reason=reason)


def _crash(account: ItemAccount, report: pytest.TestReport) -> Failure:
    text = clean_text(report.longreprtext)
    place = getattr(report.longrepr, "reprcrash", None)
    message = clean_text(place.message if place is not None else text)
    stage = "fixtures" if report.when == "setup" else "call"
    if report.when not in {"setup", "call"}:
        stage = f"step {max(account.steps, default=-1) + 2}"
        message = f"the worker process died: {text}"
    return Failure(
        stage=stage,
        blame="machine" if report.when not in {"setup", "call"} else "author",
        exception_type="",
        message=message,
        traceback=text,
    )

"""What travels on pytest's reports: records, as plain JSON where a report leaves its process."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.fixture_values import forget_run_config
from pytest_chalk.plugin.items import TaskItem
from pytest_chalk.plugin.marker import bars_of
from pytest_chalk.plugin.running import RUN
from pytest_chalk.plugin.state import STATE
from pytest_chalk.plugin.step_subtests import CURRENT_STEP, NOT_REACHED, take_output
from pytest_chalk.reports.clean import clean, clean_text
from pytest_chalk.runner.students import student_name
from pytest_chalk.schemas.record import RunRecord, StepRecord

if TYPE_CHECKING:
    from collections.abc import Generator

ITEM_ATTRIBUTE = "chalk_item"
"""On every report of a task item: task id, model, epoch, attempt, pid, and bars where
the task has some. One for all reports of an attempt: never changed."""

STEP_ATTRIBUTE = "chalk_step"
"""On the report of a step's sub-test: its `StepRecord`."""

NOT_REACHED_ATTRIBUTE = "chalk_not_reached"
"""On the report of an unreached step's sub-test: the step's name."""

RUN_ATTRIBUTE = "chalk_run"
"""On the report of an item's call: its `RunRecord`."""

_ABOUT = pytest.StashKey[dict[str, Any]]()

_RECORDS: dict[str, type[StepRecord | RunRecord]] = {
    STEP_ATTRIBUTE: StepRecord,
    RUN_ATTRIBUTE: RunRecord,
}


class ReportWriter:
    """Attaches records to the reports of task items, in the process that ran them."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Count attempts: reruns set an item up again."""
        if isinstance(item, TaskItem):
            item.attempts += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the step's or the run's record, and make the report safe to send."""
        report = yield
        if not isinstance(item, TaskItem):
            return report
        setattr(report, ITEM_ATTRIBUTE, _about(item))
        step, unreached = item.stash.get(CURRENT_STEP, None), item.stash.get(NOT_REACHED, "")
        if step is not None:
            setattr(report, STEP_ATTRIBUTE, step)
            report.sections.extend((f"Captured {k} call", t) for k, t in take_output(item.config))
        elif unreached:
            setattr(report, NOT_REACHED_ATTRIBUTE, unreached)
        elif call.when == "call" and RUN in item.stash:
            setattr(report, RUN_ATTRIBUTE, item.stash[RUN])
            del item.stash[RUN]
        elif call.when == "teardown":
            forget_run_config(item)
        if report.skipped and isinstance(report.longrepr, tuple):
            # Where the task is, as pytest does for skip marks; not the line of ours that skipped.
            path, line, _ = item.reportinfo()
            report.longrepr = (str(path), (line or 0) + 1, report.longrepr[2])
        _make_sendable(report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.TestReport
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        """Write the records of a report that leaves this process as plain JSON."""
        data = yield
        for name in _RECORDS:
            if data is not None and name in data:
                data[name] = getattr(report, name).model_dump(mode="json")
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(
        self, data: dict[str, Any]
    ) -> Generator[None, pytest.TestReport | None, pytest.TestReport | None]:
        """Read the records of a report that comes from another process."""
        report = yield
        for name in _RECORDS.keys() & data.keys():
            setattr(report, name, _RECORDS[name].model_validate(data[name]))
        return report


def _about(item: TaskItem) -> dict[str, Any]:
    """Return the same data for all reports of an attempt: pytest keeps every report."""
    known = item.stash.get(_ABOUT, None)
    if known is not None and known["attempt"] == item.attempts:
        return known
    model: Any = item.callspec.params.get("chalk_model") if hasattr(item, "callspec") else None
    funcargs: dict[str, Any] = getattr(item, "funcargs", {})
    student = funcargs.get("chalk_model", model)
    about = {
        "task_id": item.task_class.id,
        "model": clean_text(student_name(student)) if student is not None else "",
        "epoch": funcargs.get("chalk_epoch", 1),
        "attempt": item.attempts,
        "pid": os.getpid(),
    }
    bars = bars_of(item.task_class, item.config.stash[STATE].settings)
    if bars is not None:
        about["bars"] = dataclasses.asdict(bars)
    item.stash[_ABOUT] = about
    return about


def _make_sendable(report: pytest.TestReport) -> None:
    """Replace text that would kill an xdist worker: what cannot be encoded cannot be sent."""
    if report.sections:
        report.sections = [(clean_text(name), clean_text(text)) for name, text in report.sections]
    if report.user_properties:
        report.user_properties = [
            (clean_text(str(name)), clean(value)) for name, value in report.user_properties
        ]
    if report.longrepr is not None and not isinstance(report.longrepr, tuple):
        text = report.longreprtext
        cleaned = clean_text(text)
        if cleaned != text:
            report.longrepr = cleaned

"""A column with the scores for pytest-html, which calls these hooks where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_chalk.plugin.report_data import NOT_REACHED_ATTRIBUTE, RUN_ATTRIBUTE, STEP_ATTRIBUTE

if TYPE_CHECKING:
    from pytest_chalk.schemas.record import RunRecord, StepRecord

_POSITION = 2
"""After the result and the name of the test."""


class HtmlTable:
    """Adds the column."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Add its head."""
        cells.insert(_POSITION, '<th class="sortable" data-column-type="score">Score</th>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Add a cell, an empty one for what is no task."""
        cells.insert(_POSITION, f'<td class="col-score">{_shown(report)}</td>')


def _shown(report: pytest.TestReport) -> str:
    """Return the score of a task or step, or the word for why there is none."""
    if hasattr(report, NOT_REACHED_ATTRIBUTE):
        return "not reached"
    record: RunRecord | StepRecord | None = getattr(
        report, RUN_ATTRIBUTE, getattr(report, STEP_ATTRIBUTE, None)
    )
    if record is None:
        return ""
    if record.outcome in {"error", "not_run"} or record.score is None:
        return record.outcome.replace("_", " ")
    misbehaved = " misbehaved" if record.outcome == "misbehaved" else ""
    return f"{record.score:.2f}{misbehaved}"

"""The word and letter of each report in the terminal."""

from __future__ import annotations

from typing import TypeAlias

import pytest

from pytest_chalk.plugin.ledger import is_rerun
from pytest_chalk.plugin.report_data import (
    NOT_REACHED_ATTRIBUTE,
    RUN_ATTRIBUTE,
    STEP_ATTRIBUTE,
)
from pytest_chalk.schemas.record import RunRecord, StepRecord

CRASHED = "???"
"""`when` of the report that xdist makes for a worker that died."""

Status: TypeAlias = tuple[str, str, str]
"""Category, letter, word: see `pytest_report_teststatus`."""

_STEP_LETTERS = {"failed": "u", "misbehaved": "u", "error": "e", "not_run": "n", "skipped": "-"}
_ITEM_LETTERS = {"passed": ".", "failed": "F", "misbehaved": "F", "error": "E", "not_run": "N"}
_CATEGORIES = {
    "passed": "passed",
    "failed": "failed",
    "misbehaved": "failed",
    "error": "error",
    "not_run": "not run",
}


def find_status(report: pytest.TestReport, *, verbose: bool, plain: bool) -> Status | None:
    """Return how the terminal shows a report of a task item; None leaves it to pytest.

    `plain` is for the short summary, whose lines other programs read: no scores in its words.
    """
    if hasattr(report, "wasxfail") or is_rerun(report):
        return None
    if isinstance(report, pytest.SubtestReport):
        return _step_status(report, verbose=verbose, plain=plain)
    found: RunRecord | None = getattr(report, RUN_ATTRIBUTE, None)
    if found is None or report.when not in {"call", CRASHED}:
        return None
    outcome = found.outcome
    if outcome not in _ITEM_LETTERS:
        return None
    word = _word(outcome.replace("_", " ").upper(), found, plain=plain)
    return _CATEGORIES[outcome], _ITEM_LETTERS[outcome], word


def _step_status(report: pytest.SubtestReport, *, verbose: bool, plain: bool) -> Status | None:
    if getattr(report, NOT_REACHED_ATTRIBUTE, None) is not None:
        return ("skipped", "-", f"SUBSKIPPED[{report.context.msg}]") if verbose else ("", "", "")
    step: StepRecord | None = getattr(report, STEP_ATTRIBUTE, None)
    if step is None:
        return None
    label, outcome = f"[{report.context.msg}]", step.outcome
    if outcome == "passed":
        word = _word(f"SUBPASSED{label}", step, plain=plain)
        return ("subtests passed", "u", word) if verbose else ("", "", "")
    if outcome == "skipped":
        return ("skipped", "-", f"SUBSKIPPED{label}") if verbose else ("", "", "")
    word = f"SUB{outcome.replace('_', '').upper()}{label}"
    return _CATEGORIES[outcome], _STEP_LETTERS[outcome], _word(word, step, plain=plain)


def _word(word: str, record: StepRecord | RunRecord, *, plain: bool) -> str:
    if plain or record.score is None or record.outcome == "error":
        return word
    partial = isinstance(record, StepRecord) and record.partial
    return f"{word} {record.score:.2f}{' partial' if partial else ''}"

"""What is said of runs that are under way: one line for all, or a line of each. Pure."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from pytest_chalk.reports.table import one_line, show_seconds
from pytest_chalk.schemas.spending import show_usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.schemas.progress import RunProgress

MAX_NAME_CHARS = 200
"""Of a node id. No terminal is so wide, and a log line should end somewhere."""


def render_running(runs: Sequence[RunProgress], columns: int) -> str:
    """Return one line about all runs, not wider than `columns`; empty where nothing runs."""
    if not runs:
        return ""
    # The longest is the one that a person waits for.
    shown = sorted(runs, key=lambda run: -run.elapsed_s)
    parts = [f"{_name(run.nodeid)} {_how_far(run)}" for run in shown]
    return fitted(" | ".join([f"{len(runs)} running", *parts]), columns)


def render_run(run: RunProgress) -> str:
    """Return a line about one run."""
    return f"chalk: {one_line(run.nodeid, max_chars=MAX_NAME_CHARS)} {_how_far(run)}"


def fitted(text: str, columns: int) -> str:
    """Return as much of `text` as fits into so many columns, with a mark where it was cut."""
    widths = [_width(char) for char in text]
    if sum(widths) <= columns:
        return text
    kept, used = 0, 1  # of the mark
    while kept < len(text) and used + widths[kept] <= columns:
        used += widths[kept]
        kept += 1
    return text[:kept] + "…" if columns > 0 else ""


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _how_far(run: RunProgress) -> str:
    parts = [show_seconds(run.elapsed_s)]
    if run.step:
        parts.append(f"step {run.step}/{run.of}" if run.of else f"step {run.step}")
    if run.turns:
        parts.append(f"turn {run.turns}")
    if run.tokens:
        parts.append(f"{run.tokens:,} tokens")
    if run.usd is not None:
        parts.append(show_usd(run.usd))
    return ", ".join(parts)


def _name(nodeid: str) -> str:
    """Return what a node id has after its path, as a person names the task."""
    own, bracket, parameters = nodeid.partition("[")
    return one_line(own.rpartition("::")[2] + bracket + parameters, max_chars=MAX_NAME_CHARS)

"""Figures of a run, per scorer, from its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_chalk.reports.statistics import mean_estimate
from pytest_chalk.schemas.evaluation import Column, column_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.reports.statistics import Interval
    from pytest_chalk.store.dataset_files import DatasetFiles, StoredFile

PERCENTILES = (5, 25, 50, 75, 95)


def summarize(files: DatasetFiles, stored: StoredFile, scorers: Sequence[str]) -> dict[str, Any]:
    """Return the figures of a result: of the task, and by scorer.

    A row whose task failed is `failed` for the task, and for each scorer that was to score its
    output: never a score.
    """
    task_errors = [row[0] for row in files.read(stored.digest, (Column("output_error"),))]
    figures = {}
    for name in scorers:
        column = column_name(name)
        wanted = (Column(f"{column}_value"), Column(f"{column}_error"))
        cells = files.read(stored.digest, wanted)
        failed = sum(
            error is not None or (value is None and task_errors[row] is not None)
            for row, (value, error) in enumerate(cells)
        )
        scores = [value for value, _ in cells if value is not None]
        figures[name] = scorer_figures(scores, failed, len(cells))
    failed = sum(error is not None for error in task_errors)
    return {"rows": stored.n_rows, "task": {"failed": failed}, "scorers": figures}


def scorer_figures(scores: Sequence[float], failed: int, n_rows: int) -> dict[str, Any]:
    """Return counts, mean, its 95 % interval and percentiles of one scorer's scores.

    What is undefined, such as the mean of no scores, is None.
    """
    estimate = mean_estimate(scores)
    interval = estimate.interval if estimate else None
    ordered = sorted(scores)
    return {
        "scored": len(scores),
        "failed": failed,
        "unscored": n_rows - len(scores) - failed,
        "mean": estimate.mean if estimate else None,
        "interval": _within_scale(interval, ordered) if interval else None,
        **{f"p{share}": percentile(ordered, share) for share in PERCENTILES},
        "min": ordered[0] if ordered else None,
        "max": ordered[-1] if ordered else None,
    }


def _within_scale(interval: Interval, ordered: Sequence[float]) -> list[float]:
    """Return the interval's ends; of scores from 0 to 1 no mean can lie outside of that."""
    if ordered[0] >= 0 and ordered[-1] <= 1:
        return [max(0.0, interval.low), min(1.0, interval.high)]
    return [interval.low, interval.high]


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the score below which `share` percent lie, interpolated between neighbours."""
    if not ordered:
        return None
    position = (len(ordered) - 1) * share / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)

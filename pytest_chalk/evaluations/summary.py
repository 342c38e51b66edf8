"""The summary of a run, as plain data: counts, means with intervals, percentiles. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_chalk.reports.bootstrap import Moments, limit_interval, resampled_interval
from pytest_chalk.store.result_figures import PERCENTILES

if TYPE_CHECKING:
    from pytest_chalk.store.result_figures import Figures, Scores


def summarize(figures: Figures) -> dict[str, Any]:
    """Return the figures of a run as they are kept and shown.

    A row whose task failed is `failed` for the task, and for each scorer that was to score its
    output: never a score. What is undefined, such as the mean of no scores, is None.
    """
    scorers = {
        name: _of_scorer(scores, figures.n_rows, f"{figures.digest} {name}")
        for name, scores in figures.scorers.items()
    }
    return {"rows": figures.n_rows, "task": {"failed": figures.task_failed}, "scorers": scorers}


def _of_scorer(scores: Scores, n_rows: int, seed: str) -> dict[str, Any]:
    percentiles = scores.percentiles or (None,) * len(PERCENTILES)
    return {
        "scored": scores.scored,
        "failed": scores.failed,
        "unscored": n_rows - scores.scored - scores.failed,
        "mean": scores.mean,
        "interval": _interval(scores, seed),
        **{f"p{share}": p for share, p in zip(PERCENTILES, percentiles, strict=True)},
        "min": scores.low,
        "max": scores.high,
    }


def _interval(scores: Scores, seed: str) -> list[float] | None:
    """Return the bootstrap interval of the mean; its draws follow from the result's content."""
    if scores.sample:
        found = resampled_interval(scores.sample, seed)
    elif scores.mean is None or scores.spread is None or scores.low is None or scores.high is None:
        return None
    else:
        skewness = scores.skewness or 0.0
        found = limit_interval(
            Moments(scores.scored, scores.mean, scores.spread, skewness, scores.low, scores.high)
        )
    return None if found is None else [found.low, found.high]

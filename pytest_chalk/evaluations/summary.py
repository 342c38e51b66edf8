"""The summary of a run, as plain data: counts, means with intervals, percentiles. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_chalk.reports.distributions import t_quantile
from pytest_chalk.reports.statistics import CONFIDENCE
from pytest_chalk.store.result_figures import PERCENTILES

if TYPE_CHECKING:
    from pytest_chalk.store.result_figures import Figures, Scores


def summarize(figures: Figures) -> dict[str, Any]:
    """Return the figures of a run as they are kept and shown.

    A row whose task failed is `failed` for the task, and for each scorer that was to score its
    output: never a score. What is undefined, such as the mean of no scores, is None.
    """
    scorers = {name: _of_scorer(s, figures.n_rows) for name, s in figures.scorers.items()}
    return {"rows": figures.n_rows, "task": {"failed": figures.task_failed}, "scorers": scorers}


def _of_scorer(scores: Scores, n_rows: int) -> dict[str, Any]:
    percentiles = scores.percentiles or (None,) * len(PERCENTILES)
    return {
        "scored": scores.scored,
        "failed": scores.failed,
        "unscored": n_rows - scores.scored - scores.failed,
        "mean": scores.mean,
        "interval": _interval(scores),
        **{f"p{share}": p for share, p in zip(PERCENTILES, percentiles, strict=True)},
        "min": scores.low,
        "max": scores.high,
    }


def _interval(scores: Scores) -> list[float] | None:
    """Return Student's interval of the mean; of scores from 0 to 1 cut to where a mean can lie."""
    if scores.mean is None or scores.spread is None or scores.low is None or scores.high is None:
        return None
    error = scores.spread / math.sqrt(scores.scored)
    reach = t_quantile((1 - CONFIDENCE) / 2, scores.scored - 1) * error
    low, high = scores.mean - reach, scores.mean + reach
    if scores.low >= 0 and scores.high <= 1:
        low, high = max(0.0, low), min(1.0, high)
    return [low, high]

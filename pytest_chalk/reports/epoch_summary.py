"""What several runs of the same tasks say together: pass@k, pass^k, and which tasks are flaky."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.reports.clean import clean_text
from pytest_chalk.reports.epochs import by_group
from pytest_chalk.reports.statistics import (
    clustered_estimate,
    is_flaky,
    mean_estimate,
    pass_at_k,
    pass_hat_k,
    share_interval,
)
from pytest_chalk.reports.summary import by_model, counted_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_chalk.reports.statistics import Interval
    from pytest_chalk.schemas.record import RunRecord

UNDEFINED = "-"


def render_interval(interval: Interval | None, scores: Sequence[float]) -> str:
    """Return an interval in brackets, `-` where it is undefined.

    Of scores from 0 to 1 it is not shown beyond them: Student's t knows no such bounds.
    """
    if interval is None:
        return UNDEFINED
    low, high = interval.low, interval.high
    if scores and min(scores) >= 0 and max(scores) <= 1:
        low, high = max(low, 0.0), min(high, 1.0)
    return f"[{low:.2f}, {high:.2f}]"


def mean_interval_of(runs: Sequence[RunRecord]) -> str:
    """Return the interval of the mean of the runs of one task."""
    scores = counted_scores(runs)
    estimate = mean_estimate(scores)
    return render_interval(estimate.interval if estimate else None, scores)


def overall_interval(runs: Sequence[RunRecord]) -> str:
    """Return the interval of the mean of all runs, clustered by task."""
    clusters: dict[str, list[RunRecord]] = {}
    for run in runs:
        clusters.setdefault(run.task_id, []).append(run)
    scores = [counted_scores(cluster) for cluster in clusters.values()]
    estimate = clustered_estimate(scores)
    flat = [score for cluster in scores for score in cluster]
    return render_interval(estimate.interval if estimate else None, flat)


def passes_of(runs: Sequence[RunRecord]) -> str:
    """Return passed of scored runs with the interval of their share: `2/3 [0.21, 0.94]`."""
    passed, count = _passed(runs)
    interval = share_interval(passed, count)
    return f"{passed}/{count} {render_interval(interval, [0.0])}" if interval else UNDEFINED


def render_epochs(runs: Sequence[RunRecord]) -> list[str]:
    """Return the lines below the table where tasks ran several times; else none."""
    groups = by_group(runs)
    if all(len(group) == 1 for group in groups.values()):
        return []
    models = by_model(runs)
    lines = []
    for model, own in models.items():
        whose = f" of {clean_text(model)}" if len(models) > 1 else ""
        counted = by_group(own).values()
        counts = [_passed(group) for group in counted]
        most = max(map(len, counted))
        lines += [
            f"{name}{whose}: {', '.join(_over_tasks(rule, counts, k) for k in _ks(most))}"
            for name, rule in (("pass@k", pass_at_k), ("pass^k", pass_hat_k))
        ]
    for nodeid, group in groups.items():
        passed, count = _passed(group)
        if is_flaky(passed, count):
            lines.append(f"FLAKY {clean_text(nodeid)}: {passed} of {count} runs passed")
    return lines


def _over_tasks(
    rule: Callable[[int, int, int], float | None], counts: Sequence[tuple[int, int]], k: int
) -> str:
    """Return the mean over tasks; undefined where it is for one of them: none is left out."""
    found = [rule(passed, count, k) for passed, count in counts]
    known = [value for value in found if value is not None]
    if len(known) == len(found):
        return f"{sum(known) / len(known):.2f} (k={k})"
    missing = len(found) - len(known)
    return f"undefined (k={k}: {missing} of {len(found)} tasks scored fewer runs)"


def _ks(most: int) -> list[int]:
    """Return 1, 2, 4 and so on, and the number of runs itself."""
    powers = [2**power for power in range(most.bit_length())]
    return sorted({k for k in powers if k < most} | {most})


def _passed(runs: Sequence[RunRecord]) -> tuple[int, int]:
    """Return how many runs passed, of how many that were scored."""
    scored = [run for run in runs if run.is_scored]
    return sum(run.outcome == "passed" for run in scored), len(scored)

"""What runs are expected to take and cost, from what they took before. Pure.

It is the mean of earlier runs of the same task by the same student, and nothing else: what was
never measured is named and not guessed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING

from pytest_chalk.reports.epochs import group_of
from pytest_chalk.reports.table import align, one_line, show_seconds
from pytest_chalk.schemas.spending import show_usd

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_chalk.schemas.past_run import PastRun

COLUMNS = ("task and student", "runs", "seen", "time each", "longest", "cost each")

MAX_NAMED = 10
"""Of what is not known. The table has them all."""


def by_group(past: Iterable[PastRun]) -> dict[str, list[PastRun]]:
    """Return earlier runs by the task and student that they share: see `epochs.group_of`."""
    grouped: dict[str, list[PastRun]] = {}
    for run in past:
        grouped.setdefault(group_of(run.nodeid, run.epoch), []).append(run)
    return grouped


def makespan(times_s: Iterable[float], workers: int) -> float:
    """Return how long so many workers take at best, if the longest are dealt out first."""
    busy_until_s = [0.0] * max(1, workers)
    for time_s in sorted(times_s, reverse=True):
        heapq.heapreplace(busy_until_s, busy_until_s[0] + time_s)
    return max(busy_until_s)


def render_estimate(
    planned: Sequence[str], past: Mapping[str, Sequence[PastRun]], workers: int
) -> list[str]:
    """Return a table of what is planned, its total, and what is not known of it.

    Args:
        planned: The group of each run that is to be made.
        past: Earlier runs by group.
        workers: How many processes make them; 0 for one after another.
    """
    counts = Counter(planned)
    rows = [COLUMNS, *(_row(group, count, past.get(group, ())) for group, count in counts.items())]
    return [*align(rows, left_columns=1), *_totals(counts, past, workers)]


def _row(group: str, count: int, seen: Sequence[PastRun]) -> tuple[str, ...]:
    times_s = [run.duration_s for run in seen]
    return (
        one_line(group, max_chars=120),
        str(count),
        str(len(seen)),
        show_seconds(fmean(times_s)) if seen else "?",
        show_seconds(max(times_s)) if seen else "?",
        show_usd(_mean_usd(seen)) if seen and _is_cost_known(seen) else "?",
    )


def _totals(
    counts: Mapping[str, int], past: Mapping[str, Sequence[PastRun]], workers: int
) -> list[str]:
    known = {group: past[group] for group in counts if past.get(group)}
    times_s = [fmean(r.duration_s for r in known[g]) for g in known for _ in range(counts[g])]
    priced = {group: seen for group, seen in known.items() if _is_cost_known(seen)}
    usd = sum(_mean_usd(seen) * counts[group] for group, seen in priced.items())
    lines = []
    if known:
        shared = f", at best {show_seconds(makespan(times_s, workers))} with -n {workers}"
        lines.append(
            f"time: {show_seconds(sum(times_s))} one after another"
            f"{shared if workers else ''}{_share(known, counts)}"
        )
    if priced:
        lines.append(f"cost: {show_usd(usd)}{_share(priced, counts)}")
    unknown = [group for group in counts if group not in known]
    unpriced = [group for group in known if group not in priced]
    lines += _named("never measured", unknown) + _named("without a known price", unpriced)
    return lines


def _share(part: Mapping[str, object], counts: Mapping[str, int]) -> str:
    """Return for how many of the runs it holds, where that is not all."""
    covered, all_runs = sum(counts[group] for group in part), sum(counts.values())
    return "" if covered == all_runs else f", for {covered} of {all_runs} runs"


def _named(what: str, groups: Sequence[str]) -> list[str]:
    if not groups:
        return []
    shown = ", ".join(one_line(group, max_chars=120) for group in groups[:MAX_NAMED])
    more = f" and {len(groups) - MAX_NAMED} more" if len(groups) > MAX_NAMED else ""
    return [f"{what}: {shown}{more}"]


def _is_cost_known(seen: Sequence[PastRun]) -> bool:
    return all(run.is_price_known for run in seen)


def _mean_usd(seen: Sequence[PastRun]) -> float:
    return fmean(run.usd for run in seen)

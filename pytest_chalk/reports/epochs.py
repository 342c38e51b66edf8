"""Several runs of one task by one student: whether they reach the bars its author set. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from typing_extensions import override

from pytest_chalk.reports.statistics import (
    CONFIDENCE,
    decided_side,
    mean_estimate,
    share_interval,
)
from pytest_chalk.reports.summary import counted_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.reports.statistics import Interval
    from pytest_chalk.schemas.record import RunRecord

BAR_TOL = 1e-9
"""So that a mean of 0.1, 0.2 and 0.3 reaches 0.2."""

Decision: TypeAlias = Literal["passed", "failed"]


@dataclass(frozen=True)
class Epochs:
    """How often a task is run by each student: so many times, or at most so many."""

    most: int = 1
    auto: bool = False

    @override
    def __str__(self) -> str:
        return f"auto:{self.most}" if self.auto else str(self.most)


@dataclass(frozen=True)
class Bars:
    """What the runs of a task have to reach together. Without a bar each of them has to pass.

    Attributes:
        min_mean: Of the scores.
        min_pass_rate: Share of the scored runs that passed.
        confidence: Of intervals, and of the decision to stop.
        auto: Whether to stop as soon as the outcome is sure, and to say so if it is not.
    """

    min_mean: float | None = None
    min_pass_rate: float | None = None
    confidence: float = CONFIDENCE
    auto: bool = False

    @property
    def is_set(self) -> bool:
        """Whether there is a bar."""
        return self.min_mean is not None or self.min_pass_rate is not None


def decide(bars: Bars, runs: Sequence[RunRecord]) -> Decision | None:
    """Return what the runs so far have decided, for good; None: it takes further ones to tell.

    With bars it is sure with `bars.confidence`, however often this is asked. Without, the first
    run that does not pass has decided. Runs that were not measured decide nothing.
    """
    scored = [run for run in runs if run.is_scored]
    passes = [float(run.outcome == "passed") for run in scored]
    if not bars.is_set:
        return "failed" if not all(passes) else None
    sides = [
        decided_side(values, bar, bars.confidence)
        for bar, values in (
            (bars.min_mean, counted_scores(scored)),
            (bars.min_pass_rate, passes),
        )
        if bar is not None
    ]
    if "below" in sides:
        return "failed"
    return "passed" if all(side == "above" for side in sides) else None


def find_problem(bars: Bars, runs: Sequence[RunRecord]) -> str:
    """Return why the runs of a task fall short of its bars, in one line; empty: they do not.

    Where the number of runs is fixed their mean and pass rate decide; under `auto` it must be sure.
    """
    scored = [run for run in runs if run.is_scored]
    if not bars.is_set or not scored:
        return ""
    compared = _compared(bars, scored)
    missed = [text for text, reached in compared if not reached]
    decision = decide(bars, runs) if bars.auto else None
    if bars.auto and decision is None:
        shown = "; ".join(text for text, _ in compared)
        return f"undecided after {_runs(len(scored))}: {shown}"
    if decision == "passed" or not missed:
        return ""
    return f"{'; '.join(missed)} ({_runs(len(scored))})"


def _compared(bars: Bars, scored: Sequence[RunRecord]) -> list[tuple[str, bool]]:
    """Return each bar in words, and whether it is reached."""
    compared = []
    if bars.min_mean is not None:
        estimate = mean_estimate(counted_scores(scored), bars.confidence)
        if estimate is not None:
            shown = f"mean {estimate.mean:.3f}{_shown(estimate.interval)}"
            reached = estimate.mean >= bars.min_mean - BAR_TOL
            compared.append((f"{shown}, min_mean={bars.min_mean:g}", reached))
    if bars.min_pass_rate is not None:
        passed = sum(run.outcome == "passed" for run in scored)
        rate = passed / len(scored)
        interval = share_interval(passed, len(scored), bars.confidence)
        shown = f"pass rate {rate:.3f}{_shown(interval)}"
        reached = rate >= bars.min_pass_rate - BAR_TOL
        compared.append((f"{shown}, min_pass_rate={bars.min_pass_rate:g}", reached))
    return compared


def _shown(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f" [{interval.low:.3f}, {interval.high:.3f}] at {interval.confidence * 100:g} %"


def _runs(count: int) -> str:
    return f"{count} scored run{'' if count == 1 else 's'}"


def group_of(nodeid: str, epoch: int) -> str:
    """Return a node id without its epoch: that of `...::Find[oracle-e2]` is `...::Find[oracle]`.

    Runs of one group are the same task by the same student, with the same parameters.
    """
    head, bracket, parameters = nodeid.partition("[")
    parts = parameters.removesuffix("]").split("-")
    name = f"e{epoch}"
    if not bracket or name not in parts:
        return nodeid
    last = len(parts) - 1 - parts[::-1].index(name)
    left = "-".join(parts[:last] + parts[last + 1 :])
    return f"{head}[{left}]" if left else head


def by_group(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the runs of each group, in the order groups first appear."""
    grouped: dict[str, list[RunRecord]] = {}
    for run in runs:
        grouped.setdefault(group_of(run.nodeid, run.epoch), []).append(run)
    return grouped

"""Compares two runs, row by row."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import EvaluationError
from pytest_chalk.reports.statistics import drop_of_pairs, mean_estimate
from pytest_chalk.schemas.evaluation import OUTPUT, column_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.evaluations.run_handle import EvaluationRun


@dataclass(frozen=True)
class ScorerComparison:
    """One scorer of two runs, over the rows that both have scored.

    Attributes:
        pairs: How many rows that are.
        before: Mean over them in the first run; None of no rows, as the following.
        after: Mean in the second.
        difference: After minus before.
        interval: Where the difference lies with 95 % confidence; None of fewer than two rows.
        drop: How likely a drop as large is by chance alone (paired t test); None where it cannot
            be told.
        better: Rows with a higher score than before, by their number in the second run.
        worse: Rows with a lower one, the largest drop first.
    """

    pairs: int
    before: float | None
    after: float | None
    difference: float | None
    interval: tuple[float, float] | None
    drop: float | None
    better: tuple[int, ...]
    worse: tuple[int, ...]


@dataclass(frozen=True)
class Comparison:
    """Two runs; by name the scorers that both have, and the names that only one has.

    Attributes:
        unpaired: How many rows of the first and of the second run the other one lacks.
    """

    before: str
    after: str
    scorers: dict[str, ScorerComparison]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    unpaired: tuple[int, int] = (0, 0)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def compare(before: EvaluationRun, after: EvaluationRun) -> Comparison:
    """Compare two runs that succeeded, paired by row, for each scorer name that both have.

    Runs on different revisions are compared over the rows that both have, wherever they stand:
    those with the same values in the columns that both datasets have.

    Raises:
        EvaluationError: One has no results, or no row is in both.
    """
    counts = [len(run.columns()) for run in (before, after)]
    pairs = _pairs(before, after)
    if not pairs and any(counts):
        problem = f"no row of their {counts[0]} and {counts[1]} is the same, so none can be paired"
        fix = "Compare runs on revisions of one dataset"
        where = f"runs {before.id} and {after.id}"
        raise EvaluationError(where, problem, fix=fix)
    names = [list(run.summary["scorers"]) for run in (before, after)]
    common = [name for name in names[0] if name in names[1]]
    scorers = {}
    for name in common:
        value = f"{column_name(name)}_value"
        olds, news = ([score for (score,) in run.columns(value)] for run in (before, after))
        found = compare_scores([olds[old] for old, _ in pairs], [news[new] for _, new in pairs])
        scorers[name] = replace(
            found,
            better=tuple(pairs[number][1] for number in found.better),
            worse=tuple(pairs[number][1] for number in found.worse),
        )
    only = [tuple(n for n in side if n not in common) for side in names]
    unpaired = (counts[0] - len(pairs), counts[1] - len(pairs))
    return Comparison(before.id, after.id, scorers, only[0], only[1], unpaired)


def _pairs(before: EvaluationRun, after: EvaluationRun) -> list[tuple[int, int]]:
    """Return the rows that are the same in both, by their numbers, in the order of the second."""
    if before.dataset == after.dataset:
        return [(row, row) for row in range(len(before.columns()))]
    names = [run.column_names[: run.column_names.index(OUTPUT)] for run in (before, after)]
    common = [name for name in names[0] if name in names[1]]
    waiting: dict[str, deque[int]] = {}
    for row, values in enumerate(before.columns(*common) if common else ()):
        waiting.setdefault(_row_key(values), deque()).append(row)
    pairs = []
    for row, values in enumerate(after.columns(*common) if common else ()):
        same = waiting.get(_row_key(values))
        if same:
            pairs.append((same.popleft(), row))
    return pairs


def _row_key(values: Sequence[object]) -> str:
    """Return a text that rows have in common if their values are equal.

    A column of whole numbers becomes one of fractions when a later revision has a fraction in it.
    """
    return json.dumps([_as_equal(value) for value in values], default=str, sort_keys=True)


def _as_equal(value: object) -> object:
    """Return a value with fractions that are whole numbers as such."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: _as_equal(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_equal(member) for member in value]
    return value


def compare_scores(
    before: Sequence[float | None], after: Sequence[float | None]
) -> ScorerComparison:
    """Compare scores of the same rows; rows that either side has not scored are left out."""
    pairs = {
        row: (old, new)
        for row, (old, new) in enumerate(zip(before, after, strict=True))
        if old is not None and new is not None
    }
    changes = {row: new - old for row, (old, new) in pairs.items()}
    olds, news = ([pair[side] for pair in pairs.values()] for side in (0, 1))
    estimate = mean_estimate(list(changes.values()))
    interval = estimate.interval if estimate else None
    return ScorerComparison(
        pairs=len(pairs),
        before=sum(olds) / len(olds) if olds else None,
        after=sum(news) / len(news) if news else None,
        difference=estimate.mean if estimate else None,
        interval=(interval.low, interval.high) if interval else None,
        drop=drop_of_pairs(olds, news),
        better=tuple(row for row, change in changes.items() if change > 0),
        worse=tuple(sorted((r for r, c in changes.items() if c < 0), key=changes.__getitem__)),
    )

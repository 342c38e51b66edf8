"""Two measurements of the same tasks: what fell, what rose, whether it may be chance. Pure."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.reports.epochs import by_group, group_of
from pytest_chalk.reports.statistics import CONFIDENCE, drop_of_mean, drop_of_pairs, drop_of_share
from pytest_chalk.reports.summary import counted_scores

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pytest_chalk.schemas.record import RunRecord

EXACT_WAYS = 20_000
"""Ways to share out the scores of two measurements up to which all are looked at: nine runs against
nine, in a hundredth of a second. Above that the t test is as good."""

SAME = 1e-9
"""Scores nearer to each other are equal: they went through text."""

DETERMINISTIC = frozenset({"oracle", "noop"})
"""Students that do the same every time: what falls there has fallen."""


@dataclass(frozen=True)
class Entry:
    """The scored runs of one task by one student: scores sorted, and how many passed."""

    scores: tuple[float, ...]
    passed: int

    @property
    def mean(self) -> float:
        """Of the scores; there is at least one."""
        return math.fsum(self.scores) / len(self.scores)


@dataclass(frozen=True)
class Change:
    """One task by one student, before and after.

    Attributes:
        chance: How likely chance alone would make it fall as much; None where that is undefined.
        has_dropped: Whether it fell significantly, all tasks that were compared considered.
    """

    group: str
    before: Entry
    after: Entry
    chance: float | None
    has_dropped: bool = False

    @property
    def difference(self) -> float:
        """Of the means; below 0 where it fell."""
        return self.after.mean - self.before.mean


@dataclass(frozen=True)
class Comparison:
    """What changed.

    Attributes:
        changes: Of all that is in both, by group.
        new: Groups that are only in the later measurement.
        stale: Groups that are only in the earlier one.
        chance: Of the drop over all tasks, paired; None where it is undefined.
    """

    changes: tuple[Change, ...]
    new: tuple[str, ...]
    stale: tuple[str, ...]
    chance: float | None
    has_dropped: bool


def entries_of(runs: Sequence[RunRecord], *, complete: bool = False) -> dict[str, Entry]:
    """Return what was measured, by group; with `complete`, only where every run was."""
    entries = {}
    for group, own in by_group(runs).items():
        scores = counted_scores(own)
        if scores and not (complete and len(scores) < len(own)):
            passed = sum(run.outcome == "passed" for run in own)
            entries[group] = Entry(tuple(sorted(scores)), passed)
    return entries


def deterministic_groups(runs: Sequence[RunRecord]) -> set[str]:
    """Return the groups whose student does the same every time."""
    return {group_of(run.nodeid, run.epoch) for run in runs if run.model in DETERMINISTIC}


def compare(
    before: Mapping[str, Entry],
    after: Mapping[str, Entry],
    *,
    deterministic: Collection[str] = (),
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare two measurements.

    Args:
        before: The earlier one, by group.
        after: The later one.
        deterministic: Groups whose student does the same every time.
        confidence: A drop is significant if chance would bring it less often than the rest to 1.
            Over many tasks the bound is Holm's: the chance of even one false alarm stays as low.
    """
    shared = sorted(before.keys() & after.keys())
    changes = [
        Change(group, before[group], after[group], drop_of_scores(before[group], after[group]))
        for group in shared
    ]
    random = [c for c in changes if c.group not in deterministic]
    dropped = _holm(random, 1 - confidence)
    dropped |= {c.group for c in changes if c.group in deterministic and c.difference < -SAME}
    means = [[entry.mean for entry in (c.before, c.after)] for c in random]
    chance = drop_of_pairs([old for old, _ in means], [new for _, new in means])
    return Comparison(
        changes=tuple(
            Change(c.group, c.before, c.after, c.chance, has_dropped=c.group in dropped)
            for c in changes
        ),
        new=tuple(sorted(after.keys() - before.keys())),
        stale=tuple(sorted(before.keys() - after.keys())),
        chance=chance,
        has_dropped=chance is not None and chance < 1 - confidence,
    )


def drop_of_scores(before: Entry, after: Entry) -> float | None:
    """Return how likely the mean falls as much by chance, if both are draws of the same.

    Of all ways to share out the scores it is the share of those in which it falls as much (an exact
    permutation test; of scores 0 and 1 it is Fisher's). Of many runs it is Welch's t test.
    """
    n, m = len(before.scores), len(after.scores)
    if math.comb(n + m, m) > EXACT_WAYS:
        found = drop_of_mean(before.scores, after.scores)
        return found if found is not None else drop_of_share((before.passed, n), (after.passed, m))
    total = math.fsum(after.scores) + SAME
    scores = (*before.scores, *after.scores)
    ways = [math.fsum(chosen) <= total for chosen in itertools.combinations(scores, m)]
    return sum(ways) / len(ways)


def _holm(changes: Sequence[Change], level: float) -> set[str]:
    """Return the groups that fell significantly, by Holm's step-down bound over all of them."""
    dropped: set[str] = set()
    fallen = sorted(
        ((c.chance, c.group) for c in changes if c.chance is not None), key=lambda pair: pair[0]
    )
    for index, (chance, group) in enumerate(fallen):
        if chance >= level / (len(fallen) - index):
            break
        dropped.add(group)
    return dropped

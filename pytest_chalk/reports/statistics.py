"""How sure a number is: means with intervals, pass@k, tests of a drop, and when to stop. Pure.

Undefined is None, never 0 or 1: an interval of one score or of scores that are all alike, pass@k of
fewer than k runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_chalk.reports.distributions import incomplete_beta, log_beta, t_quantile, t_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
"""Of intervals where nobody says otherwise."""

NO_SPREAD = 1e-12
"""A standard error below it is the rounding of scores that are all alike."""

Side: TypeAlias = Literal["above", "below"]


@dataclass(frozen=True)
class Interval:
    """Where the truth lies, with `confidence`, by a method that misses it that seldom."""

    low: float
    high: float
    confidence: float = CONFIDENCE


@dataclass(frozen=True)
class Estimate:
    """A mean and how sure it is.

    Attributes:
        mean: Over all scores, each of the same weight.
        interval: None where there is nothing to judge the spread by: fewer than two scores, or
            than two clusters, or all of them alike.
        count: How many scores.
    """

    mean: float
    interval: Interval | None
    count: int


def mean_estimate(scores: Sequence[float], confidence: float = CONFIDENCE) -> Estimate | None:
    """Return the mean of independent scores with Student's t interval; None of no scores."""
    return clustered_estimate([[score] for score in scores], confidence)


def clustered_estimate(
    clusters: Sequence[Sequence[float]], confidence: float = CONFIDENCE
) -> Estimate | None:
    """Return the mean of scores that come in clusters, such as the epochs of each task.

    Scores of one task resemble each other: taken as independent they would make the interval too
    narrow. The standard error is the one that is robust to clusters, with G / (G - 1) for G of
    them, and t has G - 1 degrees of freedom. Clusters of one score give Student's interval of all
    scores, clusters of equal size that of the clusters' means. None where there are no scores.
    """
    filled = [cluster for cluster in clusters if cluster]
    count = sum(map(len, filled))
    if not count:
        return None
    mean = math.fsum(math.fsum(cluster) for cluster in filled) / count
    if len(filled) < 2:
        return Estimate(mean, None, count)
    off = [math.fsum(score - mean for score in cluster) for cluster in filled]
    groups = len(filled)
    variance = math.fsum(each * each for each in off) * groups / (groups - 1) / count**2
    if math.sqrt(variance) < NO_SPREAD:
        return Estimate(mean, None, count)
    reach = t_quantile((1 - confidence) / 2, groups - 1) * math.sqrt(variance)
    return Estimate(mean, Interval(mean - reach, mean + reach, confidence), count)


def share_interval(hits: int, count: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's interval of a share, for example of runs that passed; None of no runs."""
    if count < 1:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    reach = z * math.sqrt(share * (1 - share) / count + spread / count / 4) / (1 + spread)
    low = 0.0 if hits == 0 else middle - reach
    high = 1.0 if hits == count else middle + reach
    return Interval(low, high, confidence)


def pass_at_k(passed: int, count: int, k: int) -> float | None:
    """Return the probability that of `k` runs at least one passes, estimated from `count` runs.

    The unbiased estimate: over all ways to choose k of the runs. None with fewer than k runs.
    """
    if not 1 <= k <= count:
        return None
    return 1 - math.comb(count - passed, k) / math.comb(count, k)


def pass_hat_k(passed: int, count: int, k: int) -> float | None:
    """Return the probability that all of `k` runs pass (pass^k); None with fewer than k runs."""
    if not 1 <= k <= count:
        return None
    return math.comb(passed, k) / math.comb(count, k)


def is_flaky(passed: int, count: int) -> bool:
    """Tell whether some runs of the same task by the same student passed and some did not."""
    return 0 < passed < count


def drop_of_mean(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Return how likely a drop as large is by chance alone (Welch's t test, one-sided).

    None where it cannot be told: fewer than two scores on a side, or no spread on either.
    """
    if len(before) < 2 or len(after) < 2:
        return None
    errors = [_variance(scores) / len(scores) for scores in (before, after)]
    error = sum(errors)
    if math.sqrt(error) < NO_SPREAD:
        return None
    parts = zip(errors, (before, after), strict=True)
    df = error**2 / sum(each**2 / (len(scores) - 1) for each, scores in parts)
    t = (_mean(before) - _mean(after)) / math.sqrt(error)
    return t_tail(t, df)


def drop_of_pairs(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Return how likely a drop as large is by chance, of means of the same tasks (paired t test).

    None where it cannot be told: fewer than two tasks, or all changed by the same amount.
    """
    drops = [old - new for old, new in zip(before, after, strict=True)]
    if len(drops) < 2:
        return None
    error = math.sqrt(_variance(drops) / len(drops))
    return t_tail(_mean(drops) / error, len(drops) - 1) if error >= NO_SPREAD else None


def drop_of_share(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return how likely as few passes are by chance, given as (passed, runs), by Fisher's test."""
    (old_passed, old_runs), (new_passed, new_runs) = before, after
    passed, runs = old_passed + new_passed, old_runs + new_runs
    least = max(0, passed - old_runs)
    ways = sum(
        math.comb(new_runs, hits) * math.comb(old_runs, passed - hits)
        for hits in range(least, new_passed + 1)
    )
    return ways / math.comb(runs, passed)


def decided_side(
    scores: Sequence[float], bar: float, confidence: float = CONFIDENCE
) -> Side | None:
    """Return on which side of `bar` the true mean of scores from 0 to 1 lies; None: not yet known.

    It may be asked after every score and is still wrong at most as often as `confidence` allows,
    on each side: by Ville's inequality the product of bets against the bar (here their mixture
    over all true means on the other side, each weighed alike) exceeds 1 / (1 - confidence) no
    more often than that if the bar was not passed. An interval looked at as often would be wrong
    several times as often. Scores outside 0 to 1 decide nothing.
    """
    count = len(scores)
    if not count or min(scores) < 0 or max(scores) > 1:
        return None
    if not 0 < bar < 1:
        return _decided_at_the_end(scores, bar)
    hits = math.fsum(scores)
    below = incomplete_beta(hits + 1, count - hits + 1, bar)
    fair = log_beta(hits + 1, count - hits + 1)
    fair -= hits * math.log(bar) + (count - hits) * math.log1p(-bar)
    enough = -math.log(1 - confidence)
    if _log(1 - below) + fair - math.log1p(-bar) >= enough:
        return "above"
    return "below" if _log(below) + fair - math.log(bar) >= enough else None


def _decided_at_the_end(scores: Sequence[float], bar: float) -> Side | None:
    """Decide bars at the end of the range or beyond, which need no statistics."""
    if bar <= 0:
        return "above"
    return "below" if bar > 1 or min(scores) < 1 else None


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)


def _variance(scores: Sequence[float]) -> float:
    mean = _mean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf

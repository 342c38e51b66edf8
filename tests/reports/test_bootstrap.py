"""Bootstrap intervals: the same everywhere, within the scores, near what they converge to."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_chalk.reports.bootstrap import Moments, limit_interval, resampled_interval
from pytest_chalk.reports.distributions import t_quantile
from pytest_chalk.reports.statistics import mean_estimate

SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def moments_of(scores):
    mean = math.fsum(scores) / len(scores)
    second, third = (math.fsum((s - mean) ** k for s in scores) / len(scores) for k in (2, 3))
    spread = statistics.stdev(scores)
    return Moments(len(scores), mean, spread, third / second**1.5, min(scores), max(scores))


@settings(max_examples=30, deadline=None)
@given(SCORES)
def test_an_interval_holds_its_mean_and_lies_within_the_scores(scores):
    found = resampled_interval(scores, "seed")

    if found is None:
        assert max(scores) - min(scores) < 1e-9
    else:
        assert min(scores) - 1e-9 <= found.low <= found.high <= max(scores) + 1e-9
        mean = math.fsum(scores) / len(scores)
        assert found.low - 1e-9 <= mean <= found.high + 1e-9


def test_the_same_scores_and_seed_give_the_same_interval():
    scores = [0.0, 0.25, 1.0, 0.5, 1.0, 0.75]

    first = resampled_interval(scores, "a")

    assert first == resampled_interval(tuple(scores), "a")
    assert (first.low, first.high) == pytest.approx((0.125, 1.0), abs=0.13)
    assert first != resampled_interval(scores, "b")


@pytest.mark.parametrize("count", [2, 3, 200])
def test_scores_near_the_largest_double_have_an_interval_within_them(count):
    largest = sys.float_info.max
    scores = [largest, -largest, *[largest] * (count - 2)]

    found = resampled_interval(scores, "seed")

    assert -largest <= found.low < found.high <= largest
    small = resampled_interval([score / 2**100 for score in scores], "seed")
    assert (found.low / 2**100, found.high / 2**100) == (small.low, small.high)


@pytest.mark.parametrize("scores", [[], [0.5], [1.0, 1.0, 1.0], [0.3] * 50])
def test_what_says_nothing_about_spread_has_no_interval(scores):
    assert resampled_interval(scores, "seed") is None


def test_many_scores_that_are_alike_have_no_interval():
    assert limit_interval(Moments(1_000, 1.0, 0.0, 0.0, 1.0, 1.0)) is None


def test_an_interval_of_few_scores_is_nearly_all_that_can_be_drawn():
    scores = (0.0, 0.1, 0.9)
    means = [math.fsum(drawn) / 3 for drawn in itertools.product(scores, repeat=3)]

    found = resampled_interval(scores, "seed")

    assert (found.low, found.high) == pytest.approx((min(means), max(means)))


def test_of_scores_0_and_1_the_ends_are_quantiles_of_the_binomial_distribution():
    n, hits = 60, 48
    found = resampled_interval([1.0] * hits + [0.0] * (n - hits), "seed")

    def at_most(k):
        return sum(
            math.comb(n, i) * (hits / n) ** i * (1 - hits / n) ** (n - i) for i in range(k + 1)
        )

    reach = t_quantile(0.025, n - 1) * math.sqrt(n / (n - 1))
    tail = statistics.NormalDist().cdf(-reach)
    exact = [next(k for k in range(n + 1) if at_most(k) >= p) / n for p in (tail, 1 - tail)]
    assert (found.low, found.high) == pytest.approx(exact, abs=1.5 / n)


@pytest.mark.parametrize(
    "draw",
    [
        lambda chance: chance.random(),
        lambda chance: float(chance.random() < 0.9),
        lambda chance: chance.expovariate(1) ** 2,
        lambda chance: chance.choice([0.0, 0.5, 1.0]),
    ],
    ids=["even", "mostly-1", "skewed", "three-values"],
)
def test_above_the_limit_the_interval_is_what_draws_converge_to(draw):
    chance = random.Random(3)
    scores = [draw(chance) for _ in range(200)]
    error = statistics.stdev(scores) / math.sqrt(200)

    drawn, limit = resampled_interval(scores, "seed"), limit_interval(moments_of(scores))

    assert limit.low == pytest.approx(drawn.low, abs=0.2 * error)
    assert limit.high == pytest.approx(drawn.high, abs=0.2 * error)


def test_without_skewness_the_limit_is_students_interval():
    found = limit_interval(Moments(401, 0.5, 0.2, 0.0, 0.0, 1.0))

    reach = t_quantile(0.025, 400) * 0.2 / math.sqrt(401)
    assert (found.low, found.high) == pytest.approx((0.5 - reach, 0.5 + reach))


@pytest.mark.parametrize("n", [6, 15])
def test_an_interval_holds_the_truth_as_often_as_students_and_is_no_wider(n):
    chance = random.Random(n)
    hits, widths = 0, [0.0, 0.0]
    for number in range(60):
        scores = [chance.random() for _ in range(n)]
        found, students = resampled_interval(scores, str(number)), mean_estimate(scores).interval
        hits += found.low <= 0.5 <= found.high
        widths[0] += found.high - found.low
        widths[1] += students.high - students.low

    assert hits >= 54  # of 57 to be expected
    assert 0.9 < widths[0] / widths[1] < 1.05

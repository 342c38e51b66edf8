"""Statistics: equal to scipy's, and undefined where undefined."""

from __future__ import annotations

import itertools
import math
import random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from pytest_chalk.reports.distributions import incomplete_beta, t_quantile, t_tail
from pytest_chalk.reports.statistics import (
    clustered_estimate,
    decided_side,
    drop_of_mean,
    drop_of_pairs,
    drop_of_share,
    is_flaky,
    mean_estimate,
    pass_at_k,
    pass_hat_k,
    share_interval,
)

CLOSE = {"rel": 1e-9, "abs": 1e-12}
scores = st.floats(0, 1, allow_nan=False).map(lambda score: round(score, 3))
confidences = st.sampled_from([0.5, 0.9, 0.95, 0.99])


def near(value):
    return pytest.approx(value, **CLOSE)


@given(st.floats(0.5, 500), st.floats(0.5, 500), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_the_incomplete_beta_function_is_scipys(a, b, x):
    assert incomplete_beta(a, b, x) == near(special.betainc(a, b, x))


@given(st.integers(1, 5_000), st.floats(-50, 50))
@settings(max_examples=100, deadline=None)
def test_the_tail_of_t_is_scipys(df, t):
    assert t_tail(t, df) == near(stats.t.sf(t, df))


@pytest.mark.parametrize("df", [1, 2, 4, 30, 1_000, 100_000])
@pytest.mark.parametrize("tail", [0.25, 0.05, 0.025, 0.005, 1e-6])
def test_the_quantile_of_t_is_scipys(df, tail):
    assert t_quantile(tail, df) == pytest.approx(stats.t.isf(tail, df), rel=1e-9)


@given(st.lists(scores, min_size=2, max_size=30), confidences)
@settings(max_examples=100, deadline=None)
def test_the_interval_of_a_mean_is_scipys(found, confidence):
    estimate = mean_estimate(found, confidence)

    assert estimate.mean == near(fmean(found))
    if max(found) == min(found):
        assert estimate.interval is None  # scipy's is nan
        return
    expected = stats.t.interval(confidence, len(found) - 1, fmean(found), stats.sem(found))
    assert (estimate.interval.low, estimate.interval.high) == near(expected)


@given(
    st.integers(1, 5).flatmap(
        lambda size: st.lists(
            st.lists(scores, min_size=size, max_size=size), min_size=2, max_size=8
        )
    )
)
@settings(max_examples=100, deadline=None)
def test_of_clusters_of_equal_size_it_is_scipys_of_their_means(clusters):
    means = [fmean(cluster) for cluster in clusters]

    estimate = clustered_estimate(clusters)

    assert estimate.mean == near(fmean(means))
    error = stats.sem(means)
    if error < 1e-9:
        assert estimate.interval is None or error > 1e-13
        return
    expected = stats.t.interval(0.95, len(means) - 1, fmean(means), error)
    assert (estimate.interval.low, estimate.interval.high) == near(tuple(expected))


def test_a_mean_of_uneven_clusters_weighs_every_score_alike():
    estimate = clustered_estimate([[1.0, 1.0, 1.0], [0.0], []])

    assert (estimate.mean, estimate.count) == (0.75, 4)
    # sums of residuals: 0.75 and -0.75; (2 * 0.75 ** 2 * 2 / 1) / 4 ** 2
    reach = stats.t.ppf(0.975, 1) * math.sqrt(2 * 0.75**2 * 2 / 16)
    assert estimate.interval.high == near(0.75 + reach)


def test_repeating_each_score_of_a_task_does_not_make_the_mean_surer():
    once = clustered_estimate([[0.0], [1.0], [1.0]])
    often = clustered_estimate([[0.0] * 10, [1.0] * 10, [1.0] * 10])

    assert often.interval == once.interval
    assert mean_estimate([0.0] * 10 + [1.0] * 20).interval.low > once.interval.low


def test_an_interval_covers_the_truth_as_often_as_it_says():
    rng = random.Random(7)
    inside = 0
    for _ in range(1_000):
        tasks = [rng.random() for _ in range(12)]
        clusters = [[min(1, max(0, rng.gauss(t, 0.1))) for _ in range(4)] for t in tasks]
        interval = clustered_estimate(clusters).interval
        inside += interval.low <= 0.5 <= interval.high

    assert inside / 1_000 == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("found", [[0.5], [1.0]])
def test_one_score_has_a_mean_and_no_interval(found):
    estimate = mean_estimate(found)

    assert (estimate.mean, estimate.interval, estimate.count) == (found[0], None, 1)


@pytest.mark.parametrize("score", [0.0, 0.1, 1.0])
def test_scores_that_are_all_alike_say_nothing_about_their_spread(score):
    assert mean_estimate([score] * 3).interval is None


def test_one_task_of_many_epochs_has_no_interval_over_tasks():
    assert clustered_estimate([[0.0, 1.0, 0.5]]).interval is None


def test_no_scores_have_no_mean():
    assert mean_estimate([]) is None
    assert clustered_estimate([[], []]) is None
    assert share_interval(0, 0) is None


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), confidences)
@settings(max_examples=100, deadline=None)
def test_the_interval_of_a_share_is_scipys(found, confidence):
    hits, count = found

    interval = share_interval(hits, count, confidence)

    expected = stats.binomtest(hits, count).proportion_ci(confidence, method="wilson")
    assert (interval.low, interval.high) == near((expected.low, expected.high))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("passed", [0, 1, 3, 5])
def test_pass_at_k_and_pass_hat_k_are_shares_of_all_ways_to_choose_k_runs(passed, k):
    runs = [True] * passed + [False] * (5 - passed)
    chosen = list(itertools.combinations(runs, k))

    assert pass_at_k(passed, 5, k) == near(fmean(any(c) for c in chosen))
    assert pass_hat_k(passed, 5, k) == near(fmean(all(c) for c in chosen))


@pytest.mark.parametrize("k", [0, 4])
@pytest.mark.parametrize("passed", [0, 1, 3])
def test_pass_at_k_of_fewer_than_k_runs_is_undefined(passed, k):
    assert pass_at_k(passed, 3, k) is None
    assert pass_hat_k(passed, 3, k) is None


def test_a_flaky_task_passes_and_fails():
    found = [is_flaky(passed, 3) for passed in range(4)]

    assert found == [False, True, True, False]


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # of scipy's
@given(st.lists(scores, min_size=2, max_size=20), st.lists(scores, min_size=2, max_size=20))
@settings(max_examples=100, deadline=None)
def test_the_drop_of_a_mean_is_welchs_test(before, after):
    found = drop_of_mean(before, after)

    if len(set(before)) == len(set(after)) == 1:
        assert found is None
        return
    expected = stats.ttest_ind(after, before, equal_var=False, alternative="less").pvalue
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=20))
@settings(max_examples=100, deadline=None)
def test_the_drop_of_pairs_is_the_paired_test(pairs):
    before, after = zip(*pairs, strict=True)
    found = drop_of_pairs(before, after)

    if max(drops := [old - new for old, new in pairs]) - min(drops) < 1e-9:
        return
    expected = stats.ttest_rel(after, before, alternative="less").pvalue
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=100, deadline=None)
def test_the_drop_of_a_share_is_fishers_test(old_passed, old_failed, new_passed, new_failed):
    found = drop_of_share(
        (old_passed, old_passed + old_failed), (new_passed, new_passed + new_failed)
    )

    table = [[new_passed, new_failed], [old_passed, old_failed]]
    assert found == near(stats.fisher_exact(table, alternative="less").pvalue)


def test_a_drop_that_cannot_be_told_is_undefined():
    assert drop_of_mean([1.0], [0.0, 0.0]) is None
    assert drop_of_mean([1.0, 1.0], [0.0, 0.0]) is None
    assert drop_of_pairs([1.0], [0.0]) is None
    assert drop_of_pairs([1.0, 1.0], [0.5, 0.5]) is None
    assert drop_of_pairs([0.1, 0.2, 0.7], [0.0, 0.1, 0.6]) is None


def mixture(found, bar, low, high):
    hits, count = sum(found), len(found)
    value, _ = integrate.quad(
        lambda q: (q / bar) ** hits * ((1 - q) / (1 - bar)) ** (count - hits), low, high
    )
    return value / (high - low)


@given(st.lists(scores, min_size=1, max_size=25), st.sampled_from([0.2, 0.5, 0.6, 0.8, 0.9]))
@settings(max_examples=150, deadline=None)
def test_a_side_is_decided_where_the_mixture_of_bets_has_won_20_fold(found, bar):
    above, below = mixture(found, bar, bar, 1), mixture(found, bar, 0, bar)

    expected = "above" if above >= 20 else "below" if below >= 20 else None
    if min(abs(above - 20), abs(below - 20)) > 1e-6:
        assert decided_side(found, bar) == expected


@pytest.mark.parametrize(("bar", "enough"), [(0.5, 7), (0.6, 9), (0.8, 20), (0.9, 43)])
def test_so_many_passes_in_a_row_are_enough(bar, enough):
    assert decided_side([1.0] * (enough - 1), bar) is None
    assert decided_side([1.0] * enough, bar) == "above"


@pytest.mark.parametrize("rate", [0.6, 0.59])
def test_looking_after_every_score_is_wrong_in_less_than_1_of_20_cases(rate):
    rng = random.Random(1)
    wrong = 0
    for _ in range(600):
        found = []
        for _ in range(60):
            found.append(float(rng.random() < rate))
            side = decided_side(found, 0.6)
            if side:
                wrong += side == "above"
                break

    assert wrong / 600 <= 0.05


@pytest.mark.parametrize(
    ("found", "bar", "side"),
    [
        ([], 0.5, None),
        ([0.0], 0.0, "above"),
        ([1.0] * 50, 1.0, None),
        ([1.0, 1.0, 0.99], 1.0, "below"),
        ([1.0], 1.5, "below"),
        ([2.0] * 50, 0.5, None),
        ([-1.0] * 50, 0.5, None),
    ],
)
def test_bars_and_scores_at_the_ends_and_outside(found, bar, side):
    assert decided_side(found, bar) == side

"""What `ranges` has to do. Not named `test_*`, so that only the judge runs it."""

import random

import pytest
from ranges import count, merge


def test_nothing_merges_to_nothing():
    assert merge([]) == []
    assert count([]) == 0


def test_ranges_that_overlap_are_one():
    assert merge([(1, 4), (3, 7)]) == [(1, 7)]


def test_ranges_apart_stay_apart():
    assert merge([(1, 2), (4, 5)]) == [(1, 2), (4, 5)]


def test_ranges_that_touch_are_one():
    assert merge([(1, 2), (3, 4)]) == [(1, 4)]


def test_a_range_inside_another_adds_nothing():
    assert merge([(1, 9), (2, 3), (5, 5)]) == [(1, 9)]


def test_the_order_of_the_argument_does_not_matter():
    assert merge([(6, 8), (1, 2), (2, 7)]) == [(1, 8)]


def test_the_argument_is_not_changed():
    given = [(5, 6), (1, 2)]
    merge(given)
    assert given == [(5, 6), (1, 2)]


@pytest.mark.parametrize("seed", range(20))
def test_exactly_the_same_numbers_are_covered(seed):
    rng = random.Random(seed)
    given = [(first, first + rng.randint(0, 6)) for first in rng.choices(range(-20, 20), k=8)]
    covered = {n for first, last in given for n in range(first, last + 1)}

    merged = merge(given)

    assert {n for first, last in merged for n in range(first, last + 1)} == covered
    assert all(merged[i][1] + 1 < merged[i + 1][0] for i in range(len(merged) - 1))
    assert count(given) == len(covered)

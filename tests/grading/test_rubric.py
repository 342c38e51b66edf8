from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.grading.rubric import (
    Criterion,
    compose_request,
    describe,
    majority,
    parse_rubric,
    total,
)
from pytest_chalk.grading.verdict import Verdict

YES, NO = Verdict(met=True, reason="so"), Verdict(met=False, reason="not so")
VERDICTS = st.sampled_from([YES, NO])
WEIGHTS = st.floats(-1e6, 1e6)


def test_a_rubric_is_read_as_it_is_written():
    assert parse_rubric(
        [
            {"criterion": " It is short. ", "weight": 0.5},
            {"criterion": "It lies.", "weight": -1},
            {"criterion": "It rhymes.", "weight": "0.25"},
        ]
    ) == (
        Criterion("It is short.", 0.5),
        Criterion("It lies.", -1.0),
        Criterion("It rhymes.", 0.25),
    )


@pytest.mark.parametrize(
    ("rubric", "problem"),
    [
        ([], r"rubric: is \[\]"),
        (None, "rubric: is None"),
        ("criteria", "rubric: is 'criteria'"),
        ({"criterion": "x", "weight": 1}, "rubric: is"),
        (["It is short."], r"rubric\[0\]: is 'It is short.'"),
        (
            [{"criterion": "x", "weight": 1}, {"criterion": " ", "weight": 1}],
            r"\[1\]: has the crit",
        ),
        ([{"criterion": 1, "weight": 1}], "has the criterion 1"),
        ([{"criterion": "x"}], "has the weight None"),
        ([{"criterion": "x", "weight": "much"}], "has the weight 'much'"),
        ([{"criterion": "x", "weight": math.nan}], "has the weight nan"),
        ([{"criterion": "x", "weight": "inf"}], "has the weight 'inf'"),
        ([{"criterion": "x", "weight": True}], "has the weight True"),
        ([{"criterion": "x", "weight": 1, "wieght": 1}], "unknown key 'wieght'"),
    ],
)
def test_a_rubric_that_cannot_be_used_says_where_and_what(rubric, problem):
    with pytest.raises(TaskDefinitionError, match=problem):
        parse_rubric(rubric)


def test_the_work_stands_between_two_nonces_and_the_criterion_after_it():
    rules, question = compose_request("the work {criterion} {}", "It is good.", "DATA-1")

    before, inside, after = question.text.split("DATA-1")
    assert (before, inside) == ("", "\nthe work {criterion} {}\n")
    assert "It is good." in after
    assert "DATA-1" in rules.text
    assert (rules.role, question.role) == ("system", "user")


def test_a_nonce_that_is_in_the_work_is_refused():
    with pytest.raises(ValueError, match="nonce"):
        compose_request("I guess DATA-1", "x", "DATA-1")


@given(st.lists(st.none() | VERDICTS, min_size=1, max_size=9))
def test_a_majority_is_more_than_half_of_all_votes(votes):
    found = majority(votes, len(votes))

    counted = {met: sum(v is not None and v.met is met for v in votes) for met in (True, False)}
    wanted = [met for met, count in counted.items() if count > len(votes) / 2]
    assert [found.met] * (found is not None) == wanted if found else wanted == []


@given(st.lists(st.tuples(WEIGHTS, VERDICTS), min_size=1, max_size=20), st.randoms())
def test_the_total_is_the_sum_of_what_is_met_in_any_order(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)

    def score(some):
        return total([Criterion("x", weight) for weight, _ in some], [v for _, v in some])

    assert score(pairs) == score(shuffled)
    assert score(pairs) == math.fsum(weight for weight, verdict in pairs if verdict.met)


def test_each_criterion_is_described_with_its_mark_weight_and_reason():
    criteria = [Criterion("It is short.", 0.5), Criterion("x" * 100, 1), Criterion("x" * 100, -1)]

    described = describe(criteria, [YES, Verdict(met=False, reason=""), None])

    assert described == {
        "criterion 1: It is short.": "✓ (0.5) so",
        f"criterion 2: {'x' * 60}": "✗ (1) no reason given",
        f"criterion 3: {'x' * 60}": "? (-1) no verdict",
    }

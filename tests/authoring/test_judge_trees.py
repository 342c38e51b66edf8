"""Combinations of judges behave as Python's `and` and `or` do, whatever the tree."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.authoring.judge import AndJudge, Judge, OrJudge
from pytest_chalk.errors import StudentMisbehaviorError
from pytest_chalk.runner.user_code import Misbehaved, Returned, call_user_code
from pytest_chalk.schemas.record import Failure
from pytest_chalk.schemas.scoring import Scoring
from pytest_chalk.schemas.transcript import Transcript

EMPTY = Transcript(run_id="r")
KINDS = ("pass", "fail", "void", "misbehaves", "crashes")


@dataclass
class Leaf(Judge):
    kind: str
    score: float
    asked: list

    def evaluate(self, transcript):
        self.asked.append(self)
        if self.kind == "misbehaves":
            raise StudentMisbehaviorError("caught")
        if self.kind == "crashes":
            raise ZeroDivisionError
        void = "broken" if self.kind == "void" else None
        return Scoring(self.score, {"kind": self.kind}, self.kind == "pass", void)


class VoidError(Exception):
    """Stands for a void scoring, which ends everything, in the plain Python below."""


def expected(judge, asked):
    """Return the leaf that decides, asking as Python's own operators do."""
    if isinstance(judge, Leaf):
        return expected_of_leaf(judge, asked)
    ends_on = not isinstance(judge, AndJudge)
    decided = None
    for one in judge.judges:
        decided = expected(one, asked)
        if (decided.kind == "pass") is ends_on:
            break
    return decided


def expected_of_leaf(leaf, asked):
    asked.append(leaf)
    errors = {
        "misbehaves": StudentMisbehaviorError,
        "crashes": ZeroDivisionError,
        "void": VoidError,
    }
    if leaf.kind in errors:
        raise errors[leaf.kind]
    return leaf


@st.composite
def trees(draw, kinds=KINDS):
    asked = []
    leaves = st.builds(
        lambda kind, score: Leaf(kind, score, asked), st.sampled_from(kinds), st.floats(-2, 2)
    )
    tree = draw(
        st.recursive(
            leaves,
            lambda below: st.builds(
                lambda kind, some: kind(some),
                st.sampled_from([AndJudge, OrJudge]),
                st.lists(below, min_size=1, max_size=3),
            ),
            max_leaves=12,
        )
    )
    return tree, asked


@given(trees())
def test_the_leaves_that_are_asked_are_those_that_python_would_ask(made):
    tree, asked = made
    wanted = []
    with suppress(StudentMisbehaviorError, ZeroDivisionError, VoidError):
        expected(tree, wanted)

    call_user_code("judge", lambda: tree.evaluate(EMPTY))

    assert [id(leaf) for leaf in asked] == [id(leaf) for leaf in wanted]


@given(trees())
def test_the_verdict_is_the_deciding_leafs_and_nothing_stands_in_for_what_broke(made):
    tree, _ = made

    came = call_user_code("judge", lambda: tree.evaluate(EMPTY))

    try:
        leaf = expected(tree, [])
    except StudentMisbehaviorError:
        assert isinstance(came, Misbehaved)
    except ZeroDivisionError:
        assert isinstance(came, Failure)
    except VoidError:
        assert isinstance(came, Returned)
        assert came.value.void == "broken"
    else:
        assert isinstance(came, Returned)
        found = came.value
        assert (found.score, found.continue_task) == (leaf.score, leaf.kind == "pass")
        assert found.void is None


@given(trees(kinds=("pass", "fail")), trees(kinds=("pass", "fail")))
def test_operators_are_pythons_own_on_pass_and_fail(left, right):
    (a, _), (b, _) = left, right
    passes = {id(judge): judge.evaluate(EMPTY).continue_task for judge in (a, b)}

    assert (a & b).evaluate(EMPTY).continue_task is (passes[id(a)] and passes[id(b)])
    assert (a | b).evaluate(EMPTY).continue_task is (passes[id(a)] or passes[id(b)])


@pytest.mark.parametrize("kind", ["misbehaves", "crashes"])
def test_what_is_never_asked_changes_nothing(kind):
    asked = []
    passes, fails = Leaf("pass", 1.0, asked), Leaf("fail", 0.0, asked)
    bad = Leaf(kind, 0.0, asked)

    assert (passes | bad).evaluate(EMPTY).continue_task is True
    assert (fails & bad).evaluate(EMPTY).continue_task is False
    assert bad not in asked

"""Judges combined: who is asked, whose verdict counts, and what a reader sees."""

from __future__ import annotations

import pytest

from pytest_chalk.authoring.judge import AndJudge, Judge, OrJudge, checked_scoring
from pytest_chalk.errors import ScoringError, StudentMisbehaviorError
from pytest_chalk.schemas.scoring import Scoring
from pytest_chalk.schemas.transcript import Transcript

EMPTY = Transcript(run_id="r")


class Says(Judge):
    """Returns one scoring and counts how often it was asked."""

    def __init__(self, score, metadata=None, void=None, *, passes=None):
        goes_on = score > 0 if passes is None else passes
        self.scoring = Scoring(score, metadata or {}, goes_on, void)
        self.asked = 0

    def evaluate(self, _transcript):
        self.asked += 1
        return self.scoring


class Good(Says):
    def __init__(self, score=1.0, metadata=None):
        super().__init__(score, metadata)


class Bad(Says):
    def __init__(self, score=0.0, metadata=None):
        super().__init__(score, metadata)


class Void(Says):
    def __init__(self, *, passes):
        super().__init__(0.0, {"error": "no script"}, "no script", passes=passes)


class Raises(Judge):
    def __init__(self, error):
        self.error = error

    def evaluate(self, _transcript):
        raise self.error


class Returns(Judge):
    def __init__(self, value):
        self.value = value

    def evaluate(self, _transcript):
        return self.value


def tree(judge):
    return judge.evaluate(EMPTY).metadata["judges"]


def children(judge):
    return judge.evaluate(EMPTY).metadata["children"]


def test_and_asks_all_as_long_as_they_pass_and_returns_the_last_verdict():
    first, last = Good(0.5), Good(0.75)

    scoring = (first & last).evaluate(EMPTY)

    assert (scoring.score, scoring.continue_task) == (0.75, True)
    assert (first.asked, last.asked) == (1, 1)


def test_and_stops_at_the_first_that_does_not_pass():
    first, second, third = Good(), Says(0.25, passes=False), Good()

    scoring = (first & second & third).evaluate(EMPTY)

    assert (scoring.score, scoring.continue_task) == (0.25, False)
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)


def test_or_stops_at_the_first_that_passes():
    first, second, third = Bad(), Good(0.5), Good()

    scoring = (first | second | third).evaluate(EMPTY)

    assert (scoring.score, scoring.continue_task) == (0.5, True)
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)


def test_or_returns_the_last_verdict_if_nobody_passes():
    scoring = (Bad() | Says(0.25, passes=False)).evaluate(EMPTY)

    assert (scoring.score, scoring.continue_task) == (0.25, False)


def test_pass_or_fail_is_continue_task_and_never_the_score():
    zero_passes, one_fails = Says(0.0, passes=True), Says(1.0, passes=False)

    assert (zero_passes & one_fails).evaluate(EMPTY).score == 1.0
    assert (one_fails | zero_passes).evaluate(EMPTY).score == 0.0


@pytest.mark.parametrize("kind", [AndJudge, OrJudge])
def test_a_combination_of_nothing_is_refused(kind):
    with pytest.raises(ValueError, match="at least one judge"):
        kind([])


@pytest.mark.parametrize("other", [None, 1, "judge", Judge, Scoring(1.0, {}, continue_task=True)])
def test_what_is_no_judge_cannot_be_combined(other):
    with pytest.raises(TypeError):
        _ = Good() & other
    with pytest.raises(TypeError):
        _ = Good() | other
    with pytest.raises(TypeError, match="AndJudge combines judges"):
        AndJudge([Good(), other])


def test_equal_operators_in_a_row_are_one_combination():
    a, b, c = Good(), Good(), Good()

    assert (a & b & c).judges == (a, b, c)
    assert (a | b | c).judges == (a, b, c)


def test_only_the_left_side_is_taken_apart():
    a, b, c, d = Good(), Good(), Good(), Good()

    assert len((a & (b & c)).judges) == 2
    assert [len(getattr(j, "judges", "x")) for j in ((a & b) & (c & d)).judges] == [1, 1, 2]


def test_different_operators_stay_nested():
    a, b, c = Good(), Good(), Good()
    both = a & b

    assert (both | c).judges == (both, c)


def test_combining_does_not_change_the_combination_it_starts_from():
    pair = Good() & Good()

    _ = pair & Good()

    assert len(pair.judges) == 2


@pytest.mark.parametrize("passes", [True, False])
def test_a_judge_that_broke_ends_the_tree_and_its_score_stays_void(passes):
    after = Good()

    for combined in (Void(passes=passes) & after, Void(passes=passes) | after):
        scoring = combined.evaluate(EMPTY)
        assert (scoring.void, scoring.metadata["error"]) == ("no script", "no script")

    assert after.asked == 0


def test_a_void_verdict_inside_a_nested_tree_ends_the_outer_one_too():
    after = Good()

    scoring = ((Void(passes=False) & Good()) | after).evaluate(EMPTY)

    assert scoring.void == "no script"
    assert after.asked == 0


@pytest.mark.parametrize("error", [RuntimeError("broken"), StudentMisbehaviorError("a symlink")])
def test_what_a_judge_raises_ends_the_tree(error):
    after = Good()

    for combined in (Raises(error) | after, Good() & Raises(error) & after):
        with pytest.raises(type(error)):
            combined.evaluate(EMPTY)

    assert after.asked == 0


@pytest.mark.parametrize("value", [None, True, 1.0, {"score": 1.0}, "x" * 10_000])
def test_a_judge_that_returns_no_scoring_is_named_in_the_error(value):
    with pytest.raises(ScoringError, match=r"Returns\.evaluate: returned .* no Scoring") as refused:
        (Good() & Returns(value)).evaluate(EMPTY)

    assert len(str(refused.value)) < 500


def test_a_scoring_is_checked_by_being_handed_back():
    scoring = Scoring(1.0, {}, continue_task=True)

    assert checked_scoring(Good(), scoring) is scoring


def test_children_keep_each_verdict_as_structure():
    combined = Good(0.5, {"answer": "42"}) & Bad(0.0, {"reason": ["a", "b"]}) & Good()

    assert children(combined) == [
        {
            "judge": "Good",
            "evaluated": True,
            "score": 0.5,
            "continue_task": True,
            "metadata": {"answer": "42"},
        },
        {
            "judge": "Bad",
            "evaluated": True,
            "score": 0.0,
            "continue_task": False,
            "metadata": {"reason": ["a", "b"]},
        },
        {"judge": "Good", "evaluated": False},
    ]


def test_a_child_that_broke_says_so():
    (child, _) = children(Void(passes=False) & Good())

    assert child["void"] == "no script"


def test_children_of_children_are_kept_too():
    (nested, _) = children((Good() & Good(0.5)) | Bad())

    assert nested["judge"] == "And"
    assert [child["score"] for child in nested["metadata"]["children"]] == [1.0, 0.5]


def test_the_cause_named_by_the_deciding_judge_stays_on_top():
    scoring = (Good(metadata={"error": "no"}) & Bad(metadata={"error": "exited 3"})).evaluate(EMPTY)

    assert scoring.metadata["error"] == "exited 3"


def test_the_tree_shows_every_judge_its_score_and_its_metadata():
    assert tree(Good(0.5, {"answer": "42", "seen": True, "none": None}) & Bad() & Good()) == (
        "❗ And (score: 0.0)\n"
        "│\n"
        "├─ ✔  Good (score: 0.5)\n"
        "│  ├─ answer: 42\n"
        "│  ├─ seen: true\n"
        "│  └─ none: null\n"
        "├─ ❗ Bad (score: 0.0)\n"
        "└─ ⊘  Good (not evaluated)"
    )


def test_the_tree_of_a_nested_judge_is_set_apart_and_named_once():
    assert tree(((Good() & Bad(metadata={"why": "no"})) | Good()) & Good(0.5)) == (
        "✔  And (score: 0.5)\n"
        "│\n"
        "├─ ✔  Or (score: 1.0)\n"
        "│  │\n"
        "│  ├─ ❗ And (score: 0.0)\n"
        "│  │  │\n"
        "│  │  ├─ ✔  Good (score: 1.0)\n"
        "│  │  └─ ❗ Bad (score: 0.0)\n"
        "│  │     └─ why: no\n"
        "│  │\n"
        "│  └─ ✔  Good (score: 1.0)\n"
        "│\n"
        "└─ ✔  Good (score: 0.5)"
    )


def test_a_value_of_several_lines_stays_under_its_key():
    assert tree(Good(metadata={"stdout": "one\ntwo", "b": [1]}) & Good()) == (
        "✔  And (score: 1.0)\n"
        "│\n"
        "├─ ✔  Good (score: 1.0)\n"
        "│  ├─ stdout: one\n"
        "│  │  two\n"
        "│  └─ b: [1]\n"
        "└─ ✔  Good (score: 1.0)"
    )


def test_a_judge_whose_metadata_has_a_key_judges_is_not_taken_for_a_tree():
    assert "├─ ✔  Good (score: 1.0)\n│  └─ judges: mine\n" in tree(
        Good(metadata={"judges": "mine"}) & Good()
    )


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), {"a": object()}])
def test_the_tree_shows_values_that_json_does_not_know(value):
    assert "└─ found: " in tree(Good(metadata={"found": value}) & Good())


def test_a_long_value_is_cut_in_the_tree_and_whole_in_the_structure():
    combined = Good(metadata={"stdout": "x" * 10_000}) & Good()

    assert "9,500 characters cut" in tree(combined)
    assert children(combined)[0]["metadata"]["stdout"] == "x" * 10_000

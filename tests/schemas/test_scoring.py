"""The verdict of a judge: what it takes, what it refuses, and that it survives being written."""

from __future__ import annotations

import copy
import json
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_chalk.schemas.scoring import Scoring

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
SCORINGS = st.builds(
    Scoring,
    score=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9),
    metadata=st.dictionaries(st.text(), JSON),
    continue_task=st.booleans(),
    void=st.none() | st.text(),
)


class NumpysFloat32(Fraction):
    """Stands for a number of numpy: registered as `numbers.Real`, but no `float`."""


class NumpysBool:
    def __bool__(self) -> bool:
        return True


NumpysBool.__module__, NumpysBool.__name__ = "numpy", "bool_"


class HugeRepr:
    def __repr__(self) -> str:
        return "x" * 10_000


@pytest.mark.parametrize("score", [1, 0, -2, 0.5, 1.5, NumpysFloat32(1, 2), 10**300])
def test_every_finite_real_number_is_a_score_and_none_is_clamped(score):
    scoring = Scoring(score=score, metadata={}, continue_task=True)

    assert scoring.score == float(score)
    assert type(scoring.score) is float


@pytest.mark.parametrize(
    "score", [True, False, "1", "", None, [1], {}, Decimal(1), 1j, NumpysBool()]
)
def test_what_is_no_number_is_no_score(score):
    with pytest.raises(
        ValidationError, match=f"a score is a number, found .*{type(score).__name__}"
    ):
        Scoring(score=score, metadata={}, continue_task=True)


@pytest.mark.parametrize(
    "score", [float("nan"), float("inf"), float("-inf"), 10**400, Fraction(10**400)]
)
def test_a_number_that_is_not_finite_is_no_score(score):
    with pytest.raises(ValidationError, match="a score is a finite number"):
        Scoring(score=score, metadata={}, continue_task=True)


def test_the_message_about_a_wrong_score_stays_short():
    with pytest.raises(ValidationError) as refused:
        Scoring(score=HugeRepr(), metadata={}, continue_task=True)

    assert len(str(refused.value)) < 1_000


def test_a_numpy_bool_decides_like_a_bool():
    scoring = Scoring(1.0, {}, NumpysBool())

    assert scoring.continue_task is True


@pytest.mark.parametrize("continue_task", [1, 0, 1.0, "yes", "True", "", None, [], object()])
def test_nothing_but_a_bool_decides_whether_the_task_goes_on(continue_task):
    with pytest.raises(ValidationError, match="continue_task is True or False"):
        Scoring(1.0, {}, continue_task)


def test_the_three_values_may_be_given_by_position():
    assert Scoring(1.0, {"answer": "42"}, False) == Scoring(  # noqa: FBT003 - what is tested
        score=1.0, metadata={"answer": "42"}, continue_task=False
    )


@pytest.mark.parametrize("fields", [{}, {"score": 1.0}, {"score": 1.0, "metadata": {}}])
def test_all_three_values_must_be_given(fields):
    with pytest.raises(ValidationError, match="continue_task"):
        Scoring(**fields)


def test_a_misspelt_field_is_refused():
    with pytest.raises(ValidationError, match="metdata"):
        Scoring(score=1.0, metadata={}, continue_task=True, metdata={})


def test_a_value_given_twice_is_refused():
    with pytest.raises(TypeError, match="score both by position and by name"):
        Scoring(1.0, {}, True, score=2.0)  # noqa: FBT003 - what is tested


def test_a_fifth_value_is_refused():
    with pytest.raises(TypeError, match="4 values at most"):
        Scoring(1.0, {}, True, None, "more")  # noqa: FBT003 - what is tested


@pytest.mark.parametrize("metadata", [None, [], "text", 1])
def test_metadata_that_is_no_dict_is_refused(metadata):
    with pytest.raises(ValidationError, match="metadata"):
        Scoring(1.0, metadata, continue_task=True)


def test_names_in_metadata_become_text_that_can_be_encoded():
    scoring = Scoring(1.0, {3: "c", "\udcff": "d"}, continue_task=True)

    assert scoring.metadata == {"3": "c", r"\udcff": "d"}


def test_values_in_metadata_stay_what_the_judge_gave():
    value = object()

    scoring = Scoring(1.0, {"found": value}, continue_task=True)

    assert scoring.metadata["found"] is value


def test_a_dict_changed_afterwards_does_not_change_the_scoring():
    metadata = {"answer": "42"}
    scoring = Scoring(1.0, metadata, continue_task=True)

    metadata["answer"] = "43"

    assert scoring.metadata == {"answer": "42"}


def test_a_scoring_cannot_be_changed():
    scoring = Scoring(1.0, {}, continue_task=True)

    with pytest.raises(ValidationError, match="frozen"):
        scoring.score = 0.0


def test_a_real_verdict_is_not_void():
    assert Scoring(0.0, {}, continue_task=False).void is None


@settings(max_examples=50)
@given(SCORINGS)
def test_a_scoring_read_back_from_json_is_the_same(scoring):
    assert Scoring.model_validate_json(scoring.model_dump_json()) == scoring


@settings(max_examples=50)
@given(SCORINGS)
def test_a_scoring_read_back_from_plain_data_is_the_same(scoring):
    assert Scoring.model_validate(json.loads(json.dumps(scoring.model_dump()))) == scoring


@settings(max_examples=50)
@given(SCORINGS)
def test_a_scoring_survives_copying_and_pickling(scoring):
    assert copy.deepcopy(scoring) == scoring
    assert pickle.loads(pickle.dumps(scoring)) == scoring


def test_a_scoring_that_lacks_a_field_in_json_is_a_validation_error():
    with pytest.raises(ValidationError, match="metadata"):
        Scoring.model_validate_json('{"score": 1.0, "continue_task": true}')

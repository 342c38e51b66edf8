"""Values as JSON and UTF-8 can hold them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.schemas.plain import as_bool, encodable, plain

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


@given(ANY_TEXT)
def test_encodable_text_is_utf_8_whatever_it_was(text):
    encodable(text).encode("utf-8")


@given(st.text())
def test_text_that_is_utf_8_already_stays_as_it_is(text):
    assert encodable(text) == text


def test_a_lone_surrogate_becomes_its_escape():
    assert encodable("a\udcff b") == r"a\udcff b"


def test_plain_reaches_every_depth():
    value = {"\udcff": [("a\ud800", math.nan, -math.inf)]}

    assert plain(value) == {r"\udcff": [[r"a\ud800", "nan", "-inf"]]}


@given(st.recursive(ANY_TEXT | st.floats() | st.booleans() | st.none(), st.lists))
def test_what_is_plain_is_strict_json(value):
    json.dumps(plain(value), allow_nan=False).encode("utf-8")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Path("/tmp/x"), "/tmp/x"),
        (b"a\xff", "a\ufffd"),
        ({1}, "{1}"),
        (ValueError("no"), "no"),
        ({3: 1, None: 2, Path("/x"): 3}, {"3": 1, "None": 2, "/x": 3}),
    ],
)
def test_what_json_does_not_know_becomes_text(value, expected):
    assert plain([value]) == [expected]


class NumpysBool:
    def __init__(self, truth: bool) -> None:
        self.truth = truth

    def __bool__(self) -> bool:
        return self.truth


NumpysBool.__module__, NumpysBool.__name__ = "numpy", "bool"


@pytest.mark.parametrize("truth", [True, False])
def test_a_numpy_bool_is_a_bool(truth):
    assert as_bool(NumpysBool(truth)) is truth


@pytest.mark.parametrize("value", [1, 0, 1.0, "True", "", None, [], object()])
def test_what_is_merely_truthy_or_falsy_is_no_bool(value):
    assert as_bool(value) is None

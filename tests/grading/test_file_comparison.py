from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.grading.file_comparison import (
    ExpectationError,
    find_difference,
    json_equal,
    normalised_text,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def differs(content, expected, comparison, tolerance=1e-9):
    return find_difference(content, expected, comparison, tolerance)


@pytest.mark.parametrize(
    ("content", "expected", "comparison"),
    [
        (b"a\xff", b"a\xff", "exact"),
        ("é".encode(), "é", "exact"),
        (b"a \r\nb\r\n\n", "a\nb", "text"),
        (b"\xef\xbb\xbfa", "a", "text"),
        ("e\u0301".encode(), "\u00e9", "text"),
        (b"", "\n\n", "text"),
        (b'{"b": [1.0], "a": null}', {"a": None, "b": [1]}, "json"),
        (b"\xef\xbb\xbf1", 1, "json"),
        (b" 3.0000000000001\n", 3, "number"),
        (b"1e-12", 0, "number"),
        (b"-1_0", -10, "number"),
    ],
)
def test_what_is_equal_in_its_sense_does_not_differ(content, expected, comparison):
    assert differs(content, expected, comparison) is None


@pytest.mark.parametrize(
    ("content", "expected", "comparison", "reason"),
    [
        (b"abc", b"abd", "exact", "from byte 2 on (3 bytes, expected 3)"),
        (b"ab", b"abd", "exact", "from byte 2 on (2 bytes, expected 3)"),
        (b"a\nb", "a\nc", "text", "in line 2: found 'b', expected 'c'"),
        (b"a", "a\nc", "text", "ends before line 2, expected 'c'"),
        (b"a\nb", "a", "text", "goes on after line 1, with 'b'"),
        (b" a", "a", "text", "in line 1"),
        (b"a\xff", "a", "text", "is no UTF-8 text (byte 1)"),
        (b"true", 1, "json", "is other JSON than expected: 'true'"),
        (b"[1]", [1, 2], "json", "is other JSON"),
        (b'"a"', "b", "json", "is other JSON"),
        (b"1", "1", "json", "is other JSON"),
        (b'{"a": "b"}', {"a": None}, "json", "is other JSON"),
        (b"{", {}, "json", "is not valid JSON"),
        (b"NaN", 1, "json", "NaN is no JSON"),
        (b'{"a": 0, "a": 1}', {"a": 1}, "json", "a key twice"),
        (b"[" * 100_000, 1, "json", "nested too deeply"),
        (b"\xff", 1, "json", "is not valid JSON"),
        (b"9" * 5000, 1, "json", "is not valid JSON"),
        (b"3.1", 3, "number", "has 3.1, expected 3 within 1e-09"),
        (b"", 0, "number", "is no finite number: ''"),
        (b"nan", 0, "number", "is no finite number"),
        (b"1e999", 0, "number", "is no finite number"),
        (b"3 apples", 3, "number", "is no finite number"),
        (b"3" * 500, 3, "number", "is no finite number"),
    ],
)
def test_what_differs_is_told_where(content, expected, comparison, reason):
    assert reason in differs(content, expected, comparison)


@pytest.mark.parametrize(
    ("expected", "comparison"),
    [
        (1, "exact"),
        (None, "text"),
        ("3", "number"),
        (True, "number"),
        (math.nan, "number"),
        ([1, math.nan], "json"),
        ({"a": {1, 2}}, "json"),
        ({1: "a"}, "json"),
        (b"{}", "json"),
    ],
)
def test_an_expectation_that_is_none_is_the_authors(expected, comparison):
    with pytest.raises(ExpectationError):
        differs(b"1", expected, comparison)


def test_a_huge_file_is_shown_cut():
    assert "characters cut" in differs(b"x" * 10_000, "y", "text")


@given(JSON)
def test_json_is_equal_to_itself_written_and_read(value):
    assert differs(json.dumps(value).encode(), value, "json") is None


@given(JSON, JSON)
def test_json_equality_is_symmetric(left, right):
    assert json_equal(left, right) == json_equal(right, left)


@given(st.text())
def test_text_is_normalised_once_for_all(text):
    once = normalised_text(text)

    assert normalised_text(once) == once


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1))
def test_a_number_is_within_any_tolerance_of_itself(number, tolerance):
    assert differs(repr(number).encode(), number, "number", tolerance) is None

"""The border of every report: plain, finite, bounded, printable, whatever it was before."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from collections import UserDict, UserList, deque
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_chalk.reports.clean import (
    INSIDE_ITSELF,
    MAX_TEXT_CHARS,
    METADATA_LIMITS,
    TOO_DEEP,
    TOO_MUCH,
    clean,
    clean_object,
    clean_text,
    shortened,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]))


class Colour(Enum):
    RED = "red"
    BOTH = ("red", Path("/blue"))


class Level(IntEnum):
    HIGH = 3


class TextSubclass(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    def replace(self, *_):
        raise RuntimeError


class IntSubclass(int):
    def __repr__(self) -> str:
        return "not JSON"

    def __lt__(self, _: object) -> bool:
        raise RuntimeError


class FloatSubclass(float):
    def __repr__(self) -> str:
        return "not JSON"


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError


class HostileDict(dict):
    def items(self):
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError


class HostileList(list):
    def __iter__(self):
        raise RuntimeError


class HostileKey:
    def __str__(self) -> str:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


class NumpysInt(Fraction):
    """Stands for numpy's integers: registered as a number, but no `int`."""


class NumpysBool:
    def __bool__(self) -> bool:
        return True


NumpysBool.__module__, NumpysBool.__name__ = "numpy", "bool"

ODD = st.sampled_from(
    [
        Colour.RED,
        Colour.BOTH,
        Level.HIGH,
        Path("/tmp/x"),
        b"\xff\x00",
        bytearray(b"ab"),
        memoryview(b"ab"),
        Decimal("0.1"),
        Fraction(1, 3),
        1j,
        {3, "a"},
        frozenset({b"x"}),
        range(3),
        deque([1]),
        UserList([1]),
        UserDict({"a": 1}),
        TextSubclass("text"),
        IntSubclass(3),
        FloatSubclass(0.5),
        NumpysBool(),
        Unprintable(),
        HostileDict(a=1),
        HostileList([1]),
        ValueError("no"),
        object,
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary() | ODD,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(ANY_TEXT | st.integers() | st.binary() | st.none(), inner)
    ),
    max_leaves=12,
)


@st.composite
def tangles(draw):
    """Return containers that contain themselves and each other."""
    parts = [[], {}, []]
    for _ in range(draw(st.integers(0, 6))):
        outer, inner = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
        if isinstance(outer, dict):
            outer[draw(st.integers(0, 3))] = inner
        else:
            outer.append(inner)
    return parts


def strings_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from strings_in(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings_in(member)


def types_in(value):
    yield type(value)
    for member in value.values() if isinstance(value, dict) else value:
        yield from types_in(member) if isinstance(member, (dict, list)) else [type(member)]


@settings(max_examples=200)
@given(VALUES | tangles())
def test_what_is_clean_is_strict_json_in_utf_8_and_legal_xml(value):
    cleaned = clean(value)

    json.dumps(cleaned, allow_nan=False, ensure_ascii=False).encode("utf-8")
    for text in strings_in(cleaned):
        element = ET.Element("x", value=text)
        element.text = text
        ET.fromstring(ET.tostring(element, encoding="utf-8"))
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


@settings(max_examples=200)
@given(VALUES | tangles())
def test_cleaning_what_is_clean_changes_nothing(value):
    cleaned = clean(value)

    assert clean(cleaned) == cleaned
    assert clean_object({"value": cleaned}) == {"value": cleaned}


@given(VALUES)
def test_nothing_but_plain_types_is_left(value):
    plain_types = {str, int, float, bool, type(None), list, dict}

    assert set(types_in([clean(value)])) <= plain_types


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("abc\n\té€😀"),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    )
)
def test_what_is_clean_already_stays_as_it_is(value):
    assert clean(value) == value


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        (Colour.RED, "red"),
        (Colour.BOTH, ["red", "/blue"]),
        (Level.HIGH, 3),
        (Path("/tmp/x"), "/tmp/x"),
        (b"a\xff", "a\ufffd"),
        (bytearray(b"a"), "a"),
        (memoryview(b"a"), "a"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        ((1, 2), [1, 2]),
        ({2, 1}, [1, 2]),
        (range(3), [0, 1, 2]),
        (Decimal("0.10"), "0.10"),
        (NumpysInt(1, 2), 0.5),
        (NumpysBool(), True),
        (TextSubclass("text"), "text"),
        (IntSubclass(3), 3),
        (FloatSubclass(0.5), 0.5),
        (ValueError("no"), "no"),
        (10**299, 10**299),
        (10**300, "an integer of 997 bits"),
        (Unprintable(), "<Unprintable that cannot be shown>"),
        (HostileDict(a=1), "<HostileDict that cannot be shown>"),
        (HostileList([1]), "<HostileList that cannot be shown>"),
        ({1: "a", None: "b", b"c": "d"}, {"1": "a", "None": "b", "c": "d"}),
        ({HostileKey(): 1}, "<dict that cannot be shown>"),
        ({HostileKey(), 1}, "<set that cannot be shown>"),
        ("a\udcff", r"a\udcff"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_value_has_its_plain_form(value, cleaned):
    assert clean([value]) == [cleaned]
    assert type(clean([value])[0]) is type(cleaned)


def test_one_value_that_cannot_be_shown_takes_nothing_else_with_it():
    assert clean({"bad": Unprintable(), "good": 1}) == {
        "bad": "<Unprintable that cannot be shown>",
        "good": 1,
    }


def test_keys_that_become_equal_are_all_kept():
    assert clean({"a\x00": 1, r"a\x00": 2, 1: 3, "1": 4}) == {
        r"a\x00": 1,
        r"a\x00 (2)": 2,
        "1": 3,
        "1 (2)": 4,
    }


def test_a_list_that_contains_itself_many_times_ends_at_once():
    tangle = []
    tangle += [tangle, tangle, "a"]

    assert clean(tangle) == [INSIDE_ITSELF, INSIDE_ITSELF, "a"]


def test_a_value_that_appears_twice_without_containing_itself_is_shown_twice():
    shared = ["a"]

    assert clean([shared, shared]) == [["a"], ["a"]]


def test_what_is_nested_too_deeply_ends_in_a_note():
    deep = "bottom"
    for _ in range(METADATA_LIMITS.depth + 5):
        deep = [deep]

    text = json.dumps(clean_object({"deep": deep}))

    assert TOO_DEEP in text
    assert "bottom" not in text


def test_small_lists_that_hold_each_other_often_are_cut_in_no_time():
    bomb = ["x"] * 10
    for _ in range(15):
        bomb = [bomb] * 10
    started = time.monotonic()

    cleaned = clean_object({"bomb": bomb})

    assert time.monotonic() - started < 2
    assert json.dumps(cleaned).count("x") <= METADATA_LIMITS.values
    assert TOO_MUCH in json.dumps(cleaned)
    assert clean_object(cleaned) == cleaned


def test_a_long_list_keeps_its_head_and_says_how_much_is_missing():
    cleaned = clean_object({"list": range(10**9)})["list"]

    assert cleaned[:2] == [0, 1]
    assert cleaned[-1] == "[... 999,999,001 more, cut ...]"
    assert len(cleaned) == METADATA_LIMITS.items


def test_a_large_mapping_keeps_its_head_and_says_how_much_is_missing():
    cleaned = clean_object({number: number for number in range(2_000)})

    assert cleaned["0"] == 0
    assert cleaned["[cut]"] == "[... 1,001 more, cut ...]"
    assert clean_object(cleaned) == cleaned


def test_many_long_texts_are_bounded_together():
    cleaned = clean_object({str(number): "x" * 100_000 for number in range(100)})

    assert METADATA_LIMITS.chars <= sum(map(len, strings_in(cleaned))) < METADATA_LIMITS.chars + 200
    assert clean_object(cleaned) == cleaned


def test_the_records_own_lists_are_not_cut_like_metadata():
    steps = [{"index": index} for index in range(2_000)]

    assert clean(steps) == steps


def test_metadata_that_is_no_mapping_after_all_is_still_an_object():
    assert clean_object(HostileDict(a=1)) == {"[metadata]": "<HostileDict that cannot be shown>"}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\x00\x07\x7f\x85\x9f", r"a\x00\x07\x7f\x85\x9f"),
        ("\ufffe\uffff\ufdd0", r"\ufffe\uffff\ufdd0"),
        ("\udcff", r"\udcff"),
        ("é€😀\u2028", "é€😀\u2028"),
    ],
)
def test_control_characters_become_escapes(text, cleaned):
    assert clean_text(text) == cleaned


@given(ANY_TEXT, st.integers(0, 200))
@example("\x00" * 100, 100)
@example("x" * 200, 100)
def test_clean_text_is_never_longer_than_asked_and_stays_so(text, max_chars):
    cleaned = clean_text(text, max_chars=max_chars)

    assert len(cleaned) <= max_chars
    assert clean_text(cleaned, max_chars=max_chars) == cleaned


def test_a_cut_keeps_head_and_tail_and_says_what_is_missing():
    text = "a" * 60_000 + "b" * 60_000

    cut = shortened(text, 10_000)

    head, tail = re.split(r"\n\[\.\.\. 110,0[0-9]{2} characters cut \.\.\.\]\n", cut)
    assert head == "a" * len(head)
    assert tail == "b" * len(tail)
    assert len(head) > len(tail) > 2_000


def test_five_megabytes_on_one_line_are_cut():
    assert len(clean_text("x" * 5_000_000)) <= MAX_TEXT_CHARS

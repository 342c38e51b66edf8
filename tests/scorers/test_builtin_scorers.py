"""Built-in scorers: a table of pairs and their scores for each."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_chalk import scorers
from pytest_chalk.errors import EvaluationError
from pytest_chalk.scorers import rebuild

ANY = st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.booleans())

PAIR_SCORERS = [
    scorers.exact_match(),
    scorers.levenshtein(),
    scorers.contains(),
    scorers.contains(mode="fraction"),
    scorers.numeric_close(),
    scorers.numeric_close(tolerance=0.1, relative=True),
    scorers.json_match(),
    scorers.json_match(paths=["a.0.b", "c"]),
    *(
        scorers.string_similarity(method)
        for method in ("jaro_winkler", "jaccard", "token_set", "token_sort", "partial", "sequence")
    ),
]


def score(scorer, *values):
    return scorer(*values).score


@settings(deadline=None)
@given(left=ANY, right=ANY)
def test_every_pair_scorer_scores_any_two_values_between_0_and_1(left, right):
    for scorer in PAIR_SCORERS:
        result = scorer(left, right)

        assert 0 <= result.score <= 1, scorer
        json.dumps(result.metadata, allow_nan=False)


@settings(deadline=None)
@given(text=st.text())
def test_a_text_is_as_alike_to_itself_as_can_be(text):
    for scorer in (
        scorers.exact_match(),
        scorers.levenshtein(),
        scorers.string_similarity("jaccard"),
    ):
        assert score(scorer, text, text) == 1


@pytest.mark.parametrize(
    ("options", "found", "wanted", "expected"),
    [
        ({}, " Yes\n", "Yes", 1),
        ({}, "yes", "Yes", 0),
        ({"strip": False}, "Yes ", "Yes", 0),
        ({"case_insensitive": True}, "STRASSE", "straße", 1),
        ({"normalize_whitespace": True}, "a  b\tc", "a b c", 1),
        ({}, 1, "1", 1),
        ({}, None, "", 0),  # a task that returned nothing is not right because nothing is expected
        ({}, None, None, 1),
    ],
)
def test_exact_match(options, found, wanted, expected):
    assert score(scorers.exact_match(**options), found, wanted) == expected


@pytest.mark.parametrize(
    ("found", "wanted", "expected", "distance"),
    [("kitten", "sitting", 1 - 3 / 7, 3), ("", "", 1, 0), ("", "ab", 0, 2), (" a ", "a", 1, 0)],
)
def test_levenshtein(found, wanted, expected, distance):
    result = scorers.levenshtein()(found, wanted)

    assert result.score == pytest.approx(expected)
    assert result.metadata == {"distance": distance}


@pytest.mark.parametrize(
    ("pattern", "options", "text", "expected"),
    [
        (r"\d+", {}, "a 12", 1),
        (r"\d+", {"full_match": True}, "a 12", 0),
        ("A", {}, "a", 0),
        ("A", {"flags": re.IGNORECASE}, "a", 1),
        ("x", {}, None, 0),
    ],
)
def test_regex_match(pattern, options, text, expected):
    assert score(scorers.regex_match(pattern, **options), text) == expected


def test_regex_match_tells_what_matched():
    result = scorers.regex_match(r"(?P<year>\d{4})")("in 1984")

    assert result.metadata == {"match": "1984", "groups": {"year": "1984"}}


@pytest.mark.parametrize(
    ("mode", "wanted", "expected"),
    [
        ("all", "red", 1),
        ("all", '["red", "blue"]', 0),
        ("any", '["red", "blue"]', 1),
        ("fraction", '["red", "blue"]', 0.5),
        ("all", "[red", 1),
        ("all", ["red", "sea"], 1),
        ("all", "", 1),
        ("any", "", 0),
        ("fraction", "[]", 0),
    ],
)
def test_contains(mode, wanted, expected):
    assert score(scorers.contains(mode=mode), "the red sea [red", wanted) == expected


@pytest.mark.parametrize(
    ("options", "found", "wanted", "expected"),
    [
        ({"tolerance": 0.1}, "1.1", 1, 1),  # a little more than 0.1 apart, in binary
        ({"tolerance": 0.1}, 1.11, 1, 0),
        ({"tolerance": 0.1, "relative": True}, 95, 100, 1),
        ({"tolerance": 0}, 3, "3.0", 1),
        ({}, 50, 100, 0.5),
        ({}, 0, 0, 1),
        ({}, -1, 1, 0),
        ({}, "about 3", 3, 0),
        ({}, "nan", "nan", 0),
        ({}, "inf", "inf", 0),
        ({}, "1_000", 1000, 0),
        ({}, None, 0, 0),
        ({}, True, 1, 0),
    ],
)
def test_numeric_close(options, found, wanted, expected):
    assert score(scorers.numeric_close(**options), found, wanted) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", 1), ("1", 1), ('"x"', 1), ("null", 1), ("", 0), (None, 0), ("{", 0), ("NaN", 0),
        ("[Infinity]", 0), ({"a": 1}, 1), ("[" * 100_000, 0),
    ],
)  # fmt: skip
def test_json_valid(text, expected):
    assert score(scorers.json_valid(), text) == expected


@pytest.mark.parametrize(
    ("paths", "found", "wanted", "expected"),
    [
        (None, '{"a": 1, "b": 2}', '{"b": 2.0, "a": 1}', 1),
        (None, "[1, 2]", "[2, 1]", 0),
        (None, "true", "1", 0),
        (None, "no json", "1", 0),
        (["a"], '{"a": 1, "b": 2}', '{"a": 1}', 1),
        (["a", "b"], '{"a": 1, "b": 2}', '{"a": 1}', 0.5),
        (["a"], '{"a": null}', "{}", 0),
        (["a"], "{}", "{}", 1),
        (["a.1", "a.-1"], '{"a": [1, 2]}', '{"a": [0, 2]}', 1),
        ([["a.b"]], '{"a.b": 1}', '{"a.b": 1}', 1),
        (["a"], "nope", '{"a": 1}', 0),
    ],
)
def test_json_match(paths, found, wanted, expected):
    assert score(scorers.json_match(paths=paths), found, wanted) == expected


def test_json_match_tells_what_differs():
    assert scorers.json_match(paths=["a", "b"])('{"a": 1}', '{"a": 2}').metadata == {
        "mismatched": ["a"]
    }
    assert scorers.json_match()('{"a": 1, "c": 3}', '{"a": 2, "c": 3}').metadata == {
        "mismatched": ["a"]
    }
    assert "output" in scorers.json_match()("{", "{}").metadata["error"]


def test_a_path_that_is_missing_on_both_sides_is_a_difference_only_when_strict():
    assert score(scorers.json_match(paths=["a"], strict=True), "{}", "{}") == 0


def test_json_schema():
    scorer = scorers.json_schema({"type": "object", "required": ["a"]})

    assert score(scorer, '{"a": 1}') == 1
    assert scorer("{}").metadata == {"problems": ["$: 'a' is a required property"]}
    assert score(scorer, "no") == 0


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: scorers.regex_match("("), ValueError),
        (lambda: scorers.contains(mode="some"), ValueError),
        (lambda: scorers.numeric_close(tolerance=-1), ValueError),
        (lambda: scorers.numeric_close(tolerance=float("nan")), ValueError),
        (lambda: scorers.string_similarity("magic"), ValueError),
        (lambda: scorers.json_match(paths="a"), TypeError),
        (lambda: scorers.json_match(paths=[]), ValueError),
        (lambda: scorers.json_match(paths=["a..b"]), ValueError),
        (lambda: scorers.json_schema({"type": 7}), ValueError),
        (lambda: scorers.exact_match(name="--"), ValueError),
        (lambda: scorers.exact_match(inputs="output"), TypeError),
        (lambda: scorers.exact_match(inputs=("output",)), ValueError),
        (lambda: scorers.exact_match(inputs=("output", "output")), ValueError),
        (lambda: scorers.json_valid(inputs=("output", "x")), ValueError),
        (lambda: scorers.sql("a", ""), ValueError),
        (lambda: scorers.sql("a", "1; select 2"), ValueError),
        (lambda: scorers.sql("a", "1" * 4001), ValueError),
    ],
)
def test_what_cannot_score_is_refused_where_it_is_made(make, error):
    with pytest.raises(error):
        make()
    assert issubclass(EvaluationError, Exception)


@pytest.mark.parametrize(
    "scorer",
    [
        *PAIR_SCORERS,
        scorers.json_valid(name="v", inputs=("answer",)),
        scorers.regex_match("a+", flags=re.IGNORECASE),
        scorers.json_schema({"type": "object"}),
    ],
    ids=lambda scorer: scorer.kind,
)
def test_a_built_in_is_made_again_from_what_a_definition_keeps(scorer):
    spec = scorer.pin()
    kept = json.loads(json.dumps(spec.params))

    again = rebuild(spec.name, spec.inputs, kept)

    assert again.pin() == spec
    values = ["AAA", "[]"][: len(scorer.inputs)]
    assert again(*values) == scorer(*values)


def test_parameters_make_another_scorer_and_names_do_not():
    assert scorers.contains(name="a").builtin_id == scorers.contains(name="b").builtin_id
    assert scorers.contains().builtin_id != scorers.contains(mode="any").builtin_id
    assert scorers.json_valid().builtin_id != scorers.json_valid(inputs=("x",)).builtin_id

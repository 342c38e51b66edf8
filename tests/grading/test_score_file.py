"""The result of a scoring script: what is one, and what is said about everything else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.grading.score_file import (
    MAX_SCORE_FILE_BYTES,
    ScoreFileError,
    ScriptResult,
    parse_score_file,
)


@pytest.mark.parametrize("score", [0, 1, -2, 0.5, 42, 1e300])
def test_a_number_and_an_object_are_a_result(score):
    content = json.dumps({"score": score, "metadata": {"n": 123}}).encode()

    assert parse_score_file(content) == ScriptResult(float(score), {"n": "123"})


def test_further_keys_are_ignored():
    assert parse_score_file(b'{"score": 1, "metadata": {}, "more": 2}').score == 1.0


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is not valid JSON"),
        (b"1.0", "is a float"),
        (b"[1.0, {}]", "is a list"),
        (b"null", "is a NoneType"),
        (b'{"score": 1.0', "is not valid JSON"),
        (b'{"score": 1.0, "metadata": {}} x', "is not valid JSON"),
        (b"{'score': 1.0}", "is not valid JSON"),
        (b'\xff{"score": 1.0, "metadata": {}}', "is not valid JSON"),
        (b'\xef\xbb\xbf{"score": 1.0, "metadata": {}}', "is not valid JSON"),
        (b"{}", "lacks 'score' and 'metadata'"),
        (b'{"score": 1.0}', "lacks 'metadata'"),
        (b'{"metadata": {}}', "lacks 'score'"),
        (b'{"score": "1.0", "metadata": {}}', "has '1.0' for a score, not a number"),
        (b'{"score": true, "metadata": {}}', "has True for a score, not a number"),
        (b'{"score": null, "metadata": {}}', "has NoneType for a score, not a number"),
        (b'{"score": [1.0], "metadata": {}}', "has list for a score, not a number"),
        (b'{"score": 1.0, "metadata": null}', "has NoneType for metadata, not an object"),
        (b'{"score": 1.0, "metadata": []}', "has list for metadata, not an object"),
        (b'{"score": NaN, "metadata": {}}', "holds NaN, which is no JSON"),
        (b'{"score": -Infinity, "metadata": {}}', "holds -Infinity, which is no JSON"),
        (b'{"score": 1.0, "metadata": {"loss": NaN}}', "holds NaN, which is no JSON"),
        (b'{"score": 1e999, "metadata": {}}', "has a score that is not finite"),
        (b'{"score": 0, "metadata": {}, "score": 1}', "has a key twice"),
        (b'{"score": 0, "metadata": {"a": 1, "a": 2}}', "has a key twice"),
        (b'{"score": ' + b"9" * 400 + b', "metadata": {}}', "has a score that is not finite"),
        (b'{"score": ' + b"9" * 5000 + b', "metadata": {}}', "is not valid JSON"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"score": 1, "metadata": {}}' + b" " * MAX_SCORE_FILE_BYTES, "is longer than"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_anything_else_is_refused_and_named(content, found):
    with pytest.raises(ScoreFileError) as refused:
        parse_score_file(content)

    assert refused.value.found.startswith(found)
    assert 'wanted {"score": <finite number>, "metadata": {...}}' in str(refused.value)
    assert len(str(refused.value)) < 500


@given(st.binary() | st.text().map(str.encode))
def test_whatever_is_in_the_file_is_a_result_or_a_named_error(content):
    try:
        found = parse_score_file(content)
    except ScoreFileError:
        return

    assert isinstance(found.score, float)

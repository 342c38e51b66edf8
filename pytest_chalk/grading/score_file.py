"""The result a scoring script writes: one JSON object with `score` and `metadata`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pytest_chalk.schemas.plain import as_finite

MAX_SCORE_FILE_BYTES = 1_048_576
"""Of a result file. A score and a page of reasons is under 10 KB; more is a dump, or an attack on
whoever parses it."""


class ScoreFileError(ValueError):
    """There is no usable result; the message says what is wrong and what was wanted."""

    def __init__(self, *, found: str) -> None:
        """Compose the message; `found` says what the result file is, has or lacks."""
        self.found = found
        super().__init__(
            f'the result file {found}; wanted {{"score": <finite number>, "metadata": {{...}}}} '
            "written by the scoring script to the path of its last argument"
        )


@dataclass(frozen=True)
class ScriptResult:
    """What the script said: a finite score, and its metadata with every value as text."""

    score: float
    metadata: dict[str, str]


def parse_score_file(content: bytes) -> ScriptResult:
    """Return the result in `content`.

    Raises:
        ScoreFileError: It is too long, no JSON object, lacks a key, or the score is no finite
            number (NaN, Infinity, booleans and strings are none).
    """
    if len(content) > MAX_SCORE_FILE_BYTES:
        raise ScoreFileError(found=f"is longer than {MAX_SCORE_FILE_BYTES:,} bytes")
    try:
        return _result(_DECODER.decode(content.decode("utf-8")))
    except RecursionError:
        raise ScoreFileError(found="is nested too deeply") from None
    except ScoreFileError:
        raise
    except ValueError as error:
        raise ScoreFileError(found=f"is not valid JSON: {error}") from None


def _result(found: object) -> ScriptResult:
    if not isinstance(found, dict):
        raise ScoreFileError(found=f"is a {type(found).__name__}")
    missing = [key for key in ("score", "metadata") if key not in found]
    if missing:
        raise ScoreFileError(found=f"lacks {' and '.join(map(repr, missing))}")
    score, metadata = found["score"], found["metadata"]
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        shown = repr(score)[:100] if isinstance(score, (bool, str)) else type(score).__name__
        raise ScoreFileError(found=f"has {shown} for a score, not a number")
    if not isinstance(metadata, dict):
        raise ScoreFileError(found=f"has {type(metadata).__name__} for metadata, not an object")
    number = as_finite(score)
    if number is None:
        raise ScoreFileError(found="has a score that is not finite")
    return ScriptResult(number, {key: str(value) for key, value in metadata.items()})


def _refuse_constant(name: str) -> float:
    raise ScoreFileError(found=f"holds {name}, which is no JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ScoreFileError(found="has a key twice")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)

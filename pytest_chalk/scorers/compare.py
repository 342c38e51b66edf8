"""Scorers that compare the output with a reference, as text or as numbers."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Literal

from pytest_chalk.authoring.scorer import (
    BuiltinScorer,
    EvaluationScorerResult,
    as_text,
    checked_inputs,
    checked_name,
)
from pytest_chalk.schemas.plain import parse_finite

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIR = ("output", "expected")
SINGLE = ("output",)


def exact_match(
    *,
    name: str = "exact-match",
    inputs: Sequence[str] = PAIR,
    case_insensitive: bool = False,
    strip: bool = True,
    normalize_whitespace: bool = False,
) -> BuiltinScorer:
    """Score 1 if both texts are the same. A missing value is the same only as a missing one.

    Args:
        name: Of the scorer.
        inputs: The two columns.
        case_insensitive: Whether `Yes` is `yes`.
        strip: Whether blanks around the texts count for nothing.
        normalize_whitespace: Whether any run of blanks is one blank.
    """

    def prepared(value: object) -> str:
        text = as_text(value)
        text = text.casefold() if case_insensitive else text
        text = " ".join(text.split()) if normalize_whitespace else text
        return text.strip() if strip else text

    def score(found: object, wanted: object) -> EvaluationScorerResult:
        missing = (found is None) + (wanted is None)
        matched = missing != 1 and prepared(found) == prepared(wanted)
        return EvaluationScorerResult(float(matched), {"matched": matched})

    params = {
        "case_insensitive": case_insensitive,
        "strip": strip,
        "normalize_whitespace": normalize_whitespace,
    }
    return BuiltinScorer(
        checked_name(name), "exact_match", checked_inputs(inputs, 2), params, score
    )


def regex_match(
    pattern: str,
    *,
    name: str = "regex-match",
    inputs: Sequence[str] = SINGLE,
    flags: int = 0,
    full_match: bool = False,
) -> BuiltinScorer:
    """Score 1 if the pattern is found in the text, or is all of it with `full_match`.

    Raises:
        ValueError: It is no pattern.
    """
    try:
        compiled = re.compile(pattern, flags)
    except re.error as error:
        message = f"{pattern!r} is no regular expression: {error}"
        raise ValueError(message) from error
    find = compiled.fullmatch if full_match else compiled.search

    def score(value: object) -> EvaluationScorerResult:
        found = find(as_text(value))
        if found is None:
            return EvaluationScorerResult(0.0, {"match": None, "groups": {}})
        return EvaluationScorerResult(1.0, {"match": found[0], "groups": found.groupdict()})

    params = {"pattern": pattern, "flags": int(flags), "full_match": full_match}
    return BuiltinScorer(
        checked_name(name), "regex_match", checked_inputs(inputs, 1), params, score
    )


def contains(
    *,
    name: str = "contains",
    inputs: Sequence[str] = PAIR,
    mode: Literal["all", "any", "fraction"] = "all",
    case_insensitive: bool = False,
) -> BuiltinScorer:
    """Score whether the text contains the reference: one text, or a JSON list of texts.

    Args:
        name: Of the scorer.
        inputs: The column searched, and the one of what is wanted.
        mode: `all` or `any` of a list must be there, or the share of those that are is the score.
        case_insensitive: Whether `Yes` is `yes`.

    Raises:
        ValueError: `mode` is none of these.
    """
    if mode not in {"all", "any", "fraction"}:
        message = f"mode is all, any or fraction, found {mode!r}"
        raise ValueError(message)

    def score(found: object, wanted: object) -> EvaluationScorerResult:
        parts = _wanted_parts(wanted)
        text = as_text(found)
        text = text.casefold() if case_insensitive else text
        matched = [p for p in parts if (p.casefold() if case_insensitive else p) in text]
        missing = [p for p in parts if p not in matched]
        scores = {
            "all": float(not missing),
            "any": float(bool(matched)),
            "fraction": len(matched) / len(parts) if parts else 0.0,
        }
        return EvaluationScorerResult(scores[mode], {"matched": matched, "missing": missing})

    params = {"mode": mode, "case_insensitive": case_insensitive}
    return BuiltinScorer(checked_name(name), "contains", checked_inputs(inputs, 2), params, score)


def numeric_close(
    *,
    name: str = "numeric-close",
    inputs: Sequence[str] = PAIR,
    tolerance: float | None = None,
    relative: bool = False,
) -> BuiltinScorer:
    """Score how close two numbers are; what is no finite number scores 0.

    Args:
        name: Of the scorer.
        inputs: The two columns.
        tolerance: 1 within it, else 0. None: 1 minus the gap as a share of the larger number.
        relative: Whether `tolerance` is a share of the larger number.

    Raises:
        ValueError: `tolerance` is negative or not finite.
    """
    if tolerance is not None and not (math.isfinite(tolerance) and tolerance >= 0):
        message = f"tolerance is a finite number of at least 0, found {tolerance!r}"
        raise ValueError(message)

    def score(found: object, wanted: object) -> EvaluationScorerResult:
        numbers = [_number(found), _number(wanted)]
        left, right = numbers
        if left is None or right is None:
            bad = inputs[0] if left is None else inputs[1]
            return EvaluationScorerResult(0.0, {"error": f"{bad} is no finite number"})
        larger = max(abs(left), abs(right))
        return EvaluationScorerResult(
            _closeness(abs(left - right), larger, tolerance, relative=relative),
            {"difference": left - right},
        )

    params = {"tolerance": tolerance, "relative": relative}
    return BuiltinScorer(
        checked_name(name), "numeric_close", checked_inputs(inputs, 2), params, score
    )


def _closeness(gap: float, larger: float, tolerance: float | None, *, relative: bool) -> float:
    if tolerance is None:
        return 1.0 if gap == 0 else 1.0 - min(1.0, gap / larger)
    allowed = tolerance * larger if relative else tolerance
    # 1.1 - 1 is a little more than 0.1 in binary: that is noise, not a gap.
    return float(gap <= allowed or math.isclose(gap, allowed, rel_tol=1e-9))


def _number(value: object) -> float | None:
    text = as_text(value).strip()
    if isinstance(value, bool) or "_" in text:
        return None
    return parse_finite(text)


def _wanted_parts(wanted: object) -> list[str]:
    parts: object = wanted
    if isinstance(wanted, str) and wanted.lstrip().startswith("["):
        try:
            parts = json.loads(wanted)
        except ValueError:
            parts = wanted  # a text that begins with a bracket
    listed = parts if isinstance(parts, list) else [parts]
    return [text for text in map(as_text, listed) if text.strip()]

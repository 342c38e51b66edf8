"""Scorers of how alike two texts are, from 0 to 1."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_chalk.authoring.scorer import (
    BuiltinScorer,
    EvaluationScorerResult,
    as_text,
    checked_inputs,
    checked_name,
)
from pytest_chalk.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Method: TypeAlias = Literal[
    "jaro_winkler", "jaccard", "token_set", "token_sort", "partial", "sequence"
]
_METHODS = ("jaro_winkler", "jaccard", "token_set", "token_sort", "partial", "sequence")


def levenshtein(
    *,
    name: str = "levenshtein",
    inputs: Sequence[str] = ("output", "expected"),
    case_insensitive: bool = False,
) -> BuiltinScorer:
    """Score 1 minus the edit distance as a share of the longer text, blanks around left out.

    Raises:
        DatasetError: rapidfuzz is not installed.
    """
    _check_rapidfuzz("levenshtein")
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 - an extra

    def score(found: object, wanted: object) -> EvaluationScorerResult:
        texts = [as_text(value).strip() for value in (found, wanted)]
        left, right = [text.casefold() if case_insensitive else text for text in texts]
        distance = Levenshtein.distance(left, right)
        longer = max(len(left), len(right))
        share = 1.0 - distance / longer if longer else 1.0
        return EvaluationScorerResult(share, {"distance": distance})

    params = {"case_insensitive": case_insensitive}
    return BuiltinScorer(
        checked_name(name), "levenshtein", checked_inputs(inputs, 2), params, score
    )


def string_similarity(
    method: Method,
    *,
    name: str = "",
    inputs: Sequence[str] = ("output", "expected"),
    case_insensitive: bool = False,
) -> BuiltinScorer:
    """Score how alike two texts are, by one of several measures; two empty texts are alike.

    Args:
        method: `jaro_winkler`; `jaccard` (of the sets of characters); `token_set`, `token_sort`,
            `partial` (of words in any order, and of the best part); `sequence` (of difflib).
        name: Of the scorer; the method's where there is none.
        inputs: The two columns.
        case_insensitive: Whether `Yes` is `yes`.

    Raises:
        ValueError: There is no such method.
        DatasetError: The method needs rapidfuzz, which is not installed.
    """
    if method not in _METHODS:
        message = f"method is one of {', '.join(_METHODS)}, found {method!r}"
        raise ValueError(message)
    ratio_of = _ratio(method)

    def score(found: object, wanted: object) -> EvaluationScorerResult:
        texts = [as_text(value) for value in (found, wanted)]
        left, right = [text.casefold() if case_insensitive else text for text in texts]
        ratio = 1.0 if not left and not right else ratio_of(left, right)
        return EvaluationScorerResult(min(1.0, max(0.0, ratio)), {"method": method, "ratio": ratio})

    params = {"method": method, "case_insensitive": case_insensitive}
    name = checked_name(name or method.replace("_", "-"))
    return BuiltinScorer(name, "string_similarity", checked_inputs(inputs, 2), params, score)


def _ratio(method: str) -> Callable[[str, str], float]:
    if method == "jaccard":
        return _jaccard
    if method == "sequence":
        return _sequence
    _check_rapidfuzz(method)
    from rapidfuzz import fuzz  # noqa: PLC0415 - an extra
    from rapidfuzz.distance import JaroWinkler  # noqa: PLC0415 - an extra

    if method == "jaro_winkler":
        return JaroWinkler.similarity
    ratio = {
        "token_set": fuzz.token_set_ratio,
        "token_sort": fuzz.token_sort_ratio,
        "partial": fuzz.partial_ratio,
    }[method]
    return lambda left, right: ratio(left, right) / 100


def _jaccard(left: str, right: str) -> float:
    characters = set(left), set(right)
    return len(characters[0] & characters[1]) / len(characters[0] | characters[1])


def _sequence(left: str, right: str) -> float:
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def _check_rapidfuzz(method: str) -> None:
    try:
        import rapidfuzz  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        where, problem = f"scorer {method!r}", "it needs rapidfuzz, which is not installed"
        fix = "Install the extra: pip install 'pytest-chalk[evaluations]'"
        raise DatasetError(where, problem, fix=fix) from error

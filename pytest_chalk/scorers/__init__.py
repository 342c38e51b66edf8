"""Scorers that come with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.scorer import EvaluationScorerResult
from pytest_chalk.scorers.compare import contains, exact_match, numeric_close, regex_match
from pytest_chalk.scorers.json_text import json_match, json_schema, json_valid
from pytest_chalk.scorers.llm import llm
from pytest_chalk.scorers.similarity import levenshtein, string_similarity
from pytest_chalk.scorers.sql_item import sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_chalk.authoring.scorer import BuiltinScorer

__all__ = [
    "EvaluationScorerResult",
    "contains",
    "exact_match",
    "json_match",
    "json_schema",
    "json_valid",
    "levenshtein",
    "llm",
    "numeric_close",
    "regex_match",
    "sql",
    "string_similarity",
]

_KINDS: dict[str, Callable[..., BuiltinScorer]] = {
    "contains": contains,
    "exact_match": exact_match,
    "json_match": json_match,
    "json_schema": json_schema,
    "json_valid": json_valid,
    "levenshtein": levenshtein,
    "llm": llm,
    "numeric_close": numeric_close,
    "regex_match": regex_match,
    "string_similarity": string_similarity,
}


def rebuild(name: str, inputs: Sequence[str], params: Mapping[str, Any]) -> BuiltinScorer:
    """Return the built-in scorer that a definition keeps: `params` names its kind.

    Raises:
        KeyError: This version of the package has no such kind.
    """
    keywords = dict(params)
    return _KINDS[keywords.pop("kind")](name=name, inputs=tuple(inputs), **keywords)

"""`chalkcompute.scorers`: alias of `pytest_chalk.scorers`."""

from pytest_chalk.scorers import (
    EvaluationScorerResult,
    contains,
    exact_match,
    json_match,
    json_schema,
    json_valid,
    levenshtein,
    numeric_close,
    regex_match,
    sql,
    string_similarity,
)

__all__ = [
    "EvaluationScorerResult",
    "contains",
    "exact_match",
    "json_match",
    "json_schema",
    "json_valid",
    "levenshtein",
    "numeric_close",
    "regex_match",
    "sql",
    "string_similarity",
]

"""A scorer that is an SQL expression over the dataset's columns and `output`."""

from __future__ import annotations

from pytest_chalk.authoring.scorer import SqlScorer, checked_name

MAX_EXPRESSION_CHARS = 4_000
"""Ten times what a person writes into one select item."""


def sql(name: str, expression: str) -> SqlScorer:
    """Score each row with one select item of DuckDB's SQL, such as `length(output)`.

    Whether it is one, and gives a number, is checked when an evaluation is created.

    Raises:
        ValueError: It is empty, too long, or has a semicolon.
    """
    text = expression.strip()
    if not text or len(text) > MAX_EXPRESSION_CHARS or ";" in text:
        message = (
            f"an SQL scorer is one expression of at most {MAX_EXPRESSION_CHARS} characters and "
            f"without semicolons, found {expression!r:.100}"
        )
        raise ValueError(message)
    return SqlScorer(checked_name(name), text)

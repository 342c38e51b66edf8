"""SQL scorers: one select item, checked when it is defined, computed where nothing can be reached.

The database that computes them has the rows and nothing else: no files, no network, no extensions,
and a setting that cannot be taken back.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import EvaluationError
from pytest_chalk.store.duck import literal, new_duck, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

ITEM_TIME_LIMIT_S = 60.0
"""For one scorer over one block of rows, which takes milliseconds. An expression can be endless."""

MAX_MESSAGES = 100
"""Rows of a block whose own error message is looked up; each costs a query."""

_NUMERIC = frozenset(
    {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
        "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE",
    }
)  # fmt: skip

_REFUSED = {
    "STAR": "a star",
    "WINDOW": "a window function",
    "SUBQUERY": "a subquery",
    "POSITIONAL_REFERENCE": "a position",
    "unnest": "unnest, which makes rows",
    "getenv": "getenv",
}
_OUTPUT_TYPES = ("VARCHAR", "DOUBLE", "BIGINT", "BOOLEAN")
"""What a task may return is not known when it is defined: the item must fit one of these."""


def check_item(name: str, expression: str, source: Path, columns: Sequence[str]) -> None:
    """Check that an expression is one select item over the dataset and gives a number.

    Args:
        name: Of the scorer, for messages.
        expression: What to check.
        source: The dataset's file.
        columns: Its columns.

    Raises:
        EvaluationError: It is not, reads a column that is not there, or gives no number.
    """
    where = f"SQL scorer {name!r}"
    connection = new_duck()
    try:
        _check_shape(where, connection, expression)
        found = _check_type(where, connection, expression, (source, columns))
    finally:
        connection.close()
    if found not in _NUMERIC and not found.startswith("DECIMAL"):
        fix = "Cast it: CAST(... AS DOUBLE), or CASE WHEN ... THEN 1.0 ELSE 0.0 END"
        raise EvaluationError(where, f"it gives {found}, and a score is a number", fix=fix)


def evaluate_items(
    part: Path, columns: Sequence[str], expressions: Sequence[str]
) -> Iterator[tuple[list[float | None], list[str | None]]]:
    """Yield scores and errors of each expression over the rows of a file.

    A row on which it fails has an error and the others their scores. A score that is not finite is
    an error, NULL is no score.
    """
    connection = new_duck()
    try:
        names = ", ".join(quoted(column) for column in columns)
        connection.execute(
            f"CREATE TABLE data AS SELECT {names}, file_row_number AS chalk_row FROM "
            f"read_parquet({literal(part)}, file_row_number = true) ORDER BY file_row_number"
        )
        _lock(connection)
        for expression in expressions:
            yield _evaluate(connection, expression)
    finally:
        connection.close()


def _evaluate(
    connection: duckdb.DuckDBPyConnection, expression: str
) -> tuple[list[float | None], list[str | None]]:
    import duckdb  # noqa: PLC0415 - an extra

    scored = f"CAST(({expression}) AS DOUBLE)"
    timer = threading.Timer(ITEM_TIME_LIMIT_S, connection.interrupt)
    timer.start()
    try:
        rows = _tried(connection, scored)
    except duckdb.Error as error:  # it does not fit the output's type, or took too long
        count = connection.execute("SELECT count(*) FROM data").fetchone()
        n_rows = int(count[0]) if count else 0
        return [None] * n_rows, [_first_line(error)] * n_rows
    finally:
        timer.cancel()
    scores: list[float | None] = []
    errors: list[str | None] = []
    asked = 0
    for row, score, is_whole, is_finite in rows:
        message = None
        if not is_whole:
            asked += 1
            message = _message(connection, scored, row) if asked <= MAX_MESSAGES else "it failed"
        elif score is not None and not is_finite:
            message = f"the score is {score}, not a finite number"
        scores.append(None if message else score)
        errors.append(message)
    return scores, errors


def _tried(connection: duckdb.DuckDBPyConnection, scored: str) -> list[tuple[Any, ...]]:
    """Return row, score, whether it could be computed, and whether it is finite, of each row."""
    import duckdb  # noqa: PLC0415 - an extra

    try:
        rows: list[tuple[Any, ...]] = connection.execute(
            f"SELECT chalk_row, score, true, isfinite(score) FROM (SELECT chalk_row, {scored} AS "
            "score FROM data) ORDER BY chalk_row"
        ).fetchall()
    except duckdb.Error:  # some row fails and takes the query with it: find out which
        whole = f"TRY(CASE WHEN {scored} IS NULL THEN true ELSE true END)"
        rows = connection.execute(
            f"SELECT chalk_row, score, whole IS NOT NULL, isfinite(score) FROM (SELECT chalk_row, "
            f"TRY({scored}) AS score, {whole} AS whole FROM data) ORDER BY chalk_row"
        ).fetchall()
    return rows


def _message(connection: duckdb.DuckDBPyConnection, scored: str, row: int) -> str:
    import duckdb  # noqa: PLC0415 - an extra

    try:
        connection.execute(f"SELECT {scored} FROM data WHERE chalk_row = {int(row)}").fetchall()
    except duckdb.Error as error:
        return _first_line(error)
    return "it failed"


def _check_shape(where: str, connection: duckdb.DuckDBPyConnection, expression: str) -> None:
    """Refuse what is more than one select item: it could change what the others read."""
    found = connection.execute(
        "SELECT json_serialize_sql($1::VARCHAR)", [f"SELECT {expression}"]
    ).fetchone()
    tree: dict[str, Any] = json.loads(found[0]) if found else {"error": True}
    fix = "Write one expression over the columns, such as length(output)"
    if tree.get("error"):
        problem = f"it is no SQL: {tree.get('error_message', 'it cannot be parsed')}"
        raise EvaluationError(where, problem, fix=fix)
    statements: list[Any] = tree["statements"]
    node: dict[str, Any] = statements[0]["node"] if len(statements) == 1 else {}
    items: list[Any] = node.get("select_list", [])
    clauses = [
        node.get("from_table", {}).get("type", "EMPTY") != "EMPTY",
        bool(node.get("where_clause")),
        bool(node.get("group_expressions")),
        bool(node.get("having")),
        bool(node.get("modifiers")),
        bool(node.get("cte_map", {}).get("map")),
        bool(node.get("qualify")),
    ]
    if len(items) != 1 or any(clauses):
        raise EvaluationError(where, f"{expression!r:.200} is more than one expression", fix=fix)
    for part in _parts(items[0]):
        names = (part.get("class"), part.get("type"), part.get("function_name"))
        refused = next((_REFUSED[str(n)] for n in names if str(n) in _REFUSED), "")
        if refused:
            raise EvaluationError(where, f"it has {refused}", fix=fix)


def _parts(node: object) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for member in node.values():
            yield from _parts(member)
    elif isinstance(node, list):
        for member in node:
            yield from _parts(member)


def _check_type(
    where: str,
    connection: duckdb.DuckDBPyConnection,
    expression: str,
    dataset: tuple[Path, Sequence[str]],
) -> str:
    """Return the type of the expression, with the output of the first type that fits."""
    import duckdb  # noqa: PLC0415 - an extra

    source, columns = dataset
    names = ", ".join(quoted(column) for column in columns)
    connection.execute(
        f"CREATE TABLE columns AS SELECT {names} FROM read_parquet({literal(source)}) LIMIT 0"
    )
    _lock(connection)
    problems, found = [], []
    for kind in _OUTPUT_TYPES:
        try:
            described = connection.execute(
                f"DESCRIBE SELECT ({expression}) FROM {_empty(kind)}"
            ).fetchall()
        except duckdb.Error as error:
            problems.append(_first_line(error))
        else:
            found.append(str(described[0][1]))
            _refuse_aggregate(where, connection, expression, kind)
    if not found:
        fix = f"The columns are {', '.join([*columns, 'output'])}"
        raise EvaluationError(where, problems[0], fix=fix)
    return next((kind for kind in found if kind in _NUMERIC), found[0])


def _empty(output_type: str) -> str:
    return f"(SELECT *, NULL::{output_type} AS output FROM columns)"


def _refuse_aggregate(
    where: str, connection: duckdb.DuckDBPyConnection, expression: str, kind: str
) -> None:
    """Refuse what gives a row where there is none: `sum(x)`, `count(*)`."""
    counted = connection.execute(
        f"SELECT count(*) FROM (SELECT ({expression}) FROM {_empty(kind)})"
    ).fetchone()
    if counted and counted[0]:
        fix = "Write it over the columns of one row; figures over all rows are in run.summary"
        raise EvaluationError(where, "it has an aggregate", fix=fix)


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]

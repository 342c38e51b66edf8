"""Python values as columns and cells keep them, so that they come back as they were."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import DatasetError
from pytest_chalk.schemas.plain import has_surrogate
from pytest_chalk.schemas.secret_text import secrets_of, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MAX_BIGINT = 2**63

_SQL_TYPES = {
    str: "VARCHAR",
    bool: "BOOLEAN",
    int: "BIGINT",
    float: "DOUBLE",
    bytes: "BLOB",
    dt.date: "DATE",
}
SQL_OF_KIND = {"s": "VARCHAR", "b": "BOOLEAN", "i": "BIGINT", "f": "DOUBLE"}
"""The column type that holds cells of one kind; of several kinds, JSON text does."""

NULL, JSON_TEXT = "n", "j"


@dataclass(frozen=True)
class Encoded:
    """Values ready for a column of `sql_type`; `is_json` where they are JSON text."""

    sql_type: str
    values: list[Any]
    is_json: bool = False


def encode_column(name: str, values: Sequence[object]) -> Encoded:
    """Return the values of one column with the type that keeps them exactly.

    Text stays text. Whole numbers beside fractions become fractions. Lists, mappings, and values of
    several types are kept as JSON.

    Raises:
        DatasetError: A value is none that a column or JSON can hold; names column and row.
    """
    values = [_native(value) for value in values]
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds:
        return Encoded("VARCHAR", list(values))
    if kinds == {int, float} and all(abs(v) <= 2**53 for v in values if type(v) is int):
        return Encoded("DOUBLE", [None if v is None else float(v) for v in values])  # type: ignore[arg-type]
    if kinds == {dt.datetime}:
        aware = {v.tzinfo is not None for v in values if isinstance(v, dt.datetime)}
        if len(aware) == 1:
            return Encoded("TIMESTAMPTZ" if aware.pop() else "TIMESTAMP", list(values))
    if len(kinds) == 1 and (kind := kinds.pop()) in _SQL_TYPES and all(map(_FITS[kind], values)):
        return Encoded(_SQL_TYPES[kind], list(values))
    return Encoded("VARCHAR", [_json(name, row, v) for row, v in enumerate(values)], is_json=True)


def _always(_: object) -> bool:
    return True


def _fits_text(value: Any) -> bool:  # noqa: ANN401 - text or None
    return value is None or not has_surrogate(value)


def _fits_bigint(value: Any) -> bool:  # noqa: ANN401 - int or None
    return value is None or -_MAX_BIGINT <= value < _MAX_BIGINT


_FITS: dict[type, Callable[[Any], bool]] = {
    str: _fits_text,
    int: _fits_bigint,
    bool: _always,
    float: _always,
    bytes: _always,
    dt.date: _always,
}


def _native(value: object) -> Any:  # noqa: ANN401 - any value
    """Return numpy's and other subclasses' values as Python's own."""
    kind = type(value)
    if kind in _SQL_TYPES or value is None or kind is dt.datetime:
        return value
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        return value.item()
    for base in (bool, int, float, str):
        if isinstance(value, base):
            return base(value)
    return value


def _json(name: str, row: int, value: object) -> str | None:
    if value is None:
        return None
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        where, problem = f"column {name!r}, row {row}", f"{value!r:.100} cannot be stored: {error}"
        fix = "Use text, numbers, booleans, dates, or lists and mappings of these"
        raise DatasetError(where, problem, fix=fix) from error


def kind_of(value: object) -> str:
    """Return the kind of an output, which says what column holds it exactly."""
    if value is None:
        return NULL
    kind, fits = _CELL_KINDS.get(type(value), (JSON_TEXT, _always))
    return kind if fits(value) else JSON_TEXT


_CELL_KINDS: dict[type, tuple[str, Callable[[Any], bool]]] = {
    str: ("s", _fits_text),
    bool: ("b", _always),
    int: ("i", _fits_bigint),
    float: ("f", math.isfinite),
}


def plain_output(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return a task's output as it is stored, so that scorers see the same in every rescore.

    Raises:
        TypeError: JSON cannot hold it.
    """
    if value is None or type(value) in {str, bool, int, float}:
        return value
    dump = getattr(value, "model_dump", None)
    try:
        return json.loads(json.dumps(dump(mode="json") if callable(dump) else _native(value)))
    except (TypeError, ValueError, RecursionError) as error:
        shown = without_secrets(repr(value), secrets_of(os.environ))  # before a cut may halve one
        message = (
            f"the output {shown:.100} ({type(value).__name__}) cannot be stored: {error}. Return "
            "text, numbers, booleans, or lists and mappings of these"
        )
        raise TypeError(message) from error

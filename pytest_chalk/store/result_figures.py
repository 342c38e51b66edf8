"""Figures of a result, computed where it is: its rows never become Python objects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_chalk.store.duck import duck, literal, quoted, reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.store.dataset_files import DatasetFiles, StoredFile

PERCENTILES = (5, 25, 50, 75, 95)

USAGE = ("input_tokens", "output_tokens", "usd")
"""Among the metadata of a scorer that asks a model."""


@dataclass(frozen=True)
class Scores:
    """Figures of one scorer.

    Attributes:
        failed: Rows whose scorer failed, or whose task did so that there was nothing to score.
        spread: Standard deviation of the sample; None of fewer than two scores.
        skewness: Of the sample; None where the sample tells it, or where it is undefined.
        sample: All scores by row, where there are not more than were asked for.
        percentiles: Interpolated between neighbours, as `PERCENTILES`; empty without scores.
    """

    scored: int
    failed: int
    mean: float | None
    spread: float | None
    skewness: float | None
    low: float | None
    high: float | None
    percentiles: tuple[float, ...]
    sample: tuple[float, ...] = ()


@dataclass(frozen=True)
class Figures:
    """Figures of a result.

    Attributes:
        digest: Of the result.
    """

    digest: str
    n_rows: int
    task_failed: int
    scorers: Mapping[str, Scores]


def read_figures(
    files: DatasetFiles, stored: StoredFile, columns: Mapping[str, str], max_sample: int
) -> Figures:
    """Return the figures of a result.

    Args:
        files: The store's.
        stored: The result.
        columns: The scorers' by their names.
        max_sample: Scores of a scorer up to which the figures have all of them.
    """
    path = files.path(stored.digest)
    items = [item for column in columns.values() for item in _items(column)]
    source = f"read_parquet({literal(path)})"
    query = f"SELECT {', '.join(['count(*)', 'count(output_error)', *items])} FROM {source}"
    scorers = {}
    with reading(path):
        found: Sequence[Any] = duck().execute(query).fetchone() or (0, 0)
        n_rows, task_failed, *rest = found
        for number, (name, column) in enumerate(columns.items()):
            figures = rest[N_ITEMS * number : N_ITEMS * (number + 1)]
            scorers[name] = _scores(source, column, figures, max_sample)
    return Figures(stored.digest, n_rows, task_failed, scorers)


def _items(column: str) -> list[str]:
    value, error = quoted(f"{column}_value"), quoted(f"{column}_error")
    shares = ", ".join(str(share / 100) for share in PERCENTILES)
    unmade = f"{value} IS NULL AND ({error} IS NOT NULL OR output_error IS NOT NULL)"
    return [
        f"count({value})",
        f"count(*) FILTER ({unmade})",
        f"favg({value})",
        f"stddev_samp({value})",
        f"min({value})",
        f"max({value})",
        f"quantile_cont({value}, [{shares}])",
    ]


N_ITEMS = len(_items(""))


def _scores(source: str, column: str, figures: Sequence[Any], max_sample: int) -> Scores:
    """Return what the items of a scorer gave, with all its scores or their skewness."""
    scored, failed, mean, spread, low, high, percentiles = figures
    mean, spread = _finite(mean), _finite(spread)
    value = quoted(f"{column}_value")
    sample: tuple[float, ...] = ()
    skewness = None
    if scored <= max_sample:
        query = f"SELECT {value} FROM {source} WHERE {value} IS NOT NULL"
        sample = tuple(row[0] for row in duck().execute(query).fetchall())
    elif mean is not None and spread:  # DuckDB's own raises where squares are beyond a double
        query = f"SELECT favg((({value} - $1) / $2) ** 3) FROM {source}"
        (skewness,) = duck().execute(query, [mean, spread]).fetchone() or (None,)
    return Scores(
        scored=scored,
        failed=failed,
        mean=mean,
        spread=spread,
        skewness=skewness,
        low=low,
        high=high,
        percentiles=tuple(percentiles or ()),
        sample=sample,
    )


def _finite(figure: float | None) -> float | None:
    """Return a figure that JSON can hold; of scores near the largest double there may be none."""
    return figure if figure is not None and math.isfinite(figure) else None


def read_usage(
    files: DatasetFiles, stored: StoredFile, column: str, rows: Sequence[int] | None = None
) -> dict[str, float]:
    """Return what the models that a scorer asked have used: tokens, and `usd` where it is known.

    It is in the scorer's metadata, those of rows without a score too.

    Args:
        files: The store's.
        stored: The result.
        column: The scorer's.
        rows: Those it was called on; None for all. The others' cells are of an earlier run.
    """
    path, metadata = files.path(stored.digest), quoted(f"{column}_metadata")
    sums = [f"sum(json_extract({metadata}, '$.{name}')::DOUBLE)" for name in USAGE]
    with reading(path):
        query = f"SELECT {', '.join(sums)} FROM read_parquet({literal(path)}"
        if rows is None:
            asked = duck().execute(f"{query})")
        else:
            among = "file_row_number IN (SELECT unnest($1::BIGINT[]))"
            query = f"{query}, file_row_number = true) WHERE {among}"
            asked = duck().execute(query, [list(rows)])
        found: Sequence[Any] = asked.fetchone() or ()
    return {name: figure for name, figure in zip(USAGE, found, strict=True) if figure is not None}


def read_filled_rows(
    files: DatasetFiles, digest: str, columns: Sequence[str]
) -> dict[int, list[int]]:
    """Return the rows at which columns are not NULL, by the columns' numbers."""
    path = files.find(digest)
    are_filled = [f"{quoted(column)} IS NOT NULL" for column in columns]
    query = (
        f"SELECT file_row_number, {', '.join(are_filled)} "
        f"FROM read_parquet({literal(path)}, file_row_number = true) "
        f"WHERE {' OR '.join(are_filled)} ORDER BY file_row_number"
    )
    with reading(path):
        found = duck().execute(query).fetchall()
    filled: dict[int, list[int]] = {}
    for row, *flags in found:
        for number, is_filled in enumerate(flags):
            if is_filled:
                filled.setdefault(number, []).append(row)
    return filled

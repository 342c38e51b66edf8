"""Figures of a result, computed where it is: its rows never become Python objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.store.duck import duck, literal, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.store.dataset_files import DatasetFiles, StoredFile

PERCENTILES = (5, 25, 50, 75, 95)


@dataclass(frozen=True)
class Scores:
    """Figures of one scorer.

    Attributes:
        failed: Rows whose scorer failed, or whose task did so that there was nothing to score.
        spread: Standard deviation of the sample; None of fewer than two scores.
        percentiles: Interpolated between neighbours, as `PERCENTILES`; empty without scores.
    """

    scored: int
    failed: int
    mean: float | None
    spread: float | None
    low: float | None
    high: float | None
    percentiles: tuple[float, ...]


@dataclass(frozen=True)
class Figures:
    """Figures of a result."""

    n_rows: int
    task_failed: int
    scorers: Mapping[str, Scores]


def read_figures(files: DatasetFiles, stored: StoredFile, columns: Mapping[str, str]) -> Figures:
    """Return the figures of a result; `columns` are the scorers' by their names."""
    shares = ", ".join(str(share / 100) for share in PERCENTILES)
    items = ["count(*)", "count(output_error)"]
    for column in columns.values():
        value, error = quoted(f"{column}_value"), quoted(f"{column}_error")
        unmade = f"{value} IS NULL AND ({error} IS NOT NULL OR output_error IS NOT NULL)"
        items += [
            f"count({value})",
            f"count(*) FILTER ({unmade})",
            f"favg({value})",
            f"stddev_samp({value})",
            f"min({value})",
            f"max({value})",
            f"quantile_cont({value}, [{shares}])",
        ]
    path = literal(files.path(stored.digest))
    found = duck().execute(f"SELECT {', '.join(items)} FROM read_parquet({path})").fetchone()
    n_rows, task_failed, *rest = found or (0, 0)
    scorers = {}
    for number, name in enumerate(columns):
        scored, failed, mean, spread, low, high, shared = rest[7 * number : 7 * number + 7]
        scorers[name] = Scores(scored, failed, mean, spread, low, high, tuple(shared or ()))
    return Figures(n_rows, task_failed, scorers)

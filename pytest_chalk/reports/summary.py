"""Runs summed up: the figures that tables, gates and files share. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_chalk.schemas.record import RunRecord


def counted_score(run: RunRecord) -> float | None:
    """Return the score that counts: that of a scored run, 0 where it misbehaved, else None."""
    if not run.is_scored:
        return None
    return 0.0 if run.outcome == "misbehaved" else run.score


def counted_scores(runs: Iterable[RunRecord]) -> list[float]:
    """Return the scores that count."""
    scores = (counted_score(run) for run in runs)
    return [score for score in scores if score is not None]


def mean_score(runs: Sequence[RunRecord]) -> float | None:
    """Return the mean over the scored runs, a misbehaved one as 0; None where there is none."""
    known = counted_scores(runs)
    return sum(known) / len(known) if known else None


def by_model(runs: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the runs of each model, in the order models first appear."""
    grouped: dict[str, list[RunRecord]] = {}
    for run in runs:
        grouped.setdefault(run.model, []).append(run)
    return grouped

"""Scores of a run as assertions use them: a mean that knows its rows, and the worst of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pytest_chalk.errors import EvaluationError
from pytest_chalk.schemas.evaluation import OUTPUT_ERROR, column_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.schemas.evaluation import EvaluationRunStatus

    class ScoredRun(Protocol):
        """What is needed of a run."""

        @property
        def id(self) -> str: ...  # noqa: D102 - see `EvaluationRun`
        @property
        def status(self) -> EvaluationRunStatus: ...  # noqa: D102 - see `EvaluationRun`
        @property
        def summary(self) -> Mapping[str, Any]: ...  # noqa: D102 - see `EvaluationRun`
        def columns(  # noqa: D102 - see `EvaluationRun`
            self, *names: str, rows: Sequence[int] | None = None
        ) -> list[tuple[Any, ...]]: ...
        def rows_at(self, numbers: Sequence[int]) -> list[dict[str, Any]]: ...  # noqa: D102 - same


class MeanScore(float):
    """A mean, as a number; it remembers the run and the scorer for whoever explains it."""

    run: ScoredRun
    scorer: str

    @staticmethod
    def of(value: float, run: ScoredRun, scorer: str) -> MeanScore:
        """Return `value` with its origin."""
        made = MeanScore(value)
        made.run, made.scorer = run, scorer
        return made


def checked_mean(run: ScoredRun, scorer: str, min_scored: float) -> MeanScore:
    """Return a scorer's mean, unless too many rows could not be scored.

    Raises:
        EvaluationError: There is no such scorer or no score, or a larger share of rows failed.
        ValueError: `min_scored` is no share.
    """
    if not 0 <= min_scored <= 1:
        message = f"min_scored is from 0 to 1, found {min_scored!r}"
        raise ValueError(message)
    figures = figures_of(run, scorer)
    n_rows = int(run.summary["rows"])
    failed, mean = int(figures["failed"]), figures["mean"]
    where = f"scorer {scorer!r} of run {run.id}"
    if failed and n_rows - failed < min_scored * n_rows:
        problem = f"{failed} of {n_rows} rows failed and have no score; {_first_error(run, scorer)}"
        allowed = (n_rows - failed) / n_rows
        fix = f"Mend what failed, or let so many go with mean({scorer!r}, min_scored={allowed:.3g})"
        raise EvaluationError(where, problem, fix=fix)
    if mean is None:
        fix = "Look at run.rows() and run.summary"
        raise EvaluationError(where, "nothing was measured: no row has a score", fix=fix)
    return MeanScore.of(mean, run, scorer)


def figures_of(run: ScoredRun, scorer: str) -> Mapping[str, Any]:
    """Return a scorer's figures in the summary.

    Raises:
        EvaluationError: There is no such scorer, or no summary yet.
    """
    known: Mapping[str, Mapping[str, Any]] = run.summary.get("scorers", {})
    if scorer not in known:
        names = ", ".join(map(repr, known)) or f"none: the run is {run.status.value}"
        where, fix = f"run {run.id}", f"Its scorers are {names}"
        raise EvaluationError(where, f"it has no scorer {scorer!r}", fix=fix)
    return known[scorer]


def worst_rows(run: ScoredRun, scorer: str, count: int) -> list[dict[str, Any]]:
    """Return rows with the lowest scores, those that failed first; each with its number as `row`.

    Raises:
        EvaluationError: There is no such scorer.
    """
    figures_of(run, scorer)
    scores = run.columns(*_fields(scorer))
    # One that was left unscored is not bad.
    bad = [n for n, (_, *errors) in enumerate(scores) if any(e is not None for e in errors)]
    scored = [n for n, (score, *_) in enumerate(scores) if score is not None]
    failed = [n for n in bad if scores[n][0] is None]
    chosen = [*failed, *sorted(scored, key=lambda n: scores[n][0])][:count]
    found = run.rows_at(chosen)
    return [{"row": number, **row} for number, row in zip(chosen, found, strict=True)]


def _fields(scorer: str) -> tuple[str, str, str]:
    """Return the columns that say what became of a scorer's cells."""
    column = column_name(scorer)
    return f"{column}_value", f"{column}_error", OUTPUT_ERROR


def _first_error(run: ScoredRun, scorer: str) -> str:
    cells = enumerate(run.columns(*_fields(scorer)))
    return next(
        f"row {number}: {error or output_error}"
        for number, (score, error, output_error) in cells
        if score is None and (error or output_error)
    )

"""The table at the end of a session: task by model, with what each run took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.reports.epoch_summary import mean_interval_of, passes_of
from pytest_chalk.reports.table import align, one_line, show_seconds
from pytest_chalk.schemas.record import sum_usd
from pytest_chalk.schemas.spending import show_usd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.schemas.record import RunRecord

MAX_NAME_CHARS = 120
"""Of a task id or a model's name in the table. An id may have 255; no terminal is so wide."""

LEFT_COLUMNS = 3
"""The first columns are words, the others numbers."""

COLUMNS = ("task", "model", "score", "steps", "turns", "tokens", "cost", "time")
COST = COLUMNS.index("cost")

REPEATED = ("95 %", "passed")
"""Columns of a table in which a row stands for several runs: how sure its numbers are."""


def render_score_table(runs: Sequence[RunRecord]) -> list[str]:
    """Return the lines of the table: a row per task and model, several runs of one as their mean.

    A row without a score says what happened instead: `error`, `not run`, `skipped`.
    """
    return align(_rows(runs), LEFT_COLUMNS)


def render_markdown_table(runs: Sequence[RunRecord]) -> list[str]:
    """Return the same table in Markdown, numbers to the right."""
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in _rows(runs)]
    rule = ["---" if column < LEFT_COLUMNS else "---:" for column in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def _rows(runs: Sequence[RunRecord]) -> list[tuple[str, ...]]:
    grouped: dict[tuple[str, str], list[RunRecord]] = {}
    for run in runs:
        grouped.setdefault((run.task_id, run.model), []).append(run)
    rows = [COLUMNS, *(_row(task, model, group) for (task, model), group in grouped.items())]
    if not any(run.usd for run in runs):
        rows = [(*row[:COST], *row[COST + 1 :]) for row in rows]
    if any(len(group) > 1 for group in grouped.values()):
        repeated = [(mean_interval_of(group), passes_of(group)) for group in grouped.values()]
        columns = [REPEATED, *repeated]
        rows = [
            (*row[:LEFT_COLUMNS], *more, *row[LEFT_COLUMNS:])
            for row, more in zip(rows, columns, strict=True)
        ]
    return rows


def _row(task: str, model: str, runs: Sequence[RunRecord]) -> tuple[str, ...]:
    tokens = sum(run.usage.input_tokens + run.usage.output_tokens for run in runs)
    usd = sum_usd(run.usd for run in runs)
    done = sum(step.outcome == "passed" for run in runs for step in run.steps)
    planned = sum(len(run.steps) + len(run.not_reached) for run in runs)
    return (
        one_line(task, max_chars=MAX_NAME_CHARS),
        one_line(model, max_chars=MAX_NAME_CHARS),
        _score(runs),
        f"{done}/{planned}",
        str(sum(run.usage.turns for run in runs)),
        f"{tokens:,}" if tokens else "-",
        "-" if usd is None else show_usd(usd),
        show_seconds(sum(run.duration_s for run in runs)),
    )


def _score(runs: Sequence[RunRecord]) -> str:
    scores = [run.score for run in runs if run.is_scored and run.score is not None]
    words = _counted([_word(run) for run in runs])
    if not scores:
        return words
    mean = f"{sum(scores) / len(scores):.2f}"
    return f"{mean} {words}".rstrip()


def _word(run: RunRecord) -> str:
    if run.outcome == "passed":
        return "partial" if any(step.partial for step in run.steps) else ""
    return {"misbehaved": "MISBEHAVED", "not_run": "not run"}.get(run.outcome, run.outcome)


def _counted(words: Sequence[str]) -> str:
    counts: Mapping[str, int] = {word: words.count(word) for word in words if word}
    if len(words) == 1:
        return words[0]
    return ", ".join(f"{count} {word}" for word, count in counts.items())

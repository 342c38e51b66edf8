"""The end of a run: its result as a dataset revision, and its summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.evaluations.rescoring import TASK, RunPlan
from pytest_chalk.evaluations.summary import summarize
from pytest_chalk.evaluations.telemetry import totals
from pytest_chalk.reports.bootstrap import MAX_RESAMPLED
from pytest_chalk.store.cell_ledger import TRACED
from pytest_chalk.store.result_figures import read_figures, read_usage
from pytest_chalk.store.result_file import ResultFile, ResultShape, ScorerColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.evaluations.rescoring import Action
    from pytest_chalk.schemas.evaluation import (
        CellColumn,
        Column,
        Definition,
        Revision,
        RunState,
        ScorerSpec,
    )
    from pytest_chalk.store.evaluation_store import EvaluationStore


def source_of(store: EvaluationStore, run: RunState, definition: Definition) -> Revision:
    """Return the revision a run reads its rows from: the dataset, or the result it rescores."""
    if run.source_run_id:
        result = store.get_run(run.source_run_id).result
        if result is not None:
            return store.datasets.get_revision(result)
    return store.datasets.get_revision(definition.dataset)


def finalize(place: Place, run: RunState, definition: Definition, source: Revision) -> None:
    """Write the result of a run whose calls are all made, and end it.

    Doing it twice does no harm: the same cells give the same file, and a run ends once.
    """
    store, plan = place.store, RunPlan.from_json(run.plan)
    shape = ResultShape(
        source=source,
        columns=_dataset_columns(store, definition, source),
        output_copied=not plan.task.calls_every_row,
        scorers=_scorer_columns(store, run, definition, plan.scorers),
    )
    kinds = place.ledger.kinds(run.id)
    recorded: dict[int, str] = {}

    def cells_of(start: int, stop: int) -> Mapping[int, CellColumn]:
        """Return cells for the result; what was recorded of the task's calls goes elsewhere."""
        found = place.ledger.columns(run.id, start, stop)
        if TRACED in kinds and TASK in found:
            pairs = zip(found[TASK].rows, found[TASK].metadata, strict=True)
            recorded.update((row, spans) for row, spans in pairs if spans is not None)
        return found

    stored = ResultFile(store.datasets.files, shape, kinds - {TRACED}, cells_of).write()
    revision = store.datasets.add_revision(f"results of {definition.id}", stored)
    names = {scorer.name: scorer.column for scorer in definition.scorers}
    summary = summarize(read_figures(store.datasets.files, stored, names, MAX_RESAMPLED))
    for scorer, action in zip(definition.scorers, plan.scorers, strict=True):
        if scorer.params.get("model"):
            called = None if action.calls_every_row else action.recall
            usage = read_usage(store.datasets.files, stored, scorer.column, called)
            summary["scorers"][scorer.name]["usage"] = usage
    if recorded:
        summary["telemetry"] = totals(recorded.values())
    place.ends.succeed(run.id, place.owner_id, revision, summary, recorded)


def _dataset_columns(
    store: EvaluationStore, definition: Definition, source: Revision
) -> tuple[Column, ...]:
    """Return the dataset's columns; a result that is rescored has scores of others beside them."""
    dataset = store.datasets.get_revision(definition.dataset)
    return dataset.columns if source.ref == dataset.ref else source.columns_named(dataset.names)


def _scorer_columns(
    store: EvaluationStore,
    run: RunState,
    definition: Definition,
    actions: tuple[Action, ...],
) -> tuple[ScorerColumns, ...]:
    copied_from: tuple[ScorerSpec, ...] = ()
    if run.source_run_id:
        source_run = store.get_run(run.source_run_id)
        copied_from = store.get_definition(source_run.evaluation_id).scorers
    columns = []
    for spec, action in zip(definition.scorers, actions, strict=True):
        if action.copy_from is not None:
            columns.append(ScorerColumns(spec.column, copied_from[action.copy_from - 1].column))
        else:
            expression = spec.identity if spec.kind == "sql" else None
            columns.append(ScorerColumns(spec.column, expression=expression))
    return tuple(columns)

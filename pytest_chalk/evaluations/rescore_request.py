"""Queues runs: ordinary ones and rescores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_chalk.errors import EvaluationError
from pytest_chalk.evaluations.defining import check_policy, checked_text, pin_scorers
from pytest_chalk.evaluations.place import created_by
from pytest_chalk.evaluations.rescoring import Ran, called_rows, chunks_of, plan_rescore, plan_run
from pytest_chalk.schemas.evaluation import (
    OUTPUT_ERROR,
    Definition,
    EvaluationRunExecutionMode,
    EvaluationRunStatus,
    RunState,
)
from pytest_chalk.schemas.metadata import checked_metadata
from pytest_chalk.store.result_figures import read_filled_rows
from pytest_chalk.store.stamps import new_id, now

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.evaluations.rescoring import RunPlan
    from pytest_chalk.schemas.evaluation import DatasetRevisionRef

DEFAULT_CONCURRENCY = 8
"""Calls at once. Enough to hide a model's latency, few enough for its rate limit."""

CHUNKS = 64
MAX_CHUNK_ROWS = 1_000
"""A run is leased in so many parts: several processes share even a small one, and a large one is
not read at once."""

RescoreChoice: TypeAlias = "tuple[Sequence[object] | None, str | None, str | None]"
"""The scorers of a new evaluation, or the id of an existing one, and the new one's name."""

Mode = EvaluationRunExecutionMode


def queue_run(  # noqa: PLR0913 - as `Evaluation.run`
    place: Place,
    definition: Definition,
    *,
    metadata: Mapping[str, Any] | None,
    execution_mode: object = None,
    policy: object = None,
    concurrency: int = DEFAULT_CONCURRENCY,
) -> RunState:
    """Queue a run of a definition.

    Raises:
        ValueError: The mode is none, or `concurrency` is below 1.
        TypeError: The metadata is no JSON mapping, or the policy cannot be called.
        EvaluationError: `workflow` is asked for where no worker runs.
    """
    kept = {} if metadata is None else checked_metadata(metadata)
    mode = choose_mode(place, execution_mode)
    if concurrency < 1:
        message = f"concurrency is at least 1, found {concurrency!r}"
        raise ValueError(message)
    revision = place.store.datasets.get_revision(definition.dataset)
    pinned = None if policy is None else check_policy(policy, revision.names)
    run = _new_run(definition, plan_run(definition), revision.n_rows, kept, mode)
    run = replace(run, policy=pinned)
    return _add(place, run, range(revision.n_rows), concurrency)


def rescore(
    place: Place,
    run_id: str,
    choice: RescoreChoice,
    *,
    metadata: Mapping[str, Any] | None = None,
    retry_failed_task: bool = False,
) -> RunState:
    """Queue a rescore; a new evaluation is made first if it has new scorers.

    Raises:
        As `plan_of`; nothing is made then.
    """
    kept = {} if metadata is None else checked_metadata(metadata)
    target, plan, n_rows = plan_of(place, run_id, choice, retry_failed_task=retry_failed_task)
    mode = choose_mode(place, None)
    if choice[0] is not None:
        target = place.store.add_definition(target)
    run = _new_run(target, plan, n_rows, kept, mode)
    concurrency = place.store.get_run(run_id).options.get("concurrency", DEFAULT_CONCURRENCY)
    run = replace(run, source_run_id=run_id)
    return _add(place, run, called_rows(plan, target, n_rows), int(concurrency))


def plan_of(
    place: Place, run_id: str, choice: RescoreChoice, *, retry_failed_task: bool
) -> tuple[Definition, RunPlan, int]:
    """Return the definition to rescore into (not stored if it is new), the plan and the rows.

    Raises:
        ValueError: Scorers and an evaluation are chosen, or a name without scorers.
        EvaluationError: The run has not succeeded, or the evaluation is of another revision.
        EvaluationNotFoundError: There is no such run or evaluation.
    """
    _check_choice(choice)
    run = place.store.get_run(run_id)
    if run.status is not EvaluationRunStatus.SUCCEEDED or run.result is None:
        problem = f"it is {run.status.value}, and only a run that succeeded has outputs to rescore"
        where = f"run {run.id!r}"
        raise EvaluationError(where, problem, fix="Wait for it with run.wait()")
    source = place.store.get_definition(run.evaluation_id)
    target = _target(place, source, choice)
    if target.dataset.revision_id != source.dataset.revision_id:
        problem = f"it uses revision {target.dataset.revision_id}, and the run's rows are of "
        problem += f"revision {source.dataset.revision_id}"
        where = f"evaluation {target.name!r}"
        fix = "Create an evaluation on the run's revision, or run this one"
        raise EvaluationError(where, problem, fix=fix)
    ran = Ran(source, _failed_rows(place, run.result, source), by_policy=run.policy is not None)
    return target, plan_rescore(ran, target, retry_failed_task=retry_failed_task), run.n_rows


def choose_mode(place: Place, asked: object) -> EvaluationRunExecutionMode:
    """Return the mode a run gets: `workflow` where a worker runs, unless another is asked for.

    Raises:
        ValueError: There is no such mode.
        EvaluationError: `workflow` is asked for where no worker runs.
    """
    has_worker = place.has_worker()
    if asked is None:
        return Mode.WORKFLOW if has_worker else Mode.ON_READ
    if asked not in {Mode.WORKFLOW, Mode.ON_READ}:
        message = f"execution_mode is 'workflow' or 'on_read', found {asked!r}"
        raise ValueError(message)
    mode = Mode(str(getattr(asked, "value", asked)))
    if mode is Mode.WORKFLOW and not has_worker:
        where = "execution_mode 'workflow'"
        problem = f"no worker runs on the store {str(place.store.base)!r}"
        fix = "Start one with `pytest-chalk worker`, or leave the mode out"
        raise EvaluationError(where, problem, fix=fix)
    return mode


def _check_choice(choice: RescoreChoice) -> None:
    scorers, evaluation_id, name = choice
    if scorers is not None and evaluation_id is not None:
        message = "give scorers for a new evaluation or an existing evaluation, not both"
        raise ValueError(message)
    if name is not None and scorers is None:
        message = "name is that of a new evaluation, which is made only with scorers"
        raise ValueError(message)


def _target(place: Place, source: Definition, choice: RescoreChoice) -> Definition:
    scorers, evaluation_id, name = choice
    if evaluation_id is not None:
        return place.store.get_definition(evaluation_id)
    if scorers is None:
        return source
    revision = place.store.datasets.get_revision(source.dataset)
    return replace(
        source,
        id=new_id(),
        name=f"{source.name} (rescored)" if name is None else checked_text("name", name),
        scorers=pin_scorers(place, revision, scorers),
        metadata={},
        created_by=created_by(),
        created_at=now(),
    )


def _failed_rows(
    place: Place, result: DatasetRevisionRef, definition: Definition
) -> dict[int, list[int]]:
    """Return by position the rows whose call failed."""
    datasets = place.store.datasets
    columns = [OUTPUT_ERROR, *(f"{scorer.column}_error" for scorer in definition.scorers)]
    return read_filled_rows(datasets.files, datasets.get_revision(result).digest, columns)


def _new_run(
    definition: Definition,
    plan: RunPlan,
    n_rows: int,
    metadata: Mapping[str, Any],
    mode: EvaluationRunExecutionMode,
) -> RunState:
    return RunState(
        id=new_id(),
        evaluation_id=definition.id,
        status=EvaluationRunStatus.PENDING,
        execution_mode=mode,
        metadata=metadata,
        created_by=created_by(),
        created_at=now(),
        n_rows=n_rows,
        plan=plan.as_json(),
        options={},
    )


def _add(place: Place, run: RunState, rows: Sequence[int], concurrency: int) -> RunState:
    chunk_rows = min(MAX_CHUNK_ROWS, max(1, len(rows) // CHUNKS))
    options = {"concurrency": concurrency, "chunk_rows": chunk_rows}
    return place.store.add_run(replace(run, options=options), chunks_of(rows, chunk_rows))

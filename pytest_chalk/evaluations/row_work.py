"""What is called for one row, and the cells that come of it. Stateless: threads share it."""

from __future__ import annotations

import contextvars
import copy
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_chalk import scorers as builtin_scorers
from pytest_chalk.authoring.call_context import (
    EVALUATION_HEADER,
    RUN_HEADER,
    SESSION_HEADER,
    SOURCE_RUN_HEADER,
    reset_call_context,
    set_call_context,
)
from pytest_chalk.evaluations.code_loading import load_function
from pytest_chalk.evaluations.telemetry import find_recorder, read_trace
from pytest_chalk.evaluations.user_code import Called, call_user_code, score_of
from pytest_chalk.schemas.evaluation import OUTPUT, TRACE, Cell
from pytest_chalk.store.values import plain_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_chalk.evaluations.rescoring import Action, RunPlan
    from pytest_chalk.evaluations.telemetry import Recorder
    from pytest_chalk.schemas.evaluation import CodeRef, Definition, RunState, ScorerSpec


@dataclass(frozen=True)
class Callee:
    """Something to call for rows.

    Attributes:
        names: The columns it is given by name.
        by_position: Whether by position instead (built-ins, whose inputs are chosen).
    """

    code: Callable[..., Any]
    names: tuple[str, ...]
    takes_all: bool = False
    by_position: bool = False
    retries: int = 0
    time_limit_s: float | None = None

    def call(self, values: Mapping[str, object]) -> Called:
        """Call it with the columns it takes, out of `values`."""
        if self.by_position:
            taken = tuple(values[name] for name in self.names)
            return call_user_code(lambda: self.code(*taken), {}, self.retries)
        names = values if self.takes_all else [name for name in self.names if name in values]
        given = {name: _own(values[name]) for name in names}
        if self.time_limit_s is None:
            return call_user_code(self.code, given, self.retries)
        return _call_in_time(self, given, self.time_limit_s)


@dataclass(frozen=True)
class ScorerWork:
    """A scorer that is called on some rows."""

    position: int
    callee: Callee
    action: Action
    reads_the_call: bool


@dataclass(frozen=True)
class Work:
    """What a run calls.

    Attributes:
        columns: Of the source, that have to be read.
        headers: Of every call, but the session.
        recorder: Of the spans of the task's calls.
        reads_traces: Whether a scorer takes them.
    """

    run_id: str
    task: Callee | None
    task_action: Action
    scorers: tuple[ScorerWork, ...]
    columns: tuple[str, ...]
    headers: Mapping[str, str]
    recorder: Recorder | None = None
    reads_traces: bool = False


@dataclass
class Row:
    """One row: the values of its columns, and the cells it has already."""

    index: int
    values: dict[str, Any]
    output_error: str | None = None
    done: dict[int, Cell] = field(default_factory=dict)


def prepare_work(
    definition: Definition, run: RunState, plan: RunPlan, dataset_columns: Sequence[str]
) -> Work:
    """Find the code of everything that a run calls.

    Raises:
        EvaluationError: A function of the pinned version cannot be found.
    """
    task = _function_callee(run.policy or definition.task) if _is_called(plan.task) else None
    scorers = tuple(
        ScorerWork(position, _scorer_callee(spec), action, spec.reads_the_call)
        for position, (spec, action) in enumerate(
            zip(definition.scorers, plan.scorers, strict=True), 1
        )
        if spec.kind != "sql" and _is_called(action)
    )
    headers = {EVALUATION_HEADER: definition.id, RUN_HEADER: run.id}
    if run.source_run_id:
        headers[SOURCE_RUN_HEADER] = run.source_run_id
    callees = [scorer.callee for scorer in scorers] + ([task] if task else [])
    wanted = {name for callee in callees for name in callee.names}
    if any(callee.takes_all for callee in callees):
        wanted |= set(dataset_columns)
    columns = tuple(name for name in dataset_columns if name in wanted)
    reads_traces = TRACE in wanted and TRACE not in dataset_columns
    recorder = find_recorder(wanted=reads_traces) if task else None
    return Work(run.id, task, plan.task, scorers, columns, headers, recorder, reads_traces)


def run_rows(work: Work, rows: Iterable[Row], stop: threading.Event) -> list[Cell]:
    """Make the calls of some rows, one after the other, and return their cells.

    After `stop` no further row is begun.
    """
    cells: list[Cell] = []
    before = set_call_context({})
    try:
        for row in rows:
            if stop.is_set():
                break
            set_call_context({**work.headers, SESSION_HEADER: f"{work.run_id}:{row.index}"})
            cells += _run_row(work, row)
    finally:
        reset_call_context(before)
    return cells


def _run_row(work: Work, row: Row) -> list[Cell]:
    cells = []
    if work.task is not None and work.task_action.calls(row.index):
        cell = row.done.get(0)
        if cell is None:
            cell = _call_task(work, work.task, row)
            cells.append(cell)
        row.values[OUTPUT], row.output_error = cell.value, cell.error
        if work.reads_traces:
            row.values[TRACE] = read_trace(f"{work.run_id}:{row.index}", cell.metadata)
    cells += [
        _call_scorer(scorer, row)
        for scorer in work.scorers
        if scorer.position not in row.done and scorer.action.calls(row.index)
    ]
    return cells


def _call_task(work: Work, task: Callee, row: Row) -> Cell:
    """Return the task's cell, whose metadata are the spans that were recorded."""
    spans = None
    if work.recorder is None:
        called = task.call(row.values)
    else:
        session_id = f"{work.run_id}:{row.index}"
        work.recorder.begin(session_id)
        called = task.call(row.values)
        spans = work.recorder.take(session_id)
    value, error = called.value, called.error
    if error is None:
        try:
            value = plain_output(value)
        except TypeError as wrong:
            value, error = None, str(wrong)
    return Cell(row.index, 0, value, error, spans, called.seconds)


def _call_scorer(scorer: ScorerWork, row: Row) -> Cell:
    """Return a scorer's cell; empty where it would score a call that failed."""
    if scorer.reads_the_call and row.output_error is not None:
        return Cell(row.index, scorer.position)
    called = scorer.callee.call(row.values)
    score, metadata, error = None, None, called.error
    if error is None:
        try:
            score, metadata = score_of(called.value)
        except TypeError as wrong:
            error = str(wrong)
    return Cell(row.index, scorer.position, score, error, metadata, called.seconds)


def _is_called(action: Action) -> bool:
    return action.calls_every_row or bool(action.recall)


def _function_callee(ref: CodeRef) -> Callee:
    function = load_function(ref)
    return Callee(
        code=function.__wrapped__,
        names=ref.inputs,
        takes_all=ref.takes_all,
        retries=function.retries,
        time_limit_s=function.call_timeout,
    )


def _scorer_callee(spec: ScorerSpec) -> Callee:
    if spec.code is not None:
        return _function_callee(spec.code)
    scorer = builtin_scorers.rebuild(spec.name, spec.inputs, spec.params)
    return Callee(scorer.score, spec.inputs, by_position=True)


def _own(value: Any) -> Any:  # noqa: ANN401 - any value of a row
    """Return a value that a call may change: others, and later rescores, see it as it was."""
    return copy.deepcopy(value) if isinstance(value, (list, dict)) else value


def _call_in_time(callee: Callee, given: Mapping[str, object], limit_s: float) -> Called:
    """Call in a thread of its own. One that takes too long is left behind: none can be ended."""
    future: Future[Called] = Future()
    context = contextvars.copy_context()

    def call() -> None:
        future.set_result(context.run(call_user_code, callee.code, given, callee.retries))

    threading.Thread(target=call, name="chalk-timed", daemon=True).start()
    try:
        return future.result(limit_s * (callee.retries + 1))
    except TimeoutError:
        return Called(None, f"the call took longer than {limit_s:g} s", limit_s)

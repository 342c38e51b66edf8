"""What is called for one row, and the cells that come of it. Stateless: threads share it."""

from __future__ import annotations

import contextvars
import copy
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_chalk import scorers as builtin_scorers
from pytest_chalk.authoring.call_context import (
    EVALUATION_HEADER,
    RUN_HEADER,
    SOURCE_RUN_HEADER,
    CallContext,
    RowContext,
    reset_call_context,
    set_call_context,
)
from pytest_chalk.evaluations.code_loading import load_function
from pytest_chalk.evaluations.scorer_models import scorer_models
from pytest_chalk.evaluations.telemetry import find_recorder, read_trace
from pytest_chalk.evaluations.user_code import Called, call_user_code, kept_error, score_of
from pytest_chalk.schemas.evaluation import OUTPUT, OUTPUT_ERROR, TRACE, Cell, CellColumn
from pytest_chalk.store.values import plain_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_chalk.authoring.trace import Trace
    from pytest_chalk.evaluations.rescoring import Action, RunPlan
    from pytest_chalk.evaluations.telemetry import Recorder
    from pytest_chalk.schemas.evaluation import CodeRef, Definition, RunState, ScorerSpec


_UNCHANGING = frozenset({str, int, float, bool, type(None)})
"""Types of what a call is given as it is. Of anything else it gets a copy, which it may change:
others, and later rescores, see it as it was."""


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
            return call_user_code(self.code, [values[name] for name in self.names], {})
        names = values if self.takes_all else self.names
        given = {
            name: value if type(value := values[name]) in _UNCHANGING else copy.deepcopy(value)
            for name in names
            if name in values
        }
        if self.time_limit_s is None:
            return call_user_code(self.code, (), given, self.retries)
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

    @property
    def positions(self) -> tuple[int, ...]:
        """Of the cells that are made."""
        return (0, *(scorer.position for scorer in self.scorers))


@dataclass(frozen=True)
class Stretch:
    """Neighbouring rows of one chunk.

    They become objects one at a time, when they are called: ten thousand that wait would cost more
    than the calls.

    Attributes:
        chunk: Where the chunk begins.
        first: The first row.
        names: Of the columns.
        values: Of each row, in the order of `names`.
        done: By row, the cells it has already, by position.
        traces: By row, what was recorded of the call that made the output it has copied.
    """

    chunk: int
    first: int
    names: Sequence[str]
    values: Sequence[tuple[Any, ...]]
    done: Mapping[int, Mapping[int, Cell]] = field(default_factory=dict)
    traces: Mapping[int, Trace | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def split(self, count: int) -> tuple[Stretch, Stretch]:
        """Return the first `count` rows, and the others."""
        return (
            replace(self, values=self.values[:count]),
            replace(self, first=self.first + count, values=self.values[count:]),
        )


class Done(NamedTuple):
    """Cells that were made, by position, the seconds that took, and the rows not begun."""

    cells: Mapping[int, CellColumn]
    seconds: float
    left: Sequence[Stretch] = ()


MAX_BATCH_S = 0.25
"""After which a batch begins no further row. Its rows were as quick as those before them when it
was put together, and may be slow: nothing of it is written before it ends."""


_NONE: Mapping[int, Cell] = {}


def prepare_work(
    definition: Definition, run: RunState, plan: RunPlan, dataset_columns: Sequence[str]
) -> Work:
    """Find the code of everything that a run calls.

    Raises:
        EvaluationError: A function of the pinned version cannot be found.
        RunOptionError: A scorer's model cannot be asked.
    """
    task = _function_callee(run.policy or definition.task) if _is_called(plan.task) else None
    scorers = tuple(
        ScorerWork(position, _scorer_callee(spec, definition), action, spec.reads_the_call)
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


def run_rows(work: Work, stretches: Sequence[Stretch], stop: threading.Event) -> Done:
    """Make the calls of some rows, one after the other.

    After `stop` no further row is begun, and after `MAX_BATCH_S` none but the first.
    """
    begun_s = time.monotonic()
    cells = {position: CellColumn() for position in work.positions}
    left: Sequence[Stretch] = ()
    before = set_call_context(CallContext({}))
    try:
        for number, offset in _places(stretches):
            stretch = stretches[number]
            is_late = (number or offset) and time.monotonic() - begun_s > MAX_BATCH_S
            if stop.is_set() or is_late:
                left = (stretch.split(offset)[1], *stretches[number + 1 :])
                break
            index = stretch.first + offset
            named = dict(zip(stretch.names, stretch.values[offset], strict=True))
            if work.reads_traces:
                named[TRACE] = stretch.traces.get(index)
            set_call_context(RowContext(work.headers, work.run_id, index))
            _run_row(work, index, named, stretch.done.get(index, _NONE), cells)
    finally:
        reset_call_context(before)
    return Done(cells, time.monotonic() - begun_s, left)


def _places(stretches: Sequence[Stretch]) -> Iterator[tuple[int, int]]:
    """Yield each row as the number of its stretch and its place in there."""
    for number, stretch in enumerate(stretches):
        for offset in range(len(stretch)):
            yield number, offset


def _run_row(
    work: Work,
    index: int,
    values: dict[str, Any],
    done: Mapping[int, Cell],
    cells: Mapping[int, CellColumn],
) -> None:
    """Add the cells of a row to `cells`, but those that are `done`."""
    output_error = values.pop(OUTPUT_ERROR, None)
    if work.task is not None and work.task_action.calls(index):
        cell = done.get(0)
        if cell is None:
            cell = _call_task(work, work.task, index, values)
            cells[0].add(index, cell.value, cell.error, cell.metadata)
        values[OUTPUT], output_error = cell.value, cell.error
        if work.reads_traces:
            values[TRACE] = read_trace(f"{work.run_id}:{index}", cell.metadata)
    for scorer in work.scorers:
        if scorer.position in done or not scorer.action.calls(index):
            continue
        if scorer.reads_the_call and output_error is not None:
            cells[scorer.position].add(index)  # empty: it would score a call that failed
        else:
            cells[scorer.position].add(index, *_score(scorer, values))


def _call_task(work: Work, task: Callee, index: int, values: Mapping[str, object]) -> Cell:
    """Return the task's cell, whose metadata are the spans that were recorded."""
    spans = None
    if work.recorder is None:
        value, error = task.call(values)
    else:
        session_id = f"{work.run_id}:{index}"
        work.recorder.begin(session_id)
        value, error = task.call(values)
        spans = work.recorder.take(session_id)
    if error is None:
        try:
            value = plain_output(value)
        except TypeError as wrong:
            value, error = None, kept_error(str(wrong))
    return Cell(index, 0, value, error, spans)


def _score(
    scorer: ScorerWork, values: Mapping[str, object]
) -> tuple[float | None, str | None, str | None]:
    """Return score, error and metadata of a row."""
    returned, error = scorer.callee.call(values)
    if error is not None:
        return None, error, None
    try:
        return score_of(returned)
    except TypeError as wrong:
        return None, kept_error(str(wrong)), None


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


def _scorer_callee(spec: ScorerSpec, definition: Definition) -> Callee:
    if spec.code is not None:
        return _function_callee(spec.code)
    scorer = builtin_scorers.rebuild(spec.name, spec.inputs, spec.params)
    code: Callable[..., Any] = scorer.score
    if scorer.model is not None:
        asker = f"{definition.name}-{spec.name}"
        code = partial(code, scorer_models().conversations(str(scorer.model), asker))
    return Callee(code, spec.inputs, by_position=True)


def _call_in_time(callee: Callee, given: Mapping[str, object], limit_s: float) -> Called:
    """Call in a thread of its own. One that takes too long is left behind: none can be ended."""
    future: Future[Called] = Future()
    context = contextvars.copy_context()

    def call() -> None:
        future.set_result(context.run(call_user_code, callee.code, (), given, callee.retries))

    threading.Thread(target=call, name="chalk-timed", daemon=True).start()
    try:
        return future.result(limit_s * (callee.retries + 1))
    except TimeoutError:
        return None, f"the call took longer than {limit_s:g} s"

"""`EvaluationRun`: a handle on a run as it was when it was read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from pytest_chalk.errors import EvaluationError, EvaluationRunFailedError
from pytest_chalk.evaluations.dataset_client import read_rows
from pytest_chalk.evaluations.driver import driver_of, forget_driver
from pytest_chalk.evaluations.place import Place, current_place, place_or_current
from pytest_chalk.evaluations.progress import Progress
from pytest_chalk.evaluations.rescore_request import plan_of, rescore
from pytest_chalk.evaluations.rescoring import describe
from pytest_chalk.evaluations.run_scores import MeanScore, checked_mean, worst_rows
from pytest_chalk.schemas.evaluation import EvaluationRunExecutionMode, EvaluationRunStatus
from pytest_chalk.store.dataset_export import export_revision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pytest_chalk.schemas.evaluation import DatasetRevisionRef, RunState
    from pytest_chalk.store.dataset_export import Form
    from pytest_chalk.store.dataset_rows import Rows

READ_S = 2.0
"""How long a run goes on after something has read it."""

SMALL_RUN_S = 0.05
"""How long a read waits for the run it advances: a small one is done by then."""


@dataclass(frozen=True)
class EvaluationRun:
    """A run as it was when this handle was made; `refresh` and `wait` return newer ones.

    Attributes:
        metadata: As given to `run`.
        execution_mode: Who carries it to its end, fixed when it was queued.
        result_dataset: The revision with output and scores of each row; None until there is one.
        error_message: Why it failed.
        summary: Figures of the task and of each scorer; empty until it has succeeded.
        source_run_id: The run that this one rescores, if any.
    """

    id: str
    evaluation_id: str
    status: EvaluationRunStatus
    metadata: Mapping[str, Any]
    execution_mode: EvaluationRunExecutionMode
    created_by: str
    created_at: datetime
    started_at: datetime | None = None
    completed_at: datetime | None = None
    result_dataset: DatasetRevisionRef | None = None
    error_message: str | None = None
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)
    source_run_id: str | None = None
    _place: Place | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def from_id(run_id: str) -> EvaluationRun:
        """Return the run of that id, as it is now.

        Raises:
            EvaluationNotFoundError: There is none.
        """
        place = current_place()
        return handle_of(place, place.store.get_run(run_id))

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended: succeeded, failed or canceled."""
        return self.status.is_terminal

    @property
    def result_dataset_id(self) -> str | None:
        """The dataset of `result_dataset`."""
        return self.result_dataset.dataset_id if self.result_dataset else None

    @property
    def result_dataset_revision_id(self) -> str | None:
        """The revision of `result_dataset`."""
        return self.result_dataset.revision_id if self.result_dataset else None

    @property
    def dataset(self) -> DatasetRevisionRef:
        """The revision whose rows it is run on."""
        store = place_or_current(self._place).store
        return store.get_definition(self.evaluation_id).dataset

    @property
    def column_names(self) -> tuple[str, ...]:
        """The columns of its results, in order: the dataset's first, then `output`.

        Raises:
            EvaluationError: It has no results.
        """
        datasets = place_or_current(self._place).store.datasets
        return datasets.get_revision(self._result()).names

    def refresh(self) -> EvaluationRun:
        """Return the run as it is now; an `on_read` run goes on for a moment.

        Raises:
            MachineError: It cannot go on now.
        """
        place = place_or_current(self._place)
        state = place.store.get_run(self.id)
        if not state.status.is_terminal and _is_on_read(state):
            driver = driver_of(place, self.id)
            driver.ask(READ_S)
            driver.rested.wait(SMALL_RUN_S)
            if driver.problem is not None:
                raise driver.problem
            state = place.store.get_run(self.id)
        return handle_of(place, state)

    def wait(
        self,
        timeout: float | None = 600.0,
        poll_interval: float = 2.0,
        raise_on_failure: bool = True,  # noqa: FBT001, FBT002 - as the seeds have it
    ) -> EvaluationRun:
        """Return the run once it has ended; an `on_read` run goes on meanwhile.

        Args:
            timeout: Seconds to wait; None for as long as it takes.
            poll_interval: Seconds between looks. What this process itself does is noticed at once.
            raise_on_failure: Whether a run that failed or was canceled raises.

        Raises:
            TimeoutError: It has not ended in time. It is left as it is and can be waited for again.
            EvaluationRunFailedError: It failed or was canceled; has the handle as `run`.
            MachineError: It cannot go on now.
        """
        if poll_interval < 0 or (timeout is not None and timeout < 0):
            message = f"timeout and poll_interval are not negative: {timeout}, {poll_interval}"
            raise ValueError(message)
        ended = self._wait_for_end(timeout, poll_interval)
        if raise_on_failure and ended.status is not EvaluationRunStatus.SUCCEEDED:
            raise EvaluationRunFailedError(ended)
        return ended

    def _wait_for_end(self, timeout: float | None, poll_interval: float) -> EvaluationRun:
        place, began_s = place_or_current(self._place), time.monotonic()
        progress = Progress(place, self.id)
        driver = driver_of(place, self.id)
        driver.problem = None  # of an earlier wait; it may have been mended
        try:
            while True:
                state = place.store.get_run(self.id)
                if state.status.is_terminal:
                    forget_driver(place, self.id)
                    return handle_of(place, state)
                left_s = _left_s(state, timeout, began_s)
                pause_s = min(poll_interval, left_s, progress.interval_s)
                if _is_on_read(state):
                    if driver.problem is not None:
                        raise driver.problem
                    driver.ask(READ_S + pause_s)
                    driver.rested.wait(pause_s)
                else:
                    time.sleep(pause_s)
                progress.show(state)
        finally:
            driver.dismiss()
            progress.end()

    def cancel(self) -> EvaluationRun:
        """Cancel the run, unless it has ended; calls that are being made count no more."""
        place = place_or_current(self._place)
        place.ends.cancel(self.id, "it was canceled")
        return handle_of(place, place.store.get_run(self.id))

    def rescore(
        self,
        *,
        scorers: Sequence[object] | None = None,
        evaluation: object = None,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        retry_failed_task: bool = False,
    ) -> EvaluationRun:
        """Queue a run that scores this one's rows again and calls only what changed.

        Args:
            scorers: A new evaluation is made with these scorers.
            evaluation: An existing one, or its id, is rescored into. Neither: the run's own.
            name: Of the new evaluation, `<name> (rescored)` if none is given.
            metadata: Of the new run.
            retry_failed_task: Whether rows whose task failed are called again.

        Raises:
            ValueError: `scorers` and `evaluation` exclude each other; `name` needs `scorers`.
            EvaluationError: The run has not succeeded, or the evaluation is of another revision.
        """
        place = place_or_current(self._place)
        target = _id_of(evaluation)
        made = rescore(
            place,
            self.id,
            (scorers, target, name),
            metadata=metadata,
            retry_failed_task=retry_failed_task,
        )
        return handle_of(place, made)

    def rescore_plan(
        self,
        *,
        scorers: Sequence[object] | None = None,
        evaluation: object = None,
        retry_failed_task: bool = False,
    ) -> dict[str, str]:
        """Return what a rescore would copy and call, by `task` and scorer; makes nothing.

        Raises:
            As `rescore`.
        """
        place = place_or_current(self._place)
        choice = (scorers, _id_of(evaluation), None)
        target, plan, n_rows = plan_of(place, self.id, choice, retry_failed_task=retry_failed_task)
        return describe(plan, target, n_rows)

    def rows(self) -> Rows:
        """Return its results, row by row.

        Raises:
            EvaluationError: It has none.
        """
        return read_rows(place_or_current(self._place), self._result())

    def columns(self, *names: str, rows: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
        """Return some columns of its results, a tuple for each row, or for each of `rows`.

        Of a large result that takes a part of the memory that all rows take.

        Raises:
            EvaluationError: It has no results, or no column of that name.
        """
        place = place_or_current(self._place)
        result = place.store.datasets.get_revision(self._result())
        unknown = [name for name in names if name not in result.names]
        if unknown:
            where, problem = f"run {self.id!r}", f"it has no column {unknown[0]!r}"
            fix = f"The columns are {', '.join(result.names)}"
            raise EvaluationError(where, problem, fix=fix)
        files, columns = place.store.datasets.files, result.columns_named(names)
        if rows is None:
            return files.read(result.digest, columns)
        return files.read_some(result.digest, columns, rows)

    def rows_at(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return some rows of its results, in the order of `numbers`, which count from 0.

        Raises:
            EvaluationError: It has none.
        """
        names = self.column_names
        found = self.columns(*names, rows=numbers)
        return [dict(zip(names, row, strict=True)) for row in found]

    def export(self, to: BinaryIO, form: Form = "jsonl") -> None:
        """Write its results as JSON lines, `csv` or `parquet`, a block of rows at a time.

        Raises:
            EvaluationError: It has none.
            OSError: `to` cannot be written.
        """
        datasets = place_or_current(self._place).store.datasets
        export_revision(datasets.files, datasets.get_revision(self._result()), form, to)

    def _result(self) -> DatasetRevisionRef:
        if self.result_dataset is None:
            where, problem = f"run {self.id!r}", f"it is {self.status.value} and has no results"
            raise EvaluationError(where, problem, fix="Wait for it with run.wait()")
        return self.result_dataset

    def mean(self, scorer: str, *, min_scored: float = 1.0) -> MeanScore:
        """Return the mean score of a scorer, for assertions.

        Rows that failed have no score, and a mean over the others would hide them: they raise.

        Args:
            scorer: Its name.
            min_scored: The share of rows that must not have failed.

        Raises:
            EvaluationError: More rows failed, no row has a score, or there is no such scorer.
        """
        return checked_mean(self, scorer, min_scored)

    def worst(self, scorer: str, count: int = 5) -> list[dict[str, Any]]:
        """Return the rows with the lowest scores, those that failed first, numbered as `row`."""
        return worst_rows(self, scorer, count)


def handle_of(place: Place, state: RunState) -> EvaluationRun:
    """Return a handle on a run as the store has it."""
    return EvaluationRun(
        id=state.id,
        evaluation_id=state.evaluation_id,
        status=state.status,
        metadata=state.metadata,
        execution_mode=state.execution_mode,
        created_by=state.created_by,
        created_at=state.created_at,
        started_at=state.started_at,
        completed_at=state.completed_at,
        result_dataset=state.result,
        error_message=state.error_message,
        summary=state.summary,
        source_run_id=state.source_run_id,
        _place=place,
    )


def _id_of(evaluation: object) -> str | None:
    if evaluation is None or isinstance(evaluation, str):
        return evaluation
    return str(getattr(evaluation, "id", evaluation))


def _is_on_read(state: RunState) -> bool:
    return state.execution_mode is EvaluationRunExecutionMode.ON_READ


def _left_s(state: RunState, timeout: float | None, began_s: float) -> float:
    if timeout is None:
        return float("inf")
    left_s = began_s + timeout - time.monotonic()
    if left_s > 0:
        return left_s
    message = (
        f"run {state.id} is {state.status.value} after {timeout:g} s. It is left as it is: wait "
        "again, or give wait() more time"
    )
    raise TimeoutError(message)

"""`EvaluationSuite` and `Evaluation`: what scripts and tests hold in their hands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_chalk.evaluations.defining import checked_text, define
from pytest_chalk.evaluations.place import Place, created_by, current_place, place_or_current
from pytest_chalk.evaluations.rescore_request import DEFAULT_CONCURRENCY, queue_run, rescore
from pytest_chalk.evaluations.run_handle import EvaluationRun, handle_of
from pytest_chalk.schemas.evaluation import EvaluationScorer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from pytest_chalk.schemas.evaluation import (
        DatasetRevisionRef,
        Definition,
        EvaluationRunExecutionMode,
        ScorerSpec,
        Suite,
    )


@dataclass(frozen=True)
class EvaluationSuite:
    """A named collection of evaluations. Names are unique in a store."""

    id: str
    name: str
    created_by: str
    created_at: datetime
    _place: Place | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def create(name: str) -> EvaluationSuite:
        """Make a suite.

        Raises:
            ValueError: The name is empty.
            EvaluationError: There is a suite of that name.
        """
        place = current_place()
        name = checked_text("name", name)
        return _suite_of(place, place.store.add_suite(name, created_by()))

    @staticmethod
    def list_all() -> list[EvaluationSuite]:
        """Return every suite of the store, in the order they were made."""
        place = current_place()
        return [_suite_of(place, row) for row in place.store.suites()]

    @staticmethod
    def get_or_create(name: str) -> EvaluationSuite:
        """Return the suite of that name, made if there is none; safe in several processes.

        Raises:
            ValueError: The name is empty.
        """
        place = current_place()
        name = checked_text("name", name)
        return _suite_of(place, place.store.get_or_add_suite(name, created_by()))

    def evaluations(self, limit: int | None = None) -> Iterator[Evaluation]:
        """Yield its evaluations, newest first."""
        place = place_or_current(self._place)
        for definition in place.store.definitions(suite_id=self.id, limit=_checked_limit(limit)):
            yield evaluation_of(place, definition)

    def runs(self, limit: int | None = None) -> Iterator[EvaluationRun]:
        """Yield the runs of its evaluations, newest first."""
        place = place_or_current(self._place)
        for state in place.store.runs(suite_id=self.id, limit=_checked_limit(limit)):
            yield handle_of(place, state)


@dataclass(frozen=True)
class Evaluation:
    """A definition: dataset revision, task and scorers, fixed when it was created.

    Attributes:
        dataset: The pinned revision.
        task_function_version_id: The pinned version of the task's code.
        scorers: As defined, in order.
        metadata: As given to `create`.
    """

    id: str
    name: str
    dataset: DatasetRevisionRef
    task_function_version_id: str
    scorers: tuple[EvaluationScorer, ...]
    metadata: Mapping[str, Any]
    suite_id: str
    created_by: str
    created_at: datetime
    _place: Place | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def create(  # noqa: PLR0913 - the seeds prescribe them
        name: str,
        *,
        dataset: object,
        task: object,
        scorers: Sequence[object],
        metadata: Mapping[str, Any] | None = None,
        suite_id: str | None = None,
    ) -> Evaluation:
        """Define an evaluation. Nothing runs yet.

        Args:
            name: Need not be unique.
            dataset: What `DatasetClient().upload` returned. A dataset's name means its latest
                revision, which is pinned.
            task: A function whose parameters are columns of the dataset.
            scorers: At least one: of `scorers`, or functions whose parameters are columns,
                `output` or `trace`.
            metadata: Any JSON mapping.
            suite_id: Of the suite it is filed under; `Default` if none is given.

        Raises:
            ValueError: A name is empty, no scorer is given, columns are missing or clash.
            TypeError: The task or a scorer is no function, or the metadata no JSON mapping.
            EvaluationError: An SQL scorer cannot be used.
            EvaluationNotFoundError: There is no such revision or suite.
        """
        place = current_place()
        definition = define(
            place,
            name,
            dataset=dataset,
            task=task,
            scorers=scorers,
            metadata=metadata,
            suite_id=suite_id,
        )
        return evaluation_of(place, place.store.add_definition(definition))

    @staticmethod
    def from_id(evaluation_id: str) -> Evaluation:
        """Return the evaluation of that id.

        Raises:
            EvaluationNotFoundError: There is none.
        """
        place = current_place()
        return evaluation_of(place, place.store.get_definition(evaluation_id))

    @property
    def dataset_id(self) -> str:
        """The pinned dataset."""
        return str(self.dataset.dataset_id)

    @property
    def dataset_revision_id(self) -> str:
        """The pinned revision."""
        return str(self.dataset.revision_id)

    def refresh(self) -> Evaluation:
        """Return it as the store has it now."""
        place = place_or_current(self._place)
        return evaluation_of(place, place.store.get_definition(self.id))

    def run(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        execution_mode: EvaluationRunExecutionMode | str | None = None,
        policy: object = None,
        concurrency: int = DEFAULT_CONCURRENCY,
    ) -> EvaluationRun:
        """Queue a run and return its handle at once.

        Args:
            metadata: Of the run; any JSON mapping.
            execution_mode: `workflow`: a worker process carries the run to its end. `on_read`: it
                advances when something reads it. None: `workflow` where a worker runs.
            policy: A function that is called in place of the task. Rescoring such a run always
                calls the task.
            concurrency: How many rows are worked on at once.

        Raises:
            ValueError: The mode is none of these, or `concurrency` is below 1.
            TypeError: The metadata is no JSON mapping, or the policy cannot be called.
            EvaluationError: `workflow` is asked for where no worker runs; nothing is queued.
        """
        place = place_or_current(self._place)
        queued = queue_run(
            place,
            place.store.get_definition(self.id),
            metadata=metadata,
            execution_mode=execution_mode,
            policy=policy,
            concurrency=concurrency,
        )
        return handle_of(place, queued)

    def runs(self, limit: int | None = None) -> Iterator[EvaluationRun]:
        """Yield its runs, newest first.

        Raises:
            ValueError: `limit` is negative.
        """
        place = place_or_current(self._place)
        states = place.store.runs(evaluation_id=self.id, limit=_checked_limit(limit))
        return (handle_of(place, state) for state in states)

    def rescore(
        self,
        run: EvaluationRun | str,
        *,
        metadata: Mapping[str, Any] | None = None,
        retry_failed_task: bool = False,
    ) -> EvaluationRun:
        """Queue a run of this evaluation that rescores `run`; see `EvaluationRun.rescore`."""
        place = place_or_current(self._place)
        run_id = run if isinstance(run, str) else run.id
        made = rescore(
            place,
            run_id,
            (None, self.id, None),
            metadata=metadata,
            retry_failed_task=retry_failed_task,
        )
        return handle_of(place, made)


def evaluation_of(place: Place, definition: Definition) -> Evaluation:
    """Return a handle on a definition."""
    return Evaluation(
        id=definition.id,
        name=definition.name,
        dataset=definition.dataset,
        task_function_version_id=definition.task.version_id,
        scorers=tuple(_shown(spec) for spec in definition.scorers),
        metadata=definition.metadata,
        suite_id=definition.suite_id,
        created_by=definition.created_by,
        created_at=definition.created_at,
        _place=place,
    )


def _shown(spec: ScorerSpec) -> EvaluationScorer:
    if spec.kind == "function":
        return EvaluationScorer(spec.name, function_version_id=spec.identity)
    if spec.kind == "builtin":
        return EvaluationScorer(spec.name, builtin_id=spec.identity)
    return EvaluationScorer(spec.name, sql_name=spec.name, sql_expression=spec.identity)


def _suite_of(place: Place, suite: Suite) -> EvaluationSuite:
    return EvaluationSuite(suite.id, suite.name, suite.created_by, suite.created_at, place)


def _checked_limit(limit: int | None) -> int | None:
    if limit is not None and limit < 0:
        message = f"limit is not negative, found {limit}"
        raise ValueError(message)
    return limit

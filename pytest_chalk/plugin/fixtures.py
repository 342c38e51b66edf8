"""Fixtures of task items. A conftest overrides any of them for its directory.

Loaded in every pytest run. What they return is made in `fixture_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_chalk.authoring.task import Task
    from pytest_chalk.evaluations import EvaluationRun
    from pytest_chalk.plugin.seat import StudentSeat, Submissions
    from pytest_chalk.runner.students import Student
    from pytest_chalk.schemas.record import RunRecord
    from pytest_chalk.schemas.run_config import RunConfig


@pytest.fixture
def chalk_model(request: pytest.FixtureRequest) -> Student:
    """The student: `oracle`, `noop` or a model. Override it to script one."""
    from pytest_chalk.plugin.fixture_values import make_model

    return make_model(request.config, getattr(request, "param", "oracle"))


@pytest.fixture
def chalk_epoch(request: pytest.FixtureRequest) -> int:
    """Which repetition of the task this is, from 1."""
    return int(getattr(request, "param", 1))


@pytest.fixture
def chalk_run_config(request: pytest.FixtureRequest, chalk_model: Student) -> RunConfig:
    """The run config of this run: options and config file, with run id, task id and model."""
    from pytest_chalk.plugin.fixture_values import make_run_config

    return make_run_config(request.node, chalk_model)


@pytest.fixture
def chalk_student() -> StudentSeat:
    """The student's slot, UID and workdir in this process."""
    from pytest_chalk.plugin.running import student_seat

    return student_seat()


@pytest.fixture
def chalk_submissions(request: pytest.FixtureRequest, chalk_run_config: RunConfig) -> Submissions:
    """Where this run's submissions are saved, and under which limits."""
    from pytest_chalk.plugin.fixture_values import make_submissions

    return make_submissions(request.config, chalk_run_config)


@pytest.fixture
def chalk_run(request: pytest.FixtureRequest) -> Callable[..., RunRecord]:
    """Runs a task inside a test: `chalk_run(FindPython, model=ScriptedModel([...]))`.

    Takes what `pytest_chalk.run_task` takes and returns its `RunRecord`.
    """
    from pytest_chalk.plugin.run_within_test import run_within_test

    def run(task_class: type[Task], **options: Any) -> RunRecord:  # noqa: ANN401 - run_task has them
        return run_within_test(request, task_class, options)

    return run


@pytest.fixture
def chalk_evaluate(request: pytest.FixtureRequest) -> Callable[..., EvaluationRun]:
    """Evaluates a dataset inside a test and returns the run, which has ended.

    `run = chalk_evaluate("triage", dataset=rows, task=triage, scorers=[...])`, then
    `assert run.mean("intent-match") >= 0.9`.
    """
    from pytest_chalk.plugin.evaluating import evaluate_within_test

    def evaluate(
        name: str,
        *,
        dataset: object,
        task: object,
        scorers: Sequence[object],
        **options: Any,  # noqa: ANN401 - `evaluate_within_test` has them
    ) -> EvaluationRun:
        return evaluate_within_test(request, name, (dataset, task, scorers), **options)

    return evaluate

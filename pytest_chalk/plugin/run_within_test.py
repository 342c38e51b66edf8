"""Runs a task inside an ordinary test, for the fixture `chalk_run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.activation import activate
from pytest_chalk.runner.api import run_id_for, run_task

if TYPE_CHECKING:
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.schemas.record import RunRecord


def run_within_test(
    request: pytest.FixtureRequest, task_class: type[Task], options: dict[str, Any]
) -> RunRecord:
    """Run a task for the fixture `chalk_run`; its records go into the session's directory."""
    state = activate(request.config)
    judge = state.settings.judge.name
    run_id = run_id_for(task_class.id, "chalk_run", f"{request.node.nodeid}#{_count(request)}")
    defaults = {
        "directory": state.directory.run_directory(run_id),
        "judge_model": state.judge(judge) if judge else None,
    }
    return run_task(task_class, **{**defaults, **options})


_RUNS_OF_A_TEST = pytest.StashKey[int]()


def _count(request: pytest.FixtureRequest) -> int:
    stash: pytest.Stash = request.node.stash
    stash[_RUNS_OF_A_TEST] = stash.get(_RUNS_OF_A_TEST, 0) + 1
    return stash[_RUNS_OF_A_TEST]

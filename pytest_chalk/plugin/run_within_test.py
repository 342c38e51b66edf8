"""Runs a task inside an ordinary test, for the fixture `chalk_run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.activation import activate
from pytest_chalk.plugin.budget import metered
from pytest_chalk.runner.api import run_id_for, run_task
from pytest_chalk.runner.students import is_model

if TYPE_CHECKING:
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.plugin.state import ChalkState
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
    asked = {**defaults, **options}
    for role in {"model", "judge_model"} & asked.keys():
        asked[role] = _paying(state, role, asked[role])
    return run_task(task_class, **asked)


def _paying(state: ChalkState, role: str, given: object) -> object:
    """Return a model that pays from the session's budget, and anything else as it is."""
    found = state.judge(given) if role == "judge_model" and isinstance(given, str) else given
    return metered(found, state.settings, state.purse) if is_model(found) else found


_RUNS_OF_A_TEST = pytest.StashKey[int]()


def _count(request: pytest.FixtureRequest) -> int:
    stash: pytest.Stash = request.node.stash
    stash[_RUNS_OF_A_TEST] = stash.get(_RUNS_OF_A_TEST, 0) + 1
    return stash[_RUNS_OF_A_TEST]

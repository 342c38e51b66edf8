"""Errors: whose fault it is, and how to go on."""

from __future__ import annotations

import copy
import pickle

import pytest

from pytest_chalk import errors
from pytest_chalk.errors import (
    ChalkError,
    MachineError,
    RunOptionError,
    ScoringError,
    StudentMisbehaviorError,
    TaskDefinitionError,
)

BY_BLAME = {
    TaskDefinitionError: [
        "RunOptionError",
        "TaskImportError",
        "ScoringError",
        "ScriptedModelError",
        "CassetteMissError",
        "DatasetError",
        "EvaluationError",
    ],
    StudentMisbehaviorError: ["UnreapableCohortError", "ReclaimError"],
    MachineError: ["BoxError", "SlotError", "ProviderError"],
}


@pytest.mark.parametrize(("base", "names"), BY_BLAME.items())
def test_every_error_has_one_of_three_to_blame(base, names):
    for name in names:
        assert getattr(errors, name).__bases__ == (base,)
    assert base.__bases__ == (ChalkError,)


def test_the_tree_in_the_docstring_names_every_error():
    found = [name for name in vars(errors) if name.endswith("Error")]

    assert len(found) == 18
    assert all(name in errors.__doc__ for name in found)


def test_a_definition_error_says_where_what_and_how_to_go_on():
    error = TaskDefinitionError("task 'one'", "holds 'out.txt'", fix="Make it absolute")

    assert str(error) == "task 'one': holds 'out.txt'. Make it absolute."
    assert (error.where, error.problem, error.fix) == (
        "task 'one'",
        "holds 'out.txt'",
        "Make it absolute",
    )


@pytest.mark.parametrize("kind", [TaskDefinitionError, RunOptionError, ScoringError])
@pytest.mark.parametrize("carry", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_definition_error_crosses_process_borders_unchanged(kind, carry):
    error = kind("where", "problem", fix="Fix it")

    carried = carry(error)

    assert type(carried) is kind
    assert (str(carried), carried.fix) == (str(error), "Fix it")


def test_misbehavior_takes_any_message():
    assert str(StudentMisbehaviorError("answer.txt is a symlink")) == "answer.txt is a symlink"


def test_a_spent_budget_is_nobodys_error_and_in_the_docstring_all_the_same():
    assert errors.BudgetSpent.__bases__ == (BaseException,)
    assert "BudgetSpent" in errors.__doc__

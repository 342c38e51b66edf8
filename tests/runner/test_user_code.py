"""The one place that calls users' code."""

from __future__ import annotations

import os
import sys

import pytest

from pytest_chalk.errors import (
    MachineError,
    ReclaimError,
    StudentMisbehaviorError,
    TaskDefinitionError,
)
from pytest_chalk.runner.user_code import Misbehaved, Returned, call_user_code
from pytest_chalk.schemas.record import Failure


def raising(error: BaseException):
    def code():
        raise error

    return code


def test_what_the_code_returns_comes_back():
    assert call_user_code("judge", lambda: 42) == Returned(42)


@pytest.mark.parametrize(
    ("error", "blame"),
    [
        (ValueError("x"), "author"),
        (TaskDefinitionError("a", "b", fix="c"), "author"),
        (FileNotFoundError(2, "none"), "author"),
        (MachineError("x"), "machine"),
        (MemoryError(), "machine"),
        (OSError(28, "no space"), "machine"),
        (SystemExit(3), "author"),
    ],
)
def test_what_it_raises_is_a_value_with_stage_and_blame(error: BaseException, blame: str):
    came = call_user_code("judge", raising(error))

    assert isinstance(came, Failure)
    assert (came.stage, came.blame, came.exception_type) == ("judge", blame, type(error).__name__)
    assert "raising" in (came.traceback or "") or "code" in (came.traceback or "")


@pytest.mark.parametrize("kind", [StudentMisbehaviorError, ReclaimError])
def test_misbehaviour_is_told_apart(kind: type[StudentMisbehaviorError]):
    assert call_user_code("judge", raising(kind("a fifo \udcff"))) == Misbehaved("a fifo \\udcff")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), pytest.skip.Exception("no gpu")])
def test_interrupts_and_outcomes_of_pytest_pass_through(error: BaseException):
    with pytest.raises(type(error)):
        call_user_code("judge", raising(error))


def test_os_exit_is_refused_only_while_user_code_runs():
    real = os._exit

    came = call_user_code("judge", lambda: os._exit(0))

    assert isinstance(came, Failure)
    assert came.message == "tried to end the process with os._exit(0)"
    assert os._exit is real


def test_a_forked_child_of_user_code_may_still_exit():
    def fork() -> int:
        pid = os.fork()
        if pid == 0:
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert call_user_code("judge", fork) == Returned(7)


def test_sys_exit_says_what_it_tried():
    came = call_user_code("judge", lambda: sys.exit(0))

    assert isinstance(came, Failure)
    assert came.message == "tried to end the process with exit status 0"


def test_an_exception_that_cannot_be_shown_is_still_a_failure():
    class UnprintableError(Exception):
        def __str__(self):
            raise RuntimeError("no")

    came = call_user_code("judge", raising(UnprintableError()))

    assert isinstance(came, Failure)
    assert came.message == "<an exception that cannot be shown>"

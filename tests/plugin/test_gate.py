"""The gate: each row of the table of outcomes, under each gate; then end to end."""

from __future__ import annotations

import pytest
from plugin.conftest import Project

from pytest_chalk.plugin.gate import judge_session
from pytest_chalk.plugin.settings import Gate
from pytest_chalk.schemas.record import RunRecord

EACH = Gate()
MEAN = Gate(each=False, mean=True)
MEAN_HALF = Gate(each=False, mean=True, fail_under=0.5)
BOTH_HALF = Gate(each=True, mean=True, fail_under=0.5)


def run(outcome: str, score: float | None = None, model: str = "m") -> RunRecord:
    return RunRecord(run_id="r", task_id="t", model=model, outcome=outcome, score=score)


PASSED, FAILED = run("passed", 1.0), run("failed", 0.25)
MISBEHAVED, ERROR, NOT_RUN = run("misbehaved", 0.0), run("error"), run("not_run")


@pytest.mark.parametrize(
    ("gate", "runs", "passes", "mean"),
    [
        (EACH, [PASSED], True, 1.0),
        (EACH, [PASSED, FAILED], False, 0.625),
        (EACH, [PASSED, MISBEHAVED], False, 0.5),
        (EACH, [PASSED, ERROR], False, 1.0),
        (EACH, [PASSED, NOT_RUN], False, 1.0),
        (MEAN, [PASSED], True, 1.0),
        (MEAN, [PASSED, FAILED], True, 0.625),
        (MEAN, [PASSED, MISBEHAVED], True, 0.5),
        (MEAN, [PASSED, ERROR], False, 1.0),
        (MEAN, [PASSED, NOT_RUN], False, 1.0),
        (MEAN, [FAILED], True, 0.25),
        (MEAN_HALF, [PASSED, FAILED], True, 0.625),
        (MEAN_HALF, [FAILED], False, 0.25),
        (MEAN_HALF, [PASSED, MISBEHAVED], True, 0.5),
        (BOTH_HALF, [PASSED, FAILED], False, 0.625),
        (BOTH_HALF, [PASSED], True, 1.0),
        (EACH, [ERROR], False, None),
        (MEAN, [ERROR], False, None),
        (MEAN, [NOT_RUN], False, None),
    ],
)
def test_the_table_of_outcomes(gate: Gate, runs: list[RunRecord], passes: bool, mean: float | None):
    verdict = judge_session(gate, runs, selected=len(runs))

    assert (not verdict.problems, verdict.mean) == (passes, mean)


def test_coverage_below_min_scored_fails_and_above_passes():
    runs = [PASSED, PASSED, PASSED, ERROR]

    def problems(share: float) -> tuple[str, ...]:
        gate = Gate(each=False, mean=True, min_scored=share)
        return judge_session(gate, runs, selected=4).problems

    assert problems(0.75) == ()
    assert "3 of 4 planned runs scored, below --chalk-min-scored=0.8" in problems(0.8)[0]


def test_each_model_must_reach_the_mean():
    runs = [run("passed", 1.0, "good"), run("failed", 0.2, "bad")]

    verdict = judge_session(MEAN_HALF, runs, selected=2)

    assert len(verdict.problems) == 1
    assert "of bad 0.200 is below --chalk-fail-under=0.5" in verdict.problems[0]


def test_a_mean_reaches_its_bar_with_a_tolerance():
    gate = Gate(each=False, mean=True, fail_under=0.2)

    verdict = judge_session(gate, [run("failed", s) for s in (0.1, 0.2, 0.3)], selected=3)

    assert verdict.problems == ()


def test_nothing_scored_although_something_was_selected_fails():
    assert "nothing was measured" in judge_session(EACH, [], selected=1).problems[0]


def test_nothing_selected_is_nobodys_failure():
    assert judge_session(EACH, [], selected=0).problems == ()


TASKS = """
Good = task("good", step("work", Score(1.0)))
Poor = task("poor", step("work", Score(0.2, continue_task=False)))
"""
BROKEN = TASKS + '\nBroken = task("broken", step("work", Raises(RuntimeError("x"))))'
ATTACK = TASKS + '\nAttack = task("attack", step("w", Raises(StudentMisbehaviorError("fifo"))))'


SESSIONS = [
    (TASKS, [], 1),
    (TASKS, ["--chalk-gate=mean"], 0),
    (TASKS, ["--chalk-fail-under=0.6"], 0),
    (TASKS, ["--chalk-fail-under=0.7"], 1),
    (TASKS, ["--chalk-gate=each", "--chalk-fail-under=0.5"], 1),
    (BROKEN, ["--chalk-gate=mean"], 1),
    (BROKEN, ["--chalk-gate=mean", "--chalk-min-scored=0.6"], 0),
    (ATTACK, ["--chalk-gate=mean"], 0),
    (ATTACK, ["--chalk-fail-under=0.45"], 1),
]
WITH_WORKERS = [(tasks, [*options, "-n2"], status) for tasks, options, status in SESSIONS[::3]]
"""The gate sees reports alone, which are the same with workers: see test_xdist. So these do."""


@pytest.mark.parametrize(("tasks", "options", "status"), [*SESSIONS, *WITH_WORKERS])
def test_the_gate_sets_the_exit_status(
    project: Project, tasks: str, options: list[str], status: int
):
    project.task("one", tasks)

    result = (project.run_apart if "-n2" in options else project.run)(*options)

    assert result.ret == status, result.stdout.str()


def test_under_the_mean_gate_a_failed_task_is_shown_but_is_no_failed_test(project: Project):
    project.task("one", ATTACK)

    result = project.run("--chalk-gate=mean", "-v")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*FAILED 0.20*"])
    result.stdout.fnmatch_lines(["MISBEHAVED tasks/one/__init__.py::Attack*fifo"])


def test_a_gate_that_fails_says_so_where_all_else_is_green(project: Project):
    project.task("one", 'One = task("one", step("work", Score(0.5)))')

    result = project.run("--chalk-fail-under=0.9")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["FAIL chalk: mean score 0.500 is below --chalk-fail-under=0.9"])


def test_ordinary_tests_beside_tasks_decide_too(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file("test_plain.py", "def test_plain(): assert False\n")

    assert project.run("--chalk-gate=mean").ret == 1


def test_no_task_and_no_test_is_exit_5(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')

    assert project.run("-k", "nothing_of_this_name").ret == 5

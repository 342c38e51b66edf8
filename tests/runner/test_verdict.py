"""The pass rule and the outcomes, row by row."""

from __future__ import annotations

import pytest

from pytest_chalk.runner.verdict import (
    goes_on,
    is_partial,
    passes,
    reason_for_failing,
    run_outcome,
    run_reason,
    run_score,
    step_names,
    total_usage,
)
from pytest_chalk.schemas.record import Failure, PassRule, StepRecord, Usage
from pytest_chalk.schemas.scoring import Scoring

ANY_ABOVE_0 = PassRule()
HALF = PassRule(pass_score=0.5, source="--chalk-pass-score")


def scoring(score: float, *, goes_on: bool = True) -> Scoring:
    return Scoring(score, {}, goes_on)


def step(outcome: str, score: float | None = None, **more) -> StepRecord:
    return StepRecord(index=0, of=2, name="work", outcome=outcome, score=score, **more)


@pytest.mark.parametrize(
    ("score", "goes_on", "rule", "expected"),
    [
        (1.0, True, ANY_ABOVE_0, True),
        (0.01, True, ANY_ABOVE_0, True),
        (0.0, True, ANY_ABOVE_0, False),
        (-1.0, True, ANY_ABOVE_0, False),
        (1.0, False, ANY_ABOVE_0, False),
        (0.5, True, HALF, True),
        (0.499, True, HALF, False),
        (0.9, False, HALF, False),
        (0.1 + 0.2 + 0.7, True, PassRule(pass_score=1.0), True),
        (1.0 - 1e-8, True, PassRule(pass_score=1.0), False),
        (-0.5, True, PassRule(pass_score=-1.0), True),
        (0.0, True, PassRule(pass_score=0.0), True),
    ],
)
def test_the_judge_decides_and_a_pass_score_where_one_is_set(
    score: float, goes_on: bool, rule: PassRule, expected: bool
):
    assert passes(scoring(score, goes_on=goes_on), rule) is expected


@pytest.mark.parametrize(
    ("score", "rule", "expected"),
    [
        (0.5, ANY_ABOVE_0, True),
        (1.0, ANY_ABOVE_0, False),
        (0.0, ANY_ABOVE_0, False),
        (1.5, ANY_ABOVE_0, False),
        (0.7, HALF, False),
    ],
)
def test_a_step_is_partial_between_0_and_1_where_nobody_set_the_bar(
    score: float, rule: PassRule, expected: bool
):
    assert is_partial(scoring(score), rule) is expected


def test_the_reason_names_score_rule_and_where_the_rule_was_set():
    assert reason_for_failing(scoring(0.25), HALF) == (
        "score 0.25 is below the pass score 0.5 (set by --chalk-pass-score)"
    )


def test_the_reason_gives_the_judges_own_cause_if_it_has_one():
    failed = Scoring(0.0, {"error": "the scoring script exited 3"}, continue_task=False)

    assert reason_for_failing(failed, ANY_ABOVE_0) == "score 0: the scoring script exited 3"


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], "passed"),
        (["passed", "passed"], "passed"),
        (["passed", "failed"], "failed"),
        (["failed", "passed"], "failed"),
        (["failed", "misbehaved"], "misbehaved"),
        (["failed", "error"], "error"),
        (["misbehaved", "error"], "error"),
        (["error", "not_run"], "not_run"),
        (["passed", "skipped"], "skipped"),
    ],
)
def test_the_worst_step_is_the_runs_outcome(outcomes: list[str], expected: str):
    assert run_outcome([step(outcome) for outcome in outcomes]) == expected


def test_the_run_has_the_score_of_the_last_scored_step():
    assert run_score([step("passed", 0.3), step("passed", 0.6), step("error")]) == 0.6
    assert run_score([step("error")]) is None


def test_the_runs_reason_is_that_of_the_step_that_decided():
    steps = [step("failed", 0.0, reason="too low"), step("error", reason="judge: boom")]

    assert run_reason(steps) == "step 1/2 work: judge: boom"
    assert run_reason([step("passed", 1.0)]) == ""


BROKE = Failure(stage="post_hook", blame="author", exception_type="E", message="m")


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (step("passed", 1.0, continue_task=True), True),
        (step("failed", 0.0, continue_task=True), True),
        (step("failed", 0.0, continue_task=False), False),
        (step("error", None), False),
        (step("error", 1.0, continue_task=True, failure=BROKE), False),
        (step("error", None, continue_task=True), False),
    ],
)
def test_the_task_goes_on_only_from_a_scored_step_whose_judge_lets_it(
    record: StepRecord, expected: bool
):
    assert goes_on(record) is expected


def test_names_that_are_equal_get_their_index_counted_from_1():
    assert step_names(["a", "b", "a"]) == ("a-1", "b", "a-3")


def test_usage_adds_up_over_steps():
    one = step("passed", usage=Usage(turns=2, input_tokens=10, output_tokens=3))
    two = step("passed", usage=Usage(turns=1, input_tokens=5))

    assert total_usage([one, two]) == Usage(turns=3, input_tokens=15, output_tokens=3)

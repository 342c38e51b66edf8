"""Records: what they say in one line, and that they survive being written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from pytest_chalk.schemas.record import (
    Failure,
    LimitHit,
    PassRule,
    RunRecord,
    RunSpec,
    StepRecord,
    Usage,
)
from pytest_chalk.schemas.run_config import RunConfig


def failure(**fields):
    return Failure(**{"stage": "judge", "blame": "author", "exception_type": "KeyError"} | fields)


def run(**fields):
    return RunRecord(**{"run_id": "r", "task_id": "t", "model": "m", "outcome": "passed"} | fields)


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"message": "'x'"}, "judge: KeyError: 'x'"),
        ({"message": "\n first\nsecond"}, "judge: KeyError: first"),
        ({"message": ""}, "judge: KeyError"),
        ({"message": "ended early", "exception_type": ""}, "judge: ended early"),
        ({"message": "what: "}, "judge: KeyError: what:"),
    ],
)
def test_a_failure_is_summed_up_in_one_line(fields, summary):
    assert failure(**fields).summary == summary


@pytest.mark.parametrize(
    ("limit", "summary"),
    [
        (("step time", 30, 31.2345, "s"), "step time limit of 30 s reached after 31.23 s"),
        (("step time", 0.5, 0.5012, "s"), "step time limit of 0.5 s reached after 0.5012 s"),
        (("turns", 3, 3, "turns"), "turns limit of 3 turns reached after 3 turns"),
        (
            ("context", 200_000, 1_234_567, "tokens"),
            "context limit of 200000 tokens reached after 1234567 tokens",
        ),
    ],
)
def test_a_limit_is_summed_up_with_its_unit_and_without_exponents(limit, summary):
    name, value, used, unit = limit

    assert LimitHit(limit=name, value=value, used=used, unit=unit).summary == summary


def test_usage_adds_up():
    one = Usage(turns=1, input_tokens=10, output_tokens=2)

    assert one + one == Usage(turns=2, input_tokens=20, output_tokens=4)


@pytest.mark.parametrize(
    ("outcome", "is_scored"),
    [
        ("passed", True),
        ("failed", True),
        ("misbehaved", True),
        ("error", False),
        ("not_run", False),
        ("skipped", False),
    ],
)
def test_a_run_is_scored_when_the_work_was_measured(outcome, is_scored):
    assert run(outcome=outcome).is_scored is is_scored


def test_a_run_record_read_back_from_json_is_the_same():
    step = StepRecord(
        index=0,
        of=2,
        name="work \udcff",
        outcome="error",
        metadata={"list": (1, float("nan"))},
        limit=LimitHit(limit="turns", value=3, used=3, unit="turns"),
        failure=failure(message="no \udcff"),
        usage=Usage(turns=3),
        duration_s=0.1,
    )
    record = run(steps=(step,), not_reached=("second",), started_at=datetime.now(UTC))

    assert RunRecord.model_validate_json(record.model_dump_json()) == record
    assert RunRecord.model_validate(record.model_dump(mode="json")) == record


def test_a_run_spec_read_back_from_json_is_the_same():
    spec = RunSpec(
        config=RunConfig(run_id="r", task_id="t", model="m", turn_limit=3),
        module="tasks.one",
        qualname="One",
        pass_rule=PassRule(pass_score=0.8, source="--chalk-pass-score"),
    )

    assert RunSpec.model_validate_json(spec.model_dump_json()) == spec


def test_a_record_of_a_newer_schema_is_refused():
    with pytest.raises(ValidationError, match="schema_version"):
        run(schema_version=2)


def test_a_score_that_is_not_finite_never_reaches_a_record():
    with pytest.raises(ValidationError, match="finite"):
        run(score=float("nan"))


def test_an_outcome_that_is_none_of_the_six_is_refused():
    with pytest.raises(ValidationError, match="outcome"):
        run(outcome="ok")

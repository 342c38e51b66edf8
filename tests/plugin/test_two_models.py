"""Several models at once: a column each, and the gate for each of them."""

from __future__ import annotations

import pytest
from plugin.conftest import Project, model, properties

GOOD, BAD = model("openai/mock", text="bananas"), model("anthropic/mock", text="apples")


def name_of(option: str) -> str:
    return option.partition("=")[2]


@pytest.fixture
def two_tasks(asking: Project) -> Project:
    asking.task("two", 'Two = task("two", step("work", RegexJudge([re.compile("bananas")])))')
    return asking


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_each_model_has_its_rows_its_records_and_its_testcases(two_tasks: Project, workers: str):
    result = two_tasks.run_with(workers, GOOD, BAD)

    records = [e["record"] for e in two_tasks.journal() if e["type"] == "run"]
    scores = {(run["task_id"], run["model"]): run["score"] for run in records}
    assert scores == {
        ("one", name_of(GOOD)): 1.0,
        ("one", name_of(BAD)): 0.0,
        ("two", name_of(GOOD)): 1.0,
        ("two", name_of(BAD)): 0.0,
    }
    result.stdout.fnmatch_lines(
        [
            f"chalk: 4 runs to make: {name_of(GOOD)} x 2, {name_of(BAD)} x 2",
            *(
                f"{task} * {name_of(which)} * {score}*"
                for task in ("one", "two")
                for which, score in ((GOOD, "1.00 "), (BAD, "0.00 failed"))
            ),
            "mean 0.500 over 4 scored of 4",
        ]
    )
    told = {
        (properties(case)["chalk.task_id"], properties(case)["chalk.model"])
        for case in two_tasks.junit().values()
        if "chalk.task_id" in properties(case)
    }
    assert told == set(scores)


@pytest.mark.parametrize(
    ("options", "status", "problem"),
    [
        ((GOOD, BAD, "--chalk-fail-under=0.5"), 1, f"mean score of {name_of(BAD)} 0.000 is below"),
        ((GOOD, BAD, "--chalk-fail-under=0"), 0, ""),
        ((GOOD, "--chalk-fail-under=0.5"), 0, ""),
        ((GOOD, BAD, "--chalk-gate=mean"), 0, ""),
        ((GOOD, BAD), 1, "not every task passed: 2 failed"),
    ],
)
def test_each_model_must_reach_the_bar_by_itself(
    two_tasks: Project, options: tuple[str, ...], status: int, problem: str
):
    result = two_tasks.run(*options)

    assert result.ret == status, result.stdout.str()
    told = [line for line in result.outlines if line.startswith("FAIL chalk:")]
    assert len(told) == bool(problem)
    assert all(problem in line for line in told)


def test_a_model_that_is_not_measured_fails_though_the_other_is(two_tasks: Project):
    broken = model("anthropic/mock", faults="badjson,badjson,badjson,badjson")

    result = two_tasks.run(GOOD, broken, "--chalk-gate=mean", "-k", "one")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [f"FAIL chalk: coverage of {name_of(broken)}: 0 of 1 planned run scored, below *"]
    )


def test_a_model_named_twice_is_one_column(two_tasks: Project):
    result = two_tasks.run(GOOD, GOOD)

    assert result.ret == 0
    result.stdout.fnmatch_lines([f"chalk: 2 runs to make: {name_of(GOOD)} x 2"])

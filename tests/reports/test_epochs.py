"""Several runs of one task: bars, when they are decided, and what several runs say together."""

from __future__ import annotations

import pytest

from pytest_chalk.reports.epoch_summary import (
    mean_interval_of,
    overall_interval,
    passes_of,
    render_epochs,
)
from pytest_chalk.reports.epochs import Bars, decide, find_problem, group_of
from pytest_chalk.schemas.record import RunRecord


def run(score, epoch=1, task="one", model="m", **fields):
    outcome = "error" if score is None else "passed" if score > 0 else "failed"
    nodeid = f"tasks/{task}/__init__.py::{task.title()}[{model}-e{epoch}]"
    known = {"run_id": "r", "task_id": task, "model": model, "nodeid": nodeid, "epoch": epoch}
    return RunRecord(**known | {"outcome": outcome, "score": score} | fields)


def runs(*scores, **fields):
    return [run(score, epoch, **fields) for epoch, score in enumerate(scores, 1)]


@pytest.mark.parametrize(
    ("nodeid", "epoch", "group"),
    [
        ("a.py::T[oracle-e2]", 2, "a.py::T[oracle]"),
        ("a.py::T[e2]", 2, "a.py::T"),
        ("a.py::T[m-e1-e1-x]", 1, "a.py::T[m-e1-x]"),
        ("a.py::T[oracle]", 1, "a.py::T[oracle]"),
        ("a.py::T[oracle-e2]", 1, "a.py::T[oracle-e2]"),
        ("a.py::T", 1, "a.py::T"),
    ],
)
def test_the_group_of_a_run_is_its_node_id_without_the_epoch(nodeid, epoch, group):
    assert group_of(nodeid, epoch) == group


@pytest.mark.parametrize(
    ("scores", "decision"),
    [([], None), ([1.0], None), ([1.0] * 50, None), ([1.0, 0.0], "failed"), ([None, 1.0], None)],
)
def test_without_a_bar_the_first_run_that_does_not_pass_decides(scores, decision):
    assert decide(Bars(auto=True), runs(*scores)) == decision


@pytest.mark.parametrize(
    ("scores", "decision"),
    [
        ([1.0] * 8, None),
        ([1.0] * 9, "passed"),
        ([0.0] * 5, "failed"),
        ([None] * 20, None),
        ([1.0] * 9 + [None], "passed"),
        ([1.0, 0.0] * 6, None),
    ],
)
def test_a_pass_rate_decides_when_it_is_sure(scores, decision):
    assert decide(Bars(min_pass_rate=0.6, auto=True), runs(*scores)) == decision


def test_with_two_bars_both_must_be_passed_and_one_may_fail():
    bars = Bars(min_mean=0.5, min_pass_rate=0.6, auto=True)

    assert decide(bars, runs(*[1.0] * 9)) == "passed"
    assert decide(bars, runs(*[0.5] * 9)) is None
    assert decide(bars, runs(*[0.01] * 9)) == "failed"


def test_an_attack_counts_as_0_and_as_no_pass():
    attack = run(1.0, outcome="misbehaved")

    assert decide(Bars(), [attack]) == "failed"
    problem = find_problem(Bars(min_mean=0.1), [attack])
    assert problem == "mean 0.000, min_mean=0.1 (1 scored run)"


@pytest.mark.parametrize(
    ("bars", "scores", "problem"),
    [
        (Bars(), [0.0], ""),
        (Bars(min_mean=0.2), [0.1, 0.2, 0.3], ""),
        (Bars(min_mean=0.2), [None], ""),
        (Bars(min_pass_rate=0.5), [1.0, 0.0], ""),
        (
            Bars(min_mean=0.8),
            [0.5, 1.0],
            "mean 0.750 [-2.427, 3.927] at 95 %, min_mean=0.8 (2 scored runs)",
        ),
        (
            Bars(min_pass_rate=0.6, confidence=0.9),
            [1.0, 0.0, 0.0],
            "pass rate 0.333 [0.078, 0.746] at 90 %, min_pass_rate=0.6 (3 scored runs)",
        ),
    ],
)
def test_of_a_fixed_number_of_runs_mean_and_rate_decide(bars, scores, problem):
    assert find_problem(bars, runs(*scores)) == problem


def test_under_auto_what_is_not_sure_is_undecided_even_if_it_looks_good():
    bars = Bars(min_pass_rate=0.6, auto=True)

    assert find_problem(bars, runs(*[1.0] * 5)).startswith("undecided after 5 scored runs: pass")
    assert find_problem(bars, runs(*[1.0] * 9)) == ""
    assert find_problem(bars, runs(*[0.0] * 9)).startswith("pass rate 0.000 [")


def test_runs_once_each_say_nothing_about_epochs():
    assert render_epochs([run(1.0), run(0.0, task="two")]) == []


def test_pass_at_k_and_pass_hat_k_are_means_over_tasks_and_flaky_ones_are_named():
    found = [*runs(1.0, 0.0, 0.0), *runs(1.0, 1.0, 1.0, task="two")]

    assert render_epochs(found) == [
        "pass@k: 0.67 (k=1), 0.83 (k=2), 1.00 (k=3)",
        "pass^k: 0.67 (k=1), 0.50 (k=2), 0.50 (k=3)",
        "FLAKY tasks/one/__init__.py::One[m]: 1 of 3 runs passed",
    ]


def test_with_fewer_than_k_scored_runs_of_a_task_it_is_undefined_and_no_task_left_out():
    found = [*runs(1.0, None), *runs(1.0, 1.0, task="two")]

    pass_at, pass_hat = render_epochs(found)

    assert pass_at == "pass@k: 1.00 (k=1), undefined (k=2: 1 of 2 tasks scored fewer runs)"
    assert "undefined (k=2" in pass_hat


def test_each_of_several_models_has_its_lines():
    lines = render_epochs([*runs(1.0, 1.0), *runs(0.0, 0.0, model="n")])

    assert [line.partition(":")[0] for line in lines] == [
        "pass@k of m",
        "pass^k of m",
        "pass@k of n",
        "pass^k of n",
    ]


def test_intervals_are_not_shown_beyond_the_scores_there_can_be():
    assert mean_interval_of(runs(0.5, 1.0)) == "[0.00, 1.00]"
    assert mean_interval_of(runs(0.5, 2.0)) == "[-8.28, 10.78]"
    assert mean_interval_of(runs(1.0, 1.0)) == "-"
    assert mean_interval_of(runs(None)) == "-"
    assert passes_of(runs(1.0, 0.0, None)) == "1/2 [0.09, 0.91]"
    assert passes_of(runs(None)) == "-"


def test_the_interval_over_all_is_clustered_by_task():
    one_each = [run(s, task=f"t{i}") for i, s in enumerate([0.2, 0.5, 0.9])]
    ten_each = [r for i, s in enumerate([0.2, 0.5, 0.9]) for r in runs(*[s] * 10, task=f"t{i}")]

    assert overall_interval(one_each) == overall_interval(ten_each) != "-"

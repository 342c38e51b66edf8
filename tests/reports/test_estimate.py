"""What runs are expected to take and cost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.reports.estimate import MAX_NAMED, by_group, makespan, render_estimate
from pytest_chalk.schemas.past_run import PastRun


def past(nodeid: str, *times_s: float, usd: float = 0.0, known: bool = True) -> list[PastRun]:
    return [PastRun("s", nodeid, 1, "m", time_s, usd, is_price_known=known) for time_s in times_s]


SEEN = {
    "a::A[m]": past("a::A[m]", 30.0, 50.0, usd=0.5),
    "a::B[m]": past("a::B[m]", 10.0, usd=0.25),
    "a::C[x]": past("a::C[x]", 5.0, known=False),
}


def test_each_task_has_its_mean_its_longest_and_its_cost_and_the_total_their_sums():
    assert render_estimate(["a::A[m]", "a::A[m]", "a::B[m]"], SEEN, 0) == [
        "task and student  runs  seen  time each  longest  cost each",
        "a::A[m]              2     2      40.0s    50.0s    $0.5000",
        "a::B[m]              1     1      10.0s    10.0s    $0.2500",
        "time: 1m30s one after another",
        "cost: $1.25",
    ]


def test_with_workers_the_time_is_what_it_is_at_best():
    lines = render_estimate(["a::A[m]", "a::A[m]", "a::B[m]"], SEEN, 2)

    assert "time: 1m30s one after another, at best 50.0s with -n 2" in lines


def test_what_was_never_measured_is_named_and_not_guessed():
    lines = render_estimate(["a::A[m]", "a::New[m]", "a::New[m]"], SEEN, 0)

    assert lines[2].split() == ["a::New[m]", "2", "0", "?", "?", "?"]
    assert lines[3:] == [
        "time: 40.0s one after another, for 1 of 3 runs",
        "cost: $0.5000, for 1 of 3 runs",
        "never measured: a::New[m]",
    ]


def test_where_nothing_is_known_there_is_no_total():
    assert render_estimate(["a::New[m]"], {}, 4)[2:] == ["never measured: a::New[m]"]


def test_a_cost_without_a_price_is_not_zero():
    lines = render_estimate(["a::B[m]", "a::C[x]"], SEEN, 0)

    assert lines[2].split()[-2:] == ["5.0s", "?"]
    assert lines[3:] == [
        "time: 15.0s one after another",
        "cost: $0.2500, for 1 of 2 runs",
        "without a known price: a::C[x]",
    ]


def test_of_many_unknown_tasks_some_are_named():
    lines = render_estimate([f"a::T{number}[m]" for number in range(MAX_NAMED + 3)], {}, 0)

    assert lines[-1].endswith(f"a::T{MAX_NAMED - 1}[m] and 3 more")


def test_epochs_of_a_task_share_what_they_took():
    runs = [PastRun("s", f"a::A[m-e{epoch}]", epoch, "m", 1.0) for epoch in (1, 2)]

    assert {group: len(found) for group, found in by_group(runs).items()} == {"a::A[m]": 2}


@given(st.lists(st.floats(0, 1_000), min_size=1), st.integers(1, 8))
def test_no_number_of_workers_beats_the_longest_run_nor_the_share_of_all(
    times_s: list[float], workers: int
):
    took_s = makespan(times_s, workers)

    assert took_s >= max(times_s)
    assert took_s >= sum(times_s) / workers - 1e-6
    assert took_s <= sum(times_s) + 1e-6

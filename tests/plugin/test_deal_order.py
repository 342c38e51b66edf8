"""The order in which xdist deals the longest runs out first, against its own schedulers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdist.scheduler import LoadGroupScheduling, LoadScheduling, WorkStealingScheduling

from pytest_chalk.plugin.deal_order import Dealing, dealt_out, start_order
from pytest_chalk.reports.estimate import makespan

SCHEDULERS = {
    "load": LoadScheduling,
    "worksteal": WorkStealingScheduling,
    "loadgroup": LoadGroupScheduling,
}
WORKERS, COUNTS = st.integers(1, 6), st.integers(1, 40)


class Worker:
    """A worker of xdist as its schedulers see it."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.queue: list[int] = []
        self.busy_until_s = 0.0
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.queue += indices

    def send_steal(self, indices: list[int]) -> None:
        raise NotImplementedError

    def shutdown(self) -> None:
        self.shutting_down = True


class Config:
    def __init__(self, workers: int, max_chunk: int | None) -> None:
        self._values = {"tx": ["popen"] * workers, "maxschedchunk": max_chunk, "verbose": 0}
        self.option = SimpleNamespace(loadscopereorder=True)

    def getoption(self, name: str) -> object:
        return self._values[name]

    getvalue = getoption


class Dealt:
    """A list of runs as a scheduler of xdist deals it out."""

    def __init__(self, dealing: Dealing, times_s: list[float]) -> None:
        config = Config(dealing.workers, dealing.max_chunk)
        self._scheduler = SCHEDULERS[dealing.mode](config, None)
        self._times_s = times_s
        self._workers = [Worker(number) for number in range(dealing.workers)]
        nodeids = [f"a::t{number}" for number in range(len(times_s))]
        for worker in self._workers:
            self._scheduler.add_node(worker)
            self._scheduler.add_node_collection(worker, nodeids)
        self._scheduler.schedule()
        self.begun_with = [worker.queue[0] for worker in self._workers if worker.queue]

    def took_s(self) -> float:
        """Let the workers run all that they are sent; return when the last one ends."""
        while busy := [worker for worker in self._workers if worker.queue]:
            worker = min(busy, key=lambda w: w.busy_until_s + self._times_s[w.queue[0]])
            item = worker.queue.pop(0)
            worker.busy_until_s += self._times_s[item]
            self._scheduler.mark_test_complete(worker, item, self._times_s[item])
        return max(worker.busy_until_s for worker in self._workers)


def in_order(dealing: Dealing, times_s: list[float]) -> list[float]:
    order = start_order(dealing, len(times_s))
    assert order is not None
    tasks = sorted(times_s, reverse=True)
    return dealt_out(times_s, tasks, order, lambda _time: True)


@given(st.sampled_from([*SCHEDULERS]), WORKERS, COUNTS, st.sampled_from([1, 3, None]))
def test_every_place_is_in_the_order_once(mode: str, workers: int, count: int, most: int | None):
    order = start_order(Dealing(mode, workers, most), count)

    assert order is not None
    assert sorted(order) == list(range(count))


@given(st.sampled_from([*SCHEDULERS]), WORKERS, COUNTS, st.sampled_from([1, 3, None]))
def test_the_workers_of_xdist_begin_with_the_longest(
    mode: str, workers: int, count: int, most: int | None
):
    dealing = Dealing(mode, workers, most)
    times_s = [float(number % 7 + number / 100) for number in range(count)]
    listed = in_order(dealing, times_s)

    begun = sorted((listed[place] for place in Dealt(dealing, listed).begun_with), reverse=True)

    assert begun == sorted(times_s, reverse=True)[: len(begun)]


@pytest.mark.parametrize("mode", ["load", "loadgroup"])
@pytest.mark.parametrize("workers", [2, 4])
def test_a_session_ends_hardly_later_than_it_must(mode: str, workers: int):
    times_s = [600.0, 550.0, 500.0, 400.0, *[60.0 + number for number in range(36)]]
    dealing = Dealing(mode, workers, 1)
    worst_s = Dealt(dealing, sorted(times_s)).took_s()

    took_s = Dealt(dealing, in_order(dealing, times_s)).took_s()

    assert took_s <= 1.1 * makespan(times_s, workers)
    assert took_s < worst_s


@pytest.mark.parametrize("mode", ["loadscope", "loadfile", "each", "no"])
def test_modes_that_keep_items_together_are_left_alone(mode: str):
    assert start_order(Dealing(mode, 2), 10) is None


def dealt(text: str, tasks: str, order: list[int]) -> str:
    return "".join(dealt_out(text, tasks, order, str.isupper))


def test_tests_keep_their_order_and_those_before_the_first_task_their_places():
    assert dealt("abTcUdV", "VUT", [0, 2, 4, 6, 1, 3, 5]) == "abVcUdT"
    assert dealt("TUVabc", "VUT", [0, 2, 4, 5, 1, 3]) == "VaUbTc"


@given(st.text("abTUV", min_size=1), st.integers(1, 4))
def test_nothing_is_lost_and_nothing_doubled(text: str, workers: int):
    tasks = sorted(filter(str.isupper, text))
    order = start_order(Dealing("load", workers, 1), len(text))
    assert order is not None
    if tasks:
        result = dealt(text, "".join(tasks), order)

        assert sorted(result) == sorted(text)
        assert [c for c in result if c.islower()] == [c for c in text if c.islower()]

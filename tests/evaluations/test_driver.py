"""How a process advances a run: batches that stay short, and what is left in order if it fails."""

from __future__ import annotations

import threading
import time
from collections import Counter as Counts

import pytest
from evaluations.conftest import Counter

from pytest_chalk.errors import MachineError
from pytest_chalk.evaluations import DatasetClient, Evaluation, driver, row_work, scorers
from pytest_chalk.evaluations.rescoring import Action
from pytest_chalk.evaluations.row_work import Callee, Stretch, Work, run_rows


def work_that_calls(code):
    return Work("run", Callee(code, ("n",)), Action(), (), ("n",), {})


def str_of(n):
    return str(n)


def stretch(first, count):
    return Stretch(0, first, ("n",), [(n,) for n in range(first, first + count)])


def test_a_batch_gives_back_the_rows_it_has_not_begun_in_time(monkeypatch):
    monkeypatch.setattr(row_work, "MAX_BATCH_S", 0.05)
    batch = [stretch(0, 5), stretch(5, 2), stretch(7, 500)]

    done = run_rows(
        work_that_calls(lambda n: time.sleep(0.06 if n == 2 else 0)), batch, threading.Event()
    )

    assert done.cells[0].rows == [0, 1, 2]
    assert [(s.first, len(s)) for s in done.left] == [(3, 2), (5, 2), (7, 500)]
    assert done.seconds < 2


def test_a_batch_that_is_late_from_the_start_makes_the_call_of_one_row(monkeypatch):
    monkeypatch.setattr(row_work, "MAX_BATCH_S", -1.0)

    done = run_rows(work_that_calls(str_of), [stretch(0, 1), stretch(1, 3)], threading.Event())

    assert (done.cells[0].rows, done.cells[0].values) == ([0], ["0"])
    assert [(s.first, len(s)) for s in done.left] == [(1, 3)]


def test_a_batch_that_is_stopped_makes_no_call_and_gives_all_rows_back():
    stop = threading.Event()
    stop.set()

    done = run_rows(work_that_calls(str), [stretch(0, 2), stretch(2, 3)], stop)

    assert done.cells[0].rows == []
    assert [(s.first, len(s)) for s in done.left] == [(0, 2), (2, 3)]


def test_rows_that_are_given_back_are_called_later_and_once(monkeypatch):
    monkeypatch.setattr(row_work, "MAX_BATCH_S", -1.0)
    monkeypatch.setattr(driver, "BATCH_S", 10.0)  # so that batches grow
    dataset = DatasetClient().upload("n", [{"n": n} for n in range(300)])
    counter = Counter(str, inputs=("n",))
    made = Evaluation.create(
        "n", dataset=dataset, task=counter.function, scorers=[scorers.json_valid()]
    )

    run = made.run(concurrency=3).wait(timeout=60)

    assert Counts(counter.calls) == Counts(str(n) for n in range(300))
    assert [row["output"] for row in run.rows()] == [str(n) for n in range(300)]


def test_the_first_fault_is_told_where_recordings_cannot_be_written_either(monkeypatch, evaluation):
    pools = []

    class Pool(driver.DaemonPool):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.is_shut = False
            pools.append(self)

        def shutdown(self, *arguments, **options):
            self.is_shut = True
            super().shutdown(*arguments, **options)

    def refuse():
        message = "the disk is full of recordings"
        raise MachineError(message)

    def fail(*_):
        message = "the result cannot be made"
        raise MachineError(message)

    monkeypatch.setattr(driver, "DaemonPool", Pool)
    monkeypatch.setattr(driver, "run_rows", fail)
    monkeypatch.setattr(driver, "flush_recordings", refuse)

    with pytest.raises(MachineError, match="the result cannot be made") as told:
        evaluation.run().wait(timeout=30)

    assert told.value.__notes__ == ["the disk is full of recordings"]
    assert [pool.is_shut for pool in pools] == [True]

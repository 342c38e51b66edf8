"""Handles on runs: waiting, refreshing, failing, and what they show."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from evaluations.conftest import shout

from pytest_chalk.authoring.scorer import Unscored
from pytest_chalk.evaluations import (
    DatasetClient,
    Evaluation,
    EvaluationError,
    EvaluationRun,
    EvaluationRunFailedError,
    EvaluationRunStatus,
    EvaluationScorer,
    EvaluationSuite,
    get_call_context,
    run_handle,
    scorers,
)
from pytest_chalk.evaluations.place import Place, open_place
from pytest_chalk.store import dataset_export


@pytest.fixture
def place(store):
    return open_place(store)


@pytest.fixture
def worker(place):
    """A worker that is there and does nothing."""
    place.workers.beat(place.owner_id)
    yield
    place.workers.leave(place.owner_id)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only while somebody sleeps, and what was slept."""
    fake = SimpleNamespace(now=0.0, slept=[], after={})

    def sleep(seconds):
        fake.slept.append(seconds)
        fake.now += seconds
        fake.after.get(len(fake.slept), lambda: None)()

    monkeypatch.setattr(
        run_handle, "time", SimpleNamespace(monotonic=lambda: fake.now, sleep=sleep)
    )
    return fake


def test_where_a_worker_runs_workflow_is_the_mode_from_the_moment_a_run_is_queued(
    worker, evaluation
):
    assert evaluation.run().execution_mode == "workflow"
    assert evaluation.run(execution_mode="on_read").execution_mode == "on_read"


def test_a_worker_that_is_gone_is_none(worker, place, evaluation):
    place.workers.leave(place.owner_id)

    assert evaluation.run().execution_mode == "on_read"


def test_wait_looks_every_two_seconds_and_without_a_timeout_for_ever(
    worker, place, evaluation, clock
):
    run = evaluation.run()
    clock.after[500] = lambda: place.ends.cancel(run.id, "enough")

    final = run.wait(timeout=None, raise_on_failure=False)

    assert final.status == "canceled"
    assert clock.slept == [2.0] * 500


def test_a_wait_ends_when_its_time_is_over_not_at_the_next_look(worker, evaluation, clock):
    run = evaluation.run()

    with pytest.raises(TimeoutError, match="pending after 5 s"):
        run.wait(timeout=5)

    assert clock.slept == [2.0, 2.0, 1.0]
    assert run.refresh().status == "pending"


def test_a_run_that_failed_raises_with_its_handle_or_is_returned(place, evaluation):
    run = evaluation.run()
    place.ends.fail(run.id, "the disk is full")

    with pytest.raises(EvaluationRunFailedError, match="the disk is full") as caught:
        run.wait()

    failed = run.wait(raise_on_failure=False)
    assert caught.value.run == failed
    assert (failed.status, failed.error_message) == ("failed", "the disk is full")
    assert failed.is_terminal
    assert (failed.result_dataset, failed.result_dataset_id) == (None, None)
    assert failed.created_at <= failed.completed_at


def test_refresh_sees_what_another_process_did_and_the_old_handle_stays(store, evaluation):
    run = evaluation.run()
    other = Place(store)  # a connection of its own, as another process has
    other.ends.cancel(run.id, "elsewhere")

    assert run.status == "pending"
    assert run.refresh().status == "canceled"
    assert EvaluationRun.from_id(run.id).status == "canceled"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CHALK_CREATED_BY": "ada", "GITHUB_ACTOR": "bot"}, "ada"),
        ({"GITHUB_ACTOR": "bot"}, "bot"),
        ({}, "@"),
    ],
)
def test_what_is_made_says_by_whom(dataset, monkeypatch, environment, expected):
    for name in ("CHALK_CREATED_BY", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    suite = EvaluationSuite.create("s")
    made = Evaluation.create(
        "n", dataset=dataset, task=shout, scorers=[scorers.exact_match()], suite_id=suite.id
    )

    makers = {suite.created_by, made.created_by, made.run().created_by}
    assert len(makers) == 1
    assert expected in makers.pop()


def test_the_seven_statuses_have_the_names_of_the_api():
    assert [status.value for status in EvaluationRunStatus] == [
        "unspecified", "pending", "running", "finalizing", "succeeded", "failed", "canceled",
    ]  # fmt: skip


def test_scorers_are_a_tuple_in_the_order_given(dataset):
    wanted = [scorers.sql("c", "1"), scorers.json_valid(name="a"), scorers.exact_match(name="b")]

    made = Evaluation.create("n", dataset=dataset, task=shout, scorers=wanted)

    assert type(made.scorers) is tuple
    assert [scorer.id for scorer in made.scorers] == ["c", "a", "b"]
    assert all(isinstance(scorer, EvaluationScorer) for scorer in made.scorers)


def test_a_handle_shows_the_same_however_it_was_had_and_nothing_of_the_store(evaluation, store):
    final = evaluation.run(metadata={"n": 1}).wait()

    for handle in (final, final.result_dataset, evaluation):
        assert str(store) not in repr(handle)
        assert "_place" not in repr(handle)
    assert repr(EvaluationRun.from_id(final.id)) == repr(final)
    assert repr(Evaluation.from_id(evaluation.id)) == repr(evaluation)


def test_a_definition_keeps_the_version_of_a_task_that_is_written_anew(dataset):
    def answer(question):
        return question

    first = Evaluation.create("n", dataset=dataset, task=answer, scorers=[scorers.exact_match()])

    def answer(question):
        return question + "!"

    second = Evaluation.create("n", dataset=dataset, task=answer, scorers=[scorers.exact_match()])

    assert first.refresh().task_function_version_id == first.task_function_version_id
    assert first.task_function_version_id != second.task_function_version_id
    assert first.run().wait().rows()[0]["output"] == "one"


def test_calls_of_two_runs_at_once_have_the_context_of_their_own_row():
    rows = DatasetClient().upload("many", [{"n": n} for n in range(50)])
    together = threading.Barrier(2)

    def which(n):
        if not n:
            together.wait(20)  # both runs are under way
        time.sleep(0.001)
        context = get_call_context()
        return [context["x-chalk-evaluation-run-id"], context["x-chalk-session-id"]]

    def same(n, output):
        context = get_call_context()
        return float(
            output == [context["x-chalk-evaluation-run-id"], context["x-chalk-session-id"]]
        )

    made = Evaluation.create("n", dataset=rows, task=which, scorers=[same])
    runs = [made.run(concurrency=16) for _ in range(2)]
    finals = {}
    waiting = [
        threading.Thread(target=lambda run=run: finals.update({run.id: run.wait(timeout=30)}))
        for run in runs
    ]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()

    for run in runs:
        found = finals[run.id].rows()
        assert [row["output"] for row in found] == [[run.id, f"{run.id}:{n}"] for n in range(50)]
        assert {row["same_value"] for row in found} == {1.0}


def test_a_secret_of_the_environment_is_in_no_error_that_is_kept(dataset, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "sk-canary-1234")

    def careless(question):
        message = "401: wrong key sk-canary-1234"
        raise PermissionError(message)

    final = (
        Evaluation.create("n", dataset=dataset, task=careless, scorers=[scorers.json_valid()])
        .run()
        .wait()
    )

    error = final.rows()[0]["output_error"]
    assert error.startswith("PermissionError: 401: wrong key [ACME_API_KEY redacted]")


CANARY = "sk-canary-1234"


@pytest.mark.parametrize(
    "returned",
    [Unscored(f"refused: {CANARY}", {}), f"key {CANARY}", [f"key {CANARY}"], "x" * 85 + CANARY],
)
def test_a_secret_is_in_no_error_of_what_a_scorer_returned(dataset, monkeypatch, returned):
    monkeypatch.setenv("ACME_API_KEY", CANARY)

    def careless(output):
        return returned

    final = Evaluation.create("n", dataset=dataset, task=shout, scorers=[careless]).run().wait()

    errors = [row["careless_error"] for row in final.rows()]
    assert all(error and "sk-can" not in error for error in errors), errors


def test_a_secret_is_in_no_error_of_what_a_task_returned(dataset, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", CANARY)

    def careless(question):
        return {question: _Shown()}

    wanted = [scorers.json_valid()]
    final = Evaluation.create("n", dataset=dataset, task=careless, scorers=wanted).run().wait()

    errors = [row["output_error"] for row in final.rows()]
    assert all(error and "sk-can" not in error for error in errors), errors


class _Shown:
    def __repr__(self):
        return "x" * 75 + CANARY


@pytest.fixture
def final(dataset):
    def judged(question):
        if question == "three":
            raise ValueError
        return {"one": 0.5, "two": 0.25, "four": []}[question]

    wanted = [scorers.exact_match(), judged]
    return Evaluation.create("n", dataset=dataset, task=shout, scorers=wanted).run().wait()


def test_columns_and_rows_can_be_had_alone(final):
    assert final.columns("output", "exact_match_value", rows=[2, 0]) == [
        ("THREE", 0.0), ("ONE", 1.0),
    ]  # fmt: skip
    assert final.columns("judged_value") == [(0.5,), (0.25,), (None,), (None,)]
    assert final.columns() == [()] * 4
    assert final.rows_at([3, 1]) == [final.rows()[3], final.rows()[1]]
    assert final.rows_at([]) == []
    with pytest.raises(EvaluationError, match=r"no column 'nope'.*exact_match_value"):
        final.columns("nope")


def test_the_worst_rows_are_those_that_failed_then_the_lowest_and_none_that_is_unscored(final):
    worst = final.worst("judged")

    assert [row["row"] for row in worst] == [2, 1, 0]
    assert worst[1] == {"row": 1, **final.rows()[1]}
    assert [row["row"] for row in final.worst("judged", 1)] == [2]
    with pytest.raises(EvaluationError, match="row 2: ValueError"):
        final.mean("judged")


@pytest.mark.parametrize("block_rows", [2, 3, 100])
def test_an_export_is_the_same_however_many_rows_a_block_has(final, monkeypatch, block_rows):
    monkeypatch.setattr(dataset_export, "ROW_GROUP_ROWS", block_rows)
    written = {form: io.BytesIO() for form in ("jsonl", "csv", "parquet")}
    for form, to in written.items():
        final.export(to, form)

    texts = {form: to.getvalue() for form, to in written.items()}
    assert [json.loads(line) for line in texts["jsonl"].splitlines()] == final.rows()
    lines = list(csv.DictReader(io.StringIO(texts["csv"].decode(), newline="")))
    assert [line["output"] for line in lines] == ["ONE", "TWO", "THREE", "FOUR"]
    assert [line["judged_value"] for line in lines] == ["0.5", "0.25", "", ""]
    assert pq.read_table(io.BytesIO(texts["parquet"])).to_pylist() == final.rows()
    with pytest.raises(EvaluationError, match="no results"):
        Evaluation.from_id(final.evaluation_id).run().export(io.BytesIO())


def test_the_context_of_a_call_is_a_mapping_of_all_its_headers(dataset):
    seen = []

    def look(question):
        context = get_call_context()
        seen.append((dict(context), len(context), repr(context), context["X-Chalk-Session-ID"]))
        return question

    run = Evaluation.create("n", dataset=dataset, task=look, scorers=[scorers.json_valid()]).run(
        concurrency=1
    )
    run.wait()

    headers, count, shown, session = seen[2]
    assert headers == {
        "x-chalk-evaluation-id": run.evaluation_id,
        "x-chalk-evaluation-run-id": run.id,
        "x-chalk-session-id": f"{run.id}:2",
    }
    assert (count, session) == (3, f"{run.id}:2")
    assert shown == f"CallContext({headers!r})"

"""Running: queued at once, advanced by reads, ended once, whatever rows do."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import sys
import threading
import time
from contextlib import closing
from datetime import timedelta

import pytest
from evaluations.conftest import ROWS, Counter, printed_json, run_script, shout

from pytest_chalk.evaluations import (
    DatasetClient,
    DatasetError,
    Evaluation,
    EvaluationError,
    EvaluationRun,
    EvaluationRunExecutionMode,
    EvaluationRunFailedError,
    EvaluationRunStatus,
    EvaluationScorerResult,
    driver,
    function,
    get_call_context,
    scorers,
)


def new_run(dataset, task=shout, wanted=None, **options):
    chosen = wanted or [scorers.exact_match()]
    return Evaluation.create("n", dataset=dataset, task=task, scorers=chosen).run(**options)


def column(run, name):
    return [row[name] for row in run.rows()]


def test_a_run_is_queued_at_once_and_nothing_happens_until_somebody_reads_it(dataset):
    task = Counter(str.upper)

    run = new_run(dataset, task.function, metadata={"git_sha": "abc"})
    time.sleep(0.2)

    assert run.status is EvaluationRunStatus.PENDING
    assert run.execution_mode is EvaluationRunExecutionMode.ON_READ
    assert (run.metadata, run.result_dataset, run.started_at) == ({"git_sha": "abc"}, None, None)
    assert task.calls == []


def test_wait_returns_the_final_handle_and_leaves_the_old_one(dataset):
    run = new_run(dataset)

    final = run.wait()

    assert (run.status, final.status) == ("pending", "succeeded")
    assert final.is_terminal
    assert column(final, "output") == ["ONE", "TWO", "THREE", "FOUR"]
    assert column(final, "exact_match_value") == [1.0, 1.0, 0.0, 1.0]
    assert final.created_at <= final.started_at <= final.completed_at
    assert final.created_at.utcoffset() == timedelta(0)
    ref = final.result_dataset
    assert (final.result_dataset_id, final.result_dataset_revision_id) == (
        ref.dataset_id, ref.revision_id,
    )  # fmt: skip
    assert DatasetClient().read(ref) == final.rows()


def test_the_result_has_the_columns_that_are_documented(dataset):
    final = new_run(dataset, wanted=[scorers.json_valid(name="valid-json"), shout]).wait()

    assert list(final.rows()[0]) == [
        "question", "expected", "output", "output_error",
        "valid_json_value", "valid_json_error", "valid_json_metadata",
        "shout_value", "shout_error", "shout_metadata",
    ]  # fmt: skip


def test_one_refresh_makes_progress(dataset):
    run = new_run(dataset)

    deadline = time.monotonic() + 10
    while not run.is_terminal and time.monotonic() < deadline:
        run = run.refresh()

    assert run.status is EvaluationRunStatus.SUCCEEDED


def test_wait_has_the_documented_defaults():
    parameters = inspect.signature(EvaluationRun.wait).parameters

    assert (parameters["timeout"].default, parameters["poll_interval"].default) == (600.0, 2.0)
    assert parameters["raise_on_failure"].default is True


def test_a_wait_that_is_too_short_raises_and_the_run_goes_on_with_the_next(dataset):
    release = threading.Event()

    def slow(question):
        release.wait(20)
        return question.upper()

    run = new_run(dataset, slow)
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match=r"running after 0\.3 s"):
        run.wait(timeout=0.3)
    assert time.monotonic() - begun < 5
    release.set()

    assert column(run.wait(timeout=20), "exact_match_value") == [1.0, 1.0, 0.0, 1.0]


def test_a_wait_of_no_time_looks_once_and_does_nothing(dataset):
    task = Counter(str.upper)
    run = new_run(dataset, task.function)

    with pytest.raises(TimeoutError):
        run.wait(timeout=0)

    assert task.calls == []


@pytest.mark.parametrize("arguments", [{"timeout": -1}, {"poll_interval": -1}])
def test_a_negative_time_is_refused(dataset, arguments):
    with pytest.raises(ValueError, match="negative"):
        new_run(dataset).wait(**arguments)


def test_a_row_whose_task_fails_has_its_error_and_no_score_and_the_run_succeeds(dataset):
    task = Counter(str.upper, fail_on={"two"})

    final = new_run(dataset, task.function, [scorers.exact_match(), Counter(len).function]).wait()

    assert column(final, "output") == ["ONE", None, "THREE", "FOUR"]
    assert column(final, "output_error")[1].startswith("ValueError: no answer to two")
    assert column(final, "exact_match_value") == [1.0, None, 0.0, 1.0]
    assert column(final, "exact_match_error") == [None] * 4
    assert column(final, "counted_value") == [3.0, 3.0, 5.0, 4.0]  # reads no output
    figures = final.summary["scorers"]["exact-match"]
    assert (figures["scored"], figures["failed"], figures["unscored"]) == (3, 1, 0)


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (True, "found True"),
        (None, "found None"),
        ("0.5", "found '0.5'"),
        (float("nan"), "finite"),
        ({"score": 1}, "dict"),
    ],
)
def test_what_is_no_score_is_an_error_of_its_cell(dataset, returned, says):
    def odd(output):
        return returned

    final = new_run(dataset, wanted=[odd]).wait()

    assert column(final, "odd_value") == [None] * 4
    assert says in column(final, "odd_error")[0]


def test_a_scorer_may_return_a_number_a_result_or_several_or_none_at_all(dataset):
    def many(question):
        return {
            "one": 7,
            "two": EvaluationScorerResult(0.25, {"why": "b", "a": 2}),
            "three": [EvaluationScorerResult(0.0), 1],
            "four": [],
        }[question]

    final = new_run(dataset, wanted=[many]).wait()

    assert column(final, "many_value") == [7.0, 0.25, 0.5, None]
    assert column(final, "many_error") == [None] * 4
    assert column(final, "many_metadata")[1] == '{"a":2,"why":"b"}'
    assert '"score":1.0' in column(final, "many_metadata")[2]
    assert final.summary["scorers"]["many"]["unscored"] == 1


@pytest.mark.parametrize("score", [-0.1, 1.1, True, float("inf"), "x", None])
def test_a_result_outside_of_0_to_1_cannot_be_made(score):
    with pytest.raises(ValueError, match="from 0 to 1"):
        EvaluationScorerResult(score)


@pytest.mark.parametrize(
    "raises", [SystemExit(3), KeyboardInterrupt(), pytest.fail.Exception("no"), RecursionError()]
)
def test_nothing_that_a_task_raises_ends_the_run(dataset, raises):
    def bad(question):
        if question == "one":
            raise raises
        return question

    final = new_run(dataset, bad).wait()

    assert column(final, "output") == [None, "two", "three", "four"]
    assert type(raises).__name__ in column(final, "output_error")[0]


def test_outputs_come_back_as_they_were(dataset):
    outputs = {"one": {"a": [1, None]}, "two": 2, "three": 1.5, "four": "x"}

    def varied(question):
        return outputs[question]

    final = new_run(dataset, varied).wait()

    assert column(final, "output") == list(outputs.values())


def test_an_output_that_cannot_be_stored_is_an_error_of_its_row(dataset):
    final = new_run(dataset, function(lambda question: object())).wait()

    assert "cannot be stored" in column(final, "output_error")[0]


def test_text_that_utf8_cannot_hold_comes_back_as_it_was(dataset):
    final = new_run(dataset, function(lambda question: question + "\ud800\x00")).wait()

    assert column(final, "output")[0] == "one\ud800\x00"


def test_an_async_task_runs_and_sees_its_context(dataset):
    async def waits(question):
        await asyncio.sleep(0)
        return get_call_context()["X-Chalk-Evaluation-Run-Id"]

    run = new_run(dataset, waits)

    assert column(run.wait(), "output") == [run.id] * 4


def test_calls_are_made_at_once_up_to_the_concurrency(dataset):
    inside, most = [0], [0]
    lock = threading.Lock()

    def watched(question):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.05)
        with lock:
            inside[0] -= 1
        return question

    many = DatasetClient().upload("many", [{"question": str(i)} for i in range(20)])
    new_run(many, watched, [scorers.json_valid()], concurrency=4).wait()

    assert most[0] == 4
    with pytest.raises(ValueError, match="concurrency"):
        new_run(dataset, concurrency=0)


def test_a_call_that_failed_is_made_again_as_often_as_the_function_says(dataset):
    calls = []

    @function(retries=2)
    def flaky(question):
        calls.append(question)
        if calls.count(question) < 3:
            raise OSError
        return question.upper()

    final = new_run(dataset, flaky).wait()

    assert column(final, "exact_match_value") == [1.0, 1.0, 0.0, 1.0]
    assert len(calls) == 12


def test_a_call_that_takes_too_long_fails_its_row(dataset):
    release = threading.Event()

    @function(call_timeout=0.1)
    def slow(question):
        if question == "two":
            release.wait(20)
        return question.upper()

    final = new_run(dataset, slow).wait(timeout=20)
    release.set()

    assert column(final, "output_error")[1] == "the call took longer than 0.1 s"
    assert column(final, "output")[0] == "ONE"


def test_runs_are_listed_newest_first(evaluation):
    made = [evaluation.run().id for _ in range(3)]

    assert [run.id for run in evaluation.runs()] == made[::-1]
    assert [run.id for run in evaluation.runs(limit=2)] == made[:0:-1]
    assert list(evaluation.runs(limit=0)) == []
    with pytest.raises(ValueError, match="limit"):
        evaluation.runs(limit=-1)


@pytest.mark.parametrize("mode", ["later", "unspecified", 7])
def test_a_mode_that_does_not_exist_is_refused(evaluation, mode):
    with pytest.raises(ValueError, match="execution_mode"):
        evaluation.run(execution_mode=mode)


def test_workflow_without_a_worker_is_rejected_and_nothing_is_queued(evaluation):
    with pytest.raises(EvaluationError, match="pytest-chalk worker"):
        evaluation.run(execution_mode=EvaluationRunExecutionMode.WORKFLOW)

    assert list(evaluation.runs()) == []


def test_a_canceled_run_ends_without_results(dataset):
    run = new_run(dataset).cancel()

    assert run.status is EvaluationRunStatus.CANCELED
    with pytest.raises(EvaluationRunFailedError, match="canceled") as caught:
        run.wait()
    assert caught.value.run.id == run.id
    assert run.wait(raise_on_failure=False).status == "canceled"
    with pytest.raises(EvaluationError, match="has no results"):
        run.rows()


def test_a_run_that_is_canceled_on_its_way_stops_calling(dataset, monkeypatch):
    monkeypatch.setattr(driver, "LOOK_S", 0.05)
    many = DatasetClient().upload("many", [{"question": str(i)} for i in range(200)])
    begun = threading.Event()
    calls = []

    def slow(question):
        calls.append(question)
        begun.set()
        time.sleep(0.05)
        return question

    run = new_run(many, slow, [scorers.json_valid()], concurrency=2)
    run.refresh()
    begun.wait(10)
    run.cancel()

    assert run.wait(raise_on_failure=False).status == "canceled"
    time.sleep(0.5)
    before = len(calls)
    time.sleep(0.2)
    assert len(calls) == before < 200


def test_a_cancel_after_the_end_changes_nothing(dataset):
    final = new_run(dataset).wait()

    assert final.cancel() == final


def test_a_dataset_without_rows_makes_a_result_without_rows():
    empty = DatasetClient().upload("empty", {"question": [], "expected": []})

    final = new_run(empty).wait()

    assert final.rows() == []
    assert final.summary["scorers"]["exact-match"]["mean"] is None


@pytest.mark.parametrize("status", list(EvaluationRunStatus))
def test_three_statuses_end_a_run(status):
    assert status.is_terminal == (status in {"succeeded", "failed", "canceled"})


def test_every_call_carries_its_evaluation_and_run(dataset):
    def which(question):
        context = get_call_context()
        return f"{context.get('x-chalk-evaluation-id')} {context.get('x-chalk-evaluation-run-id')}"

    def check(output):
        return 1.0 if which("") == output else 0.0

    evaluation = Evaluation.create("n", dataset=dataset, task=which, scorers=[check])
    runs = [evaluation.run() for _ in range(2)]
    finals = [run.wait() for run in runs]

    for run, final in zip(runs, finals, strict=True):
        assert column(final, "output") == [f"{evaluation.id} {run.id}"] * 4
        assert column(final, "check_value") == [1.0] * 4
    assert dict(get_call_context()) == {}
    assert get_call_context().get("x-chalk-evaluation-id") is None


def test_a_policy_is_called_in_place_of_the_task(dataset):
    task = Counter(str.upper)
    evaluation = Evaluation.create(
        "n", dataset=dataset, task=task.function, scorers=[scorers.exact_match()]
    )

    final = evaluation.run(policy=lambda expected: expected).wait()

    assert column(final, "exact_match_value") == [1.0] * 4
    assert task.calls == []
    with pytest.raises(ValueError, match="policy takes 'nothing'"):
        evaluation.run(policy=lambda nothing: nothing)


def test_the_store_of_a_run_that_ended_keeps_no_cells(dataset, store):
    new_run(dataset).wait()

    with closing(sqlite3.connect(store / "store.db")) as connection:
        assert connection.execute("SELECT count(*) FROM cells").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM chunks").fetchone() == (0,)


def test_a_run_is_carried_on_by_another_process_that_has_the_code(tmp_path):
    code = """
        import json, sys
        import chalkcompute

        @chalkcompute.function
        def double(n):
            return 2 * n

        if __name__ == "__main__":
            dataset = chalkcompute.DatasetClient().upload("n", [{"n": i} for i in range(5)])
            run = chalkcompute.Evaluation.create(
                "n", dataset=dataset, task=double,
                scorers=[chalkcompute.scorers.numeric_close(inputs=("output", "n"))],
            ).run()
            print(json.dumps(run.id))
    """
    run_id = printed_json(run_script(tmp_path, code))
    (tmp_path / "script.py").rename(tmp_path / "definitions.py")

    ran = run_script(
        tmp_path,
        f"""
        import json, runpy
        import chalkcompute
        runpy.run_path("definitions.py")
        run = chalkcompute.EvaluationRun.from_id({run_id!r}).wait()
        print(json.dumps([row["output"] for row in run.rows()]))
        """,
    )

    assert printed_json(ran) == [0, 2, 4, 6, 8]


def test_a_run_whose_code_has_changed_does_not_go_on_and_says_so(tmp_path):
    code = """
        import json, sys
        import chalkcompute

        @chalkcompute.function
        def double(n):
            return 2 * n

        if __name__ == "__main__":
            if len(sys.argv) > 1:
                run = chalkcompute.EvaluationRun.from_id(sys.argv[1])
                try:
                    run.wait()
                except chalkcompute.EvaluationError as error:
                    run = chalkcompute.EvaluationRun.from_id(sys.argv[1])
                    print(json.dumps([run.status, str(error)]))
            else:
                dataset = chalkcompute.DatasetClient().upload("n", [{"n": 1}])
                wanted = [chalkcompute.scorers.json_valid()]
                made = chalkcompute.Evaluation.create(
                    "n", dataset=dataset, task=double, scorers=wanted
                )
                print(json.dumps(made.run().id))
    """
    run_id = printed_json(run_script(tmp_path, code))

    status, message = printed_json(run_script(tmp_path, code.replace("2 * n", "3 * n"), run_id))

    assert status == "pending"  # the code may be there elsewhere, or come back
    assert "function 'double'" in message
    assert "is pinned" in message


def test_a_plain_function_is_as_good_as_a_decorated_one(dataset):
    assert column(new_run(dataset, str_upper).wait(), "output")[0] == "ONE"
    assert len(ROWS) == 4


def str_upper(question):
    return question.upper()


def test_what_a_task_does_to_its_input_is_not_seen_by_scorers():
    dataset = DatasetClient().upload("lists", [{"items": [3, 1, 2]}])

    def first(items):
        items.sort()
        return {"sorted": items}

    def untouched(items, output):
        output.clear()
        return float(items == [3, 1, 2])

    def whole(output):
        return float(output == {"sorted": [1, 2, 3]})

    final = new_run(dataset, first, [untouched, whole]).wait()

    assert column(final, "untouched_value") == [1.0]
    assert column(final, "whole_value") == [1.0]
    assert column(final, "output") == [{"sorted": [1, 2, 3]}]


def test_a_run_that_could_not_go_on_goes_on_once_the_cause_is_mended(dataset, store):
    run = new_run(dataset)
    moved = store / "datasets.moved"
    (store / "datasets").rename(moved)
    with pytest.raises(DatasetError, match="not there any more"):
        run.wait()
    (store / "datasets").rmdir() if (store / "datasets").exists() else None
    moved.rename(store / "datasets")

    assert run.refresh().status != "failed"
    assert run.wait().status == "succeeded"


def test_the_summary_has_a_bootstrap_interval_that_is_the_same_for_the_same_result(dataset):
    finals = [new_run(dataset).wait() for _ in range(2)]

    figures = [final.summary["scorers"]["exact-match"] for final in finals]
    assert figures[0] == figures[1]
    assert figures[0]["mean"] == 0.75
    low, high = figures[0]["interval"]
    assert 0 <= low < 0.75 < high <= 1


def test_the_interval_of_many_scores_is_narrow_and_holds_the_mean():
    many = DatasetClient().upload("many", [{"n": n} for n in range(500)])

    final = new_run(many, lambda n: n % 10, [function(lambda output: output / 9)]).wait()

    (figures,) = final.summary["scorers"].values()
    low, high = figures["interval"]
    assert low < figures["mean"] < high
    assert 0.04 < high - low < 0.07


@pytest.mark.parametrize("n_rows", [4, 300])
def test_scores_too_large_for_their_squares_end_the_run_all_the_same(n_rows):
    rows = DatasetClient().upload("large", [{"n": n} for n in range(n_rows)])

    final = new_run(rows, lambda n: n, [scorers.sql("large", "output * 1e200")]).wait()

    figures = final.summary["scorers"]["large"]
    assert figures["max"] == (n_rows - 1) * 1e200
    assert figures["mean"] == pytest.approx((n_rows - 1) / 2 * 1e200)


@pytest.mark.parametrize("count", [2, 201])
def test_scores_near_the_largest_double_do_not_keep_a_run_from_ending(count):
    rows = [{"n": n} for n in range(count)]
    largest = function(lambda n: sys.float_info.max if n % 2 else -sys.float_info.max)
    same = function(lambda n, output: output)
    made = Evaluation.create(
        "n", dataset=DatasetClient().upload("n", rows), task=largest, scorers=[same]
    )

    run = made.run().wait(timeout=30)

    (figures,) = run.summary["scorers"].values()
    assert (figures["scored"], figures["max"]) == (count, sys.float_info.max)

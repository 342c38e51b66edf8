"""Rescoring: what is copied, what is called, and that the result is an ordinary run."""

from __future__ import annotations

import pytest
from evaluations.conftest import Counter, printed_json, run_script, shout
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pytest_chalk.evaluations import (
    DatasetClient,
    Evaluation,
    EvaluationError,
    EvaluationRunStatus,
    EvaluationSuite,
    function,
    get_call_context,
    scorers,
)
from pytest_chalk.evaluations.place import open_place

EXACT = scorers.exact_match()
ALL = ["one", "two", "three", "four"]


def column(run, name):
    return [row[name] for row in run.rows()]


def create(dataset, task, wanted, name="n", **options):
    return Evaluation.create(name, dataset=dataset, task=task, scorers=wanted, **options)


@pytest.fixture
def task():
    return Counter(str.upper, name="task")


@pytest.fixture
def by_output():
    return Counter(len, name="by_output", inputs=("output",))


@pytest.fixture
def by_column():
    return Counter(len, name="by_column")


@pytest.fixture
def run(dataset, task, by_output, by_column):
    wanted = [EXACT, by_output.function, by_column.function, scorers.sql("k", "1")]
    made = create(dataset, task.function, wanted, metadata={"of": "definition"}).run().wait()
    for counter in (task, by_output, by_column):
        assert sorted(counter.calls) == sorted(
            ALL if counter is not by_output else map(str.upper, ALL)
        )
        counter.calls.clear()
    return made


def test_new_scorers_make_a_new_evaluation_and_only_they_are_called(
    run, task, by_output, by_column
):
    old = Evaluation.from_id(run.evaluation_id)
    added = Counter(lambda output: 0.5, name="added", inputs=("output",))
    wanted = [by_output.function, added.function]

    plan = run.rescore_plan(scorers=wanted)
    rescored = run.rescore(scorers=wanted).wait()

    assert plan == {"task": "copy 4 rows", "by_output": "copy 4 rows", "added": "call 4 rows"}
    assert (task.calls, by_output.calls, by_column.calls) == ([], [], [])
    assert len(added.calls) == 4
    assert column(rescored, "output") == column(run, "output")
    assert column(rescored, "by_output_value") == column(run, "by_output_value")
    made = Evaluation.from_id(rescored.evaluation_id)
    assert (made.name, made.metadata) == ("n (rescored)", {})
    assert made.dataset == old.dataset
    assert made.suite_id == old.suite_id
    assert made.task_function_version_id == old.task_function_version_id
    assert old.refresh() == old
    assert list(made.runs()) == [rescored]
    assert rescored.source_run_id == run.id


def test_a_run_of_the_new_evaluation_calls_the_task(run, task):
    made = Evaluation.from_id(run.rescore(scorers=[EXACT], name="mine").evaluation_id)

    made.run().wait()

    assert made.name == "mine"
    assert len(task.calls) == 4


def test_the_same_scorer_under_another_name_is_copied(run, by_output):
    sql = scorers.sql("other", " 1 ")
    renamed = scorers.exact_match(name="same")

    rescored = run.rescore(scorers=[renamed, sql]).wait()

    assert run.rescore_plan(scorers=[renamed, sql]) == {
        "task": "copy 4 rows", "same": "copy 4 rows", "other": "copy 4 rows",
    }  # fmt: skip
    assert column(rescored, "same_value") == column(run, "exact_match_value")
    assert column(rescored, "same_metadata") == column(run, "exact_match_metadata")
    assert column(rescored, "other_value") == [1.0] * 4


def test_another_task_is_called_and_with_it_all_that_depends_on_it(
    run, dataset, task, by_output, by_column
):
    other = Counter(lambda question: question + "!", name="other")
    wanted = [EXACT, by_output.function, by_column.function, scorers.sql("k", "1")]
    evaluation = create(dataset, other.function, wanted)

    plan = run.rescore_plan(evaluation=evaluation)
    rescored = evaluation.rescore(run).wait()

    assert plan["by_column"] == "copy 4 rows"
    assert {plan[name] for name in ("task", "exact-match", "by_output", "k")} == {"call 4 rows"}
    assert task.calls == by_column.calls == []
    assert len(other.calls) == len(by_output.calls) == 4
    assert column(rescored, "output") == ["one!", "two!", "three!", "four!"]
    assert column(rescored, "by_column_value") == [3.0, 3.0, 5.0, 4.0]


def test_a_scorer_that_takes_any_column_depends_on_the_task(run, dataset):
    def anything(**columns):
        return len(columns)

    first = run.rescore(scorers=[anything]).wait()
    again = create(dataset, function(lambda question: question), [anything])

    assert column(first, "anything_value") == [3.0] * 4  # question, expected, output
    assert first.rescore_plan(evaluation=again)["anything"] == "call 4 rows"


def test_without_arguments_nothing_is_called_when_all_is_well(run, task, by_output, by_column):
    rescored = run.rescore(metadata={"why": "to see"}).wait()

    assert (task.calls, by_output.calls, by_column.calls) == ([], [], [])
    assert rescored.evaluation_id == run.evaluation_id
    assert rescored.metadata == {"why": "to see"}
    assert rescored.rows() == run.rows()
    assert rescored.id != run.id


def test_only_the_rows_on_which_a_scorer_failed_are_called_again(dataset, task):
    flaky = Counter(len, fail_on={"two"}, name="flaky")
    bad_sql = scorers.sql("n", "CAST(output AS DOUBLE)")
    run = create(dataset, task.function, [flaky.function, bad_sql]).run().wait()
    assert column(run, "flaky_value") == [3.0, None, 5.0, 4.0]
    flaky.calls.clear()
    flaky.fail_on.clear()

    rescored = run.rescore().wait()

    assert flaky.calls == ["two"]
    assert column(rescored, "flaky_value") == [3.0, 3.0, 5.0, 4.0]
    assert column(rescored, "flaky_error") == [None] * 4
    assert column(rescored, "n_error") == column(run, "n_error")
    assert all(column(run, "n_error"))
    assert len(task.calls) == 4


def test_a_task_that_failed_is_kept_unless_it_is_to_be_retried(dataset):
    task = Counter(str.upper, fail_on={"two"}, name="task")
    by_column = Counter(len, name="by_column")
    run = create(dataset, task.function, [EXACT, by_column.function]).run().wait()
    task.calls.clear()
    by_column.calls.clear()
    task.fail_on.clear()

    kept = run.rescore().wait()
    retried = run.rescore(retry_failed_task=True).wait()

    assert column(kept, "output_error") == column(run, "output_error")
    assert column(kept, "exact_match_value") == [1.0, None, 0.0, 1.0]
    assert task.calls == ["two"]
    assert by_column.calls == []
    assert column(retried, "output") == ["ONE", "TWO", "THREE", "FOUR"]
    assert column(retried, "exact_match_value") == [1.0, 1.0, 0.0, 1.0]
    assert column(retried, "output_error") == [None] * 4


def test_outputs_of_several_types_survive_a_retry(dataset):
    outputs = {"one": "text", "two": "more", "three": "text", "four": {"a": 1}}
    task = Counter(lambda question: outputs[question], fail_on={"four"}, name="task")
    run = create(dataset, task.function, [scorers.json_valid()]).run().wait()
    task.fail_on.clear()

    retried = run.rescore(retry_failed_task=True).wait()

    assert column(retried, "output") == list(outputs.values())
    assert column(retried.rescore().wait(), "output") == list(outputs.values())


def test_a_run_by_a_policy_always_calls_the_task(dataset, task):
    evaluation = create(dataset, task.function, [EXACT])
    run = evaluation.run(policy=lambda expected: expected).wait()

    rescored = run.rescore().wait()

    assert column(run, "output") == ["ONE", "TWO", "3", "FOUR"]
    assert column(rescored, "output") == ["ONE", "TWO", "THREE", "FOUR"]
    assert len(task.calls) == 4


def test_the_header_is_the_new_run_and_the_source_is_told_too(run):
    seen = []

    def which(output):
        context = get_call_context()
        names = ("x-chalk-evaluation-run-id", "x-chalk-source-run-id", "x-chalk-session-id")
        seen.append(tuple(context[name] for name in names))
        return 1

    rescored = run.rescore(scorers=[which]).wait()

    assert sorted(seen) == [(rescored.id, run.id, f"{rescored.id}:{row}") for row in range(4)]


def test_rows_are_read_from_the_result_not_from_the_dataset(run, dataset, store):
    datasets = open_place(store).store.datasets
    path = datasets.files.path(datasets.get_revision(dataset).digest)
    path.rename(path.with_suffix(".gone"))
    same = scorers.exact_match(case_insensitive=True)
    path.with_suffix(".gone").rename(path)  # an evaluation checks its columns when it is made
    queued = run.rescore(scorers=[same])
    path.unlink()

    assert column(queued.wait(), "exact_match_value") == [1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "arguments",
    [{"scorers": [EXACT], "evaluation": "x"}, {"name": "x"}, {"name": "x", "evaluation": "y"}],
)
def test_arguments_that_exclude_each_other_are_refused(run, arguments):
    with pytest.raises(ValueError, match="scorers"):
        run.rescore(**arguments)


def test_an_evaluation_of_another_revision_is_refused_and_nothing_is_made(run):
    other = DatasetClient().upload("numbers", [{"question": "x", "expected": "y"}])
    evaluation = create(other, shout, [EXACT])

    for rescore in (lambda: run.rescore(evaluation=evaluation.id), lambda: evaluation.rescore(run)):
        with pytest.raises(EvaluationError, match="revision"):
            rescore()
    assert list(evaluation.runs()) == []


def test_bad_scorers_make_neither_run_nor_evaluation(run):
    suite = EvaluationSuite.get_or_create("Default")
    before = len(list(suite.evaluations()))

    with pytest.raises(ValueError, match="answer"):
        run.rescore(scorers=[function(lambda answer: 1.0)])
    with pytest.raises(TypeError, match="metadata"):
        run.rescore(scorers=[EXACT], metadata={1: 2})

    assert len(list(suite.evaluations())) == before


@pytest.mark.parametrize(
    "status", [status for status in EvaluationRunStatus if status != "succeeded"]
)
def test_only_a_run_that_succeeded_can_be_rescored(evaluation, store, status):
    run = evaluation.run()
    with open_place(store).store.database.writing() as writer:
        writer.write("UPDATE runs SET status = ? WHERE id = ?", (status.value, run.id))

    with pytest.raises(EvaluationError, match=f"it is {status.value}, and only a run that"):
        run.rescore()
    assert [each.id for each in evaluation.runs()] == [run.id]


def test_a_new_evaluation_has_the_same_name_however_often_it_is_made(run):
    made = [run.rescore(scorers=[EXACT]).evaluation_id for _ in range(2)]

    assert len(set(made)) == 2
    assert {Evaluation.from_id(each).name for each in made} == {"n (rescored)"}


def test_both_ways_to_rescore_into_an_evaluation_do_the_same(run, dataset, task):
    added = Counter(lambda output: 0.5, name="added", inputs=("output",))
    target = create(dataset, task.function, [EXACT, added.function])

    made = [run.rescore(evaluation=target), run.rescore(evaluation=target.id), target.rescore(run)]
    made += [target.rescore(run.id)]
    finals = [each.wait() for each in made]

    assert [final.rows() for final in finals] == [finals[0].rows()] * 4
    assert {final.evaluation_id for final in finals} == {target.id}
    assert len(added.calls) == 4 * 4
    assert task.calls == []


@st.composite
def worlds(draw):
    """Which rows fail in the source, by function; what is rescored; whether tasks are retried."""
    rows = st.sets(st.sampled_from(ALL))
    failing = {name: draw(rows) for name in ("task", "by_output", "by_column", "by_both")}
    wanted = st.lists(
        st.sampled_from(["by_output", "by_column", "by_both", "added"]), min_size=1, unique=True
    )
    return failing, draw(wanted), draw(st.booleans())


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(worlds())
def test_a_rescore_never_repeats_a_good_call_and_never_copies_a_bad_one(dataset, world):
    failing, wanted, retry = world
    inputs = {
        "by_output": ("output",), "by_column": ("question",), "added": ("output",),
        "by_both": ("output", "question"),
    }  # fmt: skip
    task = Counter(str.upper, failing["task"], "task")
    counters = {
        name: Counter(
            lambda *values: float(len(values[0])),
            {row.upper() if own[0] == "output" else row for row in failing.get(name, ())},
            name,
            own,
        )
        for name, own in inputs.items()
    }
    before = [counters[name].function for name in inputs if name != "added"]
    run = create(dataset, task.function, before).run().wait()
    for counter in (task, *counters.values()):
        counter.calls.clear()
        counter.fail_on.clear()

    rescored = run.rescore(
        scorers=[counters[name].function for name in wanted], retry_failed_task=retry
    ).wait()

    retried = failing["task"] if retry else set()
    assert set(task.calls) == retried
    assert len(task.calls) == len(retried)
    for name, own in inputs.items():
        reads_output = own[0] == "output"
        due = set(ALL) if name == "added" else set(failing[name])
        if reads_output:  # nothing is scored where there still is no output
            due = (due - failing["task"]) | retried
        called = [call.lower() for call in counters[name].calls]
        assert sorted(called) == (sorted(due) if name in wanted else []), name
        if name in wanted:
            blank = failing["task"] - retried if reads_output else set()
            found = dict(zip(ALL, column(rescored, f"{name}_value"), strict=True))
            assert found == {row: None if row in blank else float(len(row)) for row in ALL}
            assert column(rescored, f"{name}_error") == [None] * 4


def test_a_rescored_run_can_be_rescored(run, task):
    second = run.rescore(scorers=[EXACT]).wait()
    third = second.rescore(scorers=[scorers.levenshtein(), EXACT]).wait()

    assert column(third, "exact_match_value") == column(run, "exact_match_value")
    assert column(third, "levenshtein_value")[0] == 1.0
    assert "by_output_value" not in third.rows()[0]
    assert task.calls == []


def test_another_process_rescores_without_any_code_of_the_task(tmp_path):
    first = """
        import json
        import chalkcompute

        @chalkcompute.function
        def double(n):
            return 2 * n

        if __name__ == "__main__":
            dataset = chalkcompute.DatasetClient().upload("n", [{"n": i} for i in range(5)])
            wanted = [chalkcompute.scorers.numeric_close(inputs=("output", "n"))]
            made = chalkcompute.Evaluation.create("n", dataset=dataset, task=double, scorers=wanted)
            print(json.dumps(made.run().wait().id))
    """
    run_id = printed_json(run_script(tmp_path, first))

    second = f"""
        import json
        import chalkcompute
        run = chalkcompute.EvaluationRun.from_id({run_id!r})
        new = chalkcompute.scorers.sql("twice", "output / n")
        print(json.dumps([row["twice_value"] for row in run.rescore(scorers=[new]).wait().rows()]))
    """
    assert printed_json(run_script(tmp_path, second)) == [None, 2.0, 2.0, 2.0, 2.0]


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=3), st.lists(st.integers(), max_size=2),
)  # fmt: skip
BY_ROW = st.fixed_dictionaries(dict.fromkeys(ALL, VALUES)) | VALUES.map(
    lambda value: dict.fromkeys(ALL, value)  # of one type, as they mostly are
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(outputs=BY_ROW, failing=st.lists(st.sets(st.sampled_from(ALL)), min_size=2, max_size=2))
@example(outputs=dict.fromkeys(ALL, 2), failing=[{"four"}, {"four"}])
@example(outputs=dict.fromkeys(ALL, True), failing=[set(ALL), {"one"}])
@example(outputs=dict(zip(ALL, [1, "a", None, [1]], strict=True)), failing=[{"four"}, set()])
def test_outputs_come_back_as_they_were_whatever_fails_and_is_retried(dataset, outputs, failing):
    task = Counter(outputs.__getitem__, failing[0], "task")
    run = create(dataset, task.function, [scorers.json_valid()]).run().wait()
    task.fail_on.clear()
    task.fail_on.update(failing[1])

    retried = run.rescore(retry_failed_task=True).wait()
    copied = retried.rescore().wait()

    left = failing[0] & failing[1]
    wanted = [None if row in left else outputs[row] for row in ALL]
    for found in (column(retried, "output"), column(copied, "output")):
        assert found == wanted
        assert list(map(type, found)) == list(map(type, wanted))
    errors = column(retried, "output_error")
    assert {row for row, error in zip(ALL, errors, strict=True) if error} == left
    assert sorted(task.calls) == sorted([*ALL, *failing[0]])

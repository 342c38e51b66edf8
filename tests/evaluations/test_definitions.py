"""Defining evaluations: what is pinned, what is refused, what is read back."""

from __future__ import annotations

import uuid

import pytest
from evaluations.conftest import REPOSITORY, ROWS, printed_json, run_script, shout

from pytest_chalk.evaluations import (
    DatasetClient,
    DatasetRevisionRef,
    Evaluation,
    EvaluationError,
    EvaluationNotFoundError,
    EvaluationRun,
    EvaluationScorer,
    EvaluationSuite,
    function,
    scorers,
)

NOWHERE = DatasetRevisionRef(dataset_name="x")
MISSPELT = scorers.exact_match(inputs=("output", "expcted"))
CLASHING = [scorers.json_valid(name=name) for name in ("a-b", "a_b")]
METADATA = {"owner": "team", "n": 2, "big": 2**60, "ü": [1, {"deep": None}], "share": 0.5}


def create(revision, **changes):
    given = {"dataset": revision, "task": shout, "scorers": [scorers.exact_match()], **changes}
    return Evaluation.create(given.pop("name", "numbers"), **given)


def test_a_decorated_function_is_called_as_before():
    assert shout("yes") == "YES"
    assert shout(question="yes") == "YES"
    assert shout.__name__ == "shout"


def test_a_definition_pins_dataset_task_and_scorers(dataset):
    made = create(
        dataset, scorers=[scorers.json_valid(name="v"), shout, scorers.sql("len", "length(output)")]
    )

    assert (made.dataset_id, made.dataset_revision_id) == (dataset.dataset_id, dataset.revision_id)
    assert made.task_function_version_id == shout.version_id
    built_in, func, sql = made.scorers
    assert (built_in.id, func.id, sql.id) == ("v", "shout", "len")
    assert built_in.builtin_id.startswith("json_valid@1-")
    assert func == EvaluationScorer("shout", function_version_id=shout.version_id)
    assert sql == EvaluationScorer("len", sql_name="len", sql_expression="length(output)")
    for scorer in made.scorers:
        groups = (scorer.function_version_id, scorer.builtin_id, scorer.sql_expression)
        assert sum(group is not None for group in groups) == 1


def test_a_definition_names_the_old_revision_after_a_new_upload(dataset):
    made = create(DatasetRevisionRef(dataset_name="numbers"))

    DatasetClient().upload("numbers", [{"question": "five", "expected": "5"}])

    assert made.refresh().dataset_revision_id == dataset.revision_id


def test_metadata_is_the_same_on_every_read(dataset):
    made = create(dataset, metadata=METADATA)
    suite = next(s for s in EvaluationSuite.list_all() if s.name == "Default")

    reads = [made, Evaluation.from_id(made.id), made.refresh(), next(suite.evaluations())]

    assert [read.metadata for read in reads] == [METADATA] * 4
    assert type(reads[1].metadata["n"]) is int
    assert reads[0] == reads[1] == reads[2]


@pytest.mark.parametrize(
    "metadata",
    [[], "x", {1: 2}, {"a": {1: 2}}, {"a": {1, 2}}, {"a": float("nan")}, {"a": object()}],
)
def test_metadata_that_is_no_json_mapping_is_a_type_error(dataset, metadata):
    with pytest.raises(TypeError, match="metadata"):
        create(dataset, metadata=metadata)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"name": ""}, ValueError, "name is a text"),
        ({"name": "  "}, ValueError, "name is a text"),
        ({"scorers": []}, ValueError, "at least one scorer"),
        ({"scorers": shout}, TypeError, "list of scorers"),
        ({"scorers": [scorers.json_valid(), "x"]}, TypeError, "scorer 2"),
        ({"task": "x"}, TypeError, "task is a function"),
        ({"dataset": 7}, TypeError, "DatasetClient"),
        ({"suite_id": " "}, ValueError, "suite_id"),
        ({"suite_id": str(uuid.uuid4())}, EvaluationNotFoundError, "suite"),
        ({"dataset": NOWHERE}, EvaluationNotFoundError, "revision 'x'"),
        ({"scorers": [MISSPELT]}, ValueError, "mean 'expected'"),
        ({"scorers": CLASHING}, ValueError, "a_b_value"),
        ({"task": function(lambda answer: answer)}, ValueError, "takes 'answer'"),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_is_refused_with_its_reason(dataset, changes, error, says):
    with pytest.raises(error, match=says):
        create(dataset, **changes)
    assert list(EvaluationSuite.get_or_create("Default").evaluations()) == []


@pytest.mark.parametrize("column", ["output", "OUTPUT", "output_error", "v_value", "v_metadata"])
def test_a_column_that_the_results_need_is_refused(column):
    dataset = DatasetClient().upload("clash", [{"question": "x", column: "y"}])

    with pytest.raises(ValueError, match="clash"):
        create(dataset, scorers=[scorers.json_valid(name="v")])


def test_a_function_that_yields_or_takes_positions_is_refused(dataset):
    def yields(question):
        yield question

    def positional(question, /):
        return question

    for bad in (yields, positional):
        with pytest.raises(TypeError, match=bad.__name__):
            create(dataset, task=bad)


def test_a_definition_cannot_be_changed(evaluation):
    with pytest.raises(AttributeError):
        evaluation.scorers = ()


def test_names_of_evaluations_may_repeat(dataset):
    assert create(dataset).id != create(dataset).id


def test_another_process_finds_a_definition_by_its_id(evaluation, store):
    ran = run_script(
        store.parent,
        f"""
        import json
        import chalkcompute
        found = chalkcompute.Evaluation.from_id({evaluation.id!r})
        print(json.dumps([found.name, found.task_function_version_id]))
        """,
    )

    assert printed_json(ran) == ["numbers", evaluation.task_function_version_id]


@pytest.mark.parametrize("find", [Evaluation.from_id, EvaluationRun.from_id])
def test_an_unknown_id_is_not_found(find):
    with pytest.raises(EvaluationNotFoundError, match="nowhere"):
        find("nowhere")


def test_suite_names_are_unique_and_a_suite_can_be_had_either_way():
    made = EvaluationSuite.create(" Release ")

    with pytest.raises(EvaluationError, match="get_or_create"):
        EvaluationSuite.create("Release")
    assert made.name == "Release"
    assert EvaluationSuite.get_or_create("Release") == made
    assert EvaluationSuite.list_all() == [made]
    with pytest.raises(ValueError, match="name"):
        EvaluationSuite.create("")


def test_a_suite_lists_its_evaluations_newest_first(dataset):
    suite = EvaluationSuite.create("Release")
    names = ["a", "b", "c"]
    for name in names:
        create(dataset, name=name, suite_id=suite.id)
    create(dataset, name="elsewhere")

    assert [e.name for e in suite.evaluations()] == ["c", "b", "a"]
    assert [e.name for e in suite.evaluations(limit=2)] == ["c", "b"]
    assert list(suite.evaluations(limit=0)) == []
    with pytest.raises(ValueError, match="limit"):
        list(suite.evaluations(limit=-1))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"dataset_id": "a"},
        {"revision_id": "a"},
        {"dataset_name": " "},
        {"dataset_id": "a", "dataset_name": "b"},
    ],
)
def test_a_reference_that_names_no_revision_is_refused(fields):
    with pytest.raises(ValueError, match="dataset_id and revision_id"):
        DatasetRevisionRef(**fields)


def test_the_rows_of_the_dataset_are_those_uploaded(dataset):
    assert DatasetClient().read(dataset) == ROWS
    assert REPOSITORY.is_dir()

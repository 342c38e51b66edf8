"""SQL scorers: one expression, a number, and nothing that could be reached."""

from __future__ import annotations

import pytest

from pytest_chalk.errors import EvaluationError
from pytest_chalk.evaluations import DatasetClient, Evaluation, function, scorers, use_store
from pytest_chalk.store.duck import new_duck
from pytest_chalk.store.sql_expression import _lock

ROWS = [
    {"q": "1", "n": 2, "flag": True, "at home": 1.5},
    {"q": "x", "n": 0, "flag": False, "at home": None},
    {"q": '{"a": 3}', "n": 4, "flag": True, "at home": 2.5},
]


@pytest.fixture(autouse=True)
def dataset(tmp_path):
    use_store(tmp_path / ".chalk")
    yield DatasetClient().upload("d", ROWS)
    use_store(None)


@function
def echo(q):
    return q


@function
def number(n):
    return n


def create(dataset, expression, task=echo):
    wanted = [scorers.sql("s", expression)]
    return Evaluation.create("e", dataset=dataset, task=task, scorers=wanted)


def results(dataset, expression, task=echo):
    rows = create(dataset, expression, task).run().wait().rows()
    return [row["s_value"] for row in rows], [row["s_error"] for row in rows]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("n", [2, 0, 4]),
        ("length(output)", [1, 1, 8]),
        ('"at home" * 2', [3, None, 5]),
        ("CASE WHEN flag THEN 1 ELSE 0 END", [1, 0, 1]),
        ("1", [1, 1, 1]),
        ("n / 4", [0.5, 0, 1]),
        ("output = q OR NULL", None),
        ("list_sum([n, 1])", [3, 1, 5]),
        ("TRY_CAST(output AS INTEGER)", [1, None, None]),
    ],
)
def test_an_expression_over_the_columns_scores_each_row(dataset, expression, expected):
    if expected is None:
        with pytest.raises(EvaluationError, match="BOOLEAN"):
            create(dataset, expression)
        return
    assert results(dataset, expression) == (expected, [None] * 3)


def test_the_output_has_the_type_that_the_task_returns(dataset):
    assert results(dataset, "output * 2", number) == ([4, 0, 8], [None] * 3)


def test_a_row_that_fails_has_its_error_and_the_others_their_scores(dataset):
    values, errors = results(dataset, "CAST(output AS DOUBLE)")

    assert values == [1, None, None]
    assert errors[0] is None
    assert "Could not convert string 'x' to DOUBLE" in errors[1]
    assert '{"a": 3}' in errors[2]


def test_output_that_is_no_json_fails_only_its_row(dataset):
    values, errors = results(dataset, "CAST(json_extract_string(output, '$.a') AS DOUBLE)")

    assert values == [None, None, 3]
    assert errors[0] is None  # a number has no key: NULL, not scored
    assert "Malformed JSON" in errors[1]


def test_a_score_that_is_not_finite_is_an_error_of_its_row(dataset):
    values, errors = results(dataset, "1 / n")

    assert values == [0.5, None, 0.25]
    assert errors[1] is None or "not a finite number" in errors[1]


def test_an_expression_that_does_not_fit_the_output_fails_its_rows_not_the_run(dataset):
    values, errors = results(dataset, "length(output)", number)

    assert values == [None] * 3
    assert all("length" in error for error in errors)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("1) AS s, (2", "no SQL"),
        ("n, q", "more than one"),
        ("n FROM data", "more than one"),
        ("n ORDER BY 1", "more than one"),
        ("n LIMIT 1", "more than one"),
        ("n UNION SELECT 1", "more than one"),
        ("*", "a star"),
        ("COLUMNS(*)", "a star"),
        ("(SELECT 1)", "a subquery"),
        ("row_number() OVER ()", "a window"),
        ("sum(n)", "an aggregate"),
        ("count(*)", "an aggregate"),
        ("unnest([1, 2])", "unnest"),
        ("nothing + 1", "nothing"),
        ("q", "gives VARCHAR"),
        ("flag", "Cast it"),
        ("n +", "no SQL"),
        ("read_text('/etc/passwd')", "read_text"),
        ("(SELECT count(*) FROM read_csv('/etc/passwd'))", "subquery"),
    ],
)
def test_what_is_no_score_of_a_row_is_refused_when_it_is_defined(dataset, expression, says):
    with pytest.raises(EvaluationError, match=says):
        create(dataset, expression)


def test_the_database_that_computes_cannot_reach_files_or_change_its_settings(dataset, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    connection = new_duck()
    _lock(connection)

    for statement in (
        f"SELECT * FROM read_csv('{secret}')",
        f"SELECT * FROM '{secret}'",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        f"ATTACH '{tmp_path}/x.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
    ):
        with pytest.raises(Exception, match=r"(?i)disabled|locked|permission|cannot"):
            connection.execute(statement).fetchall()

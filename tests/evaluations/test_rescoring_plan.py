"""The plan of a rescore, against a model that decides each cell by itself."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_chalk.evaluations.rescoring import (
    Ran,
    RunPlan,
    called_rows,
    chunks_of,
    describe,
    plan_rescore,
    plan_run,
)
from pytest_chalk.schemas.evaluation import CodeRef, DatasetRevisionRef, Definition, ScorerSpec

N_ROWS = 5
NAMES = ("a", "other name", "ü")  # which the rules do not look at
KINDS = ("function", "builtin", "sql")
INPUTS = ((), ("output",), ("trace",), ("question",), ("output", "expected"))


@st.composite
def specs(draw):
    kind = draw(st.sampled_from(KINDS))
    identity = draw(st.sampled_from("abcd"))
    # One version of a function always takes the same, as in the world.
    inputs = INPUTS["abcd".index(identity)] if kind != "sql" else ()
    takes_all = kind == "function" and identity == "d"
    return ScorerSpec(draw(st.sampled_from(NAMES)), kind, identity, inputs, takes_all)


def definition(task, scorers):
    return Definition(
        id="e",
        name="n",
        dataset=DatasetRevisionRef("d", "r"),
        task=CodeRef(task, "t", "m", "t", ""),
        scorers=tuple(scorers),
        metadata={},
        suite_id="s",
        created_by="x",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@st.composite
def cases(draw):
    source = definition(
        draw(st.sampled_from("xy")), draw(st.lists(specs(), min_size=1, max_size=4))
    )
    target = definition(
        draw(st.sampled_from("xy")), draw(st.lists(specs(), min_size=1, max_size=4))
    )
    failed = draw(
        st.dictionaries(
            st.integers(0, len(source.scorers)),
            st.lists(st.integers(0, N_ROWS - 1), unique=True, min_size=1).map(sorted),
        )
    )
    return Ran(source, failed, draw(st.booleans())), target, draw(st.booleans())


def must_call(ran, target, row, position, *, retry):
    """Decide one cell by the rules of the page alone; False copies it."""
    task_changed = ran.definition.task.version_id != target.task.version_id or ran.by_policy
    task_called = task_changed or (retry and row in ran.failed.get(0, ()))
    if position == 0:
        return task_called
    wanted = target.scorers[position - 1]
    same = [
        number
        for number, scorer in enumerate(ran.definition.scorers, 1)
        if (scorer.kind, scorer.identity) == (wanted.kind, wanted.identity)
    ]
    if not same:
        return True
    if task_called and (
        wanted.kind == "sql" or wanted.takes_all or {"output", "trace"} & set(wanted.inputs)
    ):
        return True
    return wanted.kind != "sql" and row in ran.failed.get(same[0], ())


def calls(plan, row, position):
    action = plan.actions[position]
    return action.calls_every_row or row in action.recall


@settings(deadline=None)
@given(cases())
def test_a_rescore_calls_exactly_the_cells_that_the_rules_call(case):
    ran, target, retry = case

    plan = plan_rescore(ran, target, retry_failed_task=retry)

    for position in range(len(target.scorers) + 1):
        is_sql = position > 0 and target.scorers[position - 1].kind == "sql"
        for row in range(N_ROWS):
            expected = must_call(ran, target, row, position, retry=retry)
            if is_sql:  # computed for all rows at once, or for none
                expected = any(
                    must_call(ran, target, each, position, retry=retry) for each in range(N_ROWS)
                )
            assert calls(plan, row, position) == expected


@settings(deadline=None)
@given(cases())
def test_no_cell_is_copied_that_failed_and_no_good_one_is_called_without_a_reason(case):
    ran, target, _ = case

    plan = plan_rescore(ran, target)

    for position, action in enumerate(plan.actions):
        if action.copy_from is None:
            continue
        if position == 0:
            assert action.recall == ()
        elif target.scorers[position - 1].kind != "sql":
            assert set(action.recall) == set(ran.failed.get(action.copy_from, ()))
        else:
            assert action.recall == ()


@settings(deadline=None)
@given(cases())
def test_a_rescore_into_the_same_definition_calls_only_what_had_failed(case):
    ran, _, _ = case
    ran = Ran(ran.definition, ran.failed)

    plan = plan_rescore(ran, ran.definition)

    failed = {row for position, rows in ran.failed.items() if position for row in rows}
    assert set(called_rows(plan, ran.definition, N_ROWS)) <= failed


@settings(deadline=None)
@given(cases())
def test_a_plan_survives_the_store(case):
    ran, target, retry = case

    plan = plan_rescore(ran, target, retry_failed_task=retry)

    assert RunPlan.from_json(plan.as_json()) == plan
    assert next(iter(describe(plan, target, N_ROWS))) == "task"


@settings(deadline=None)
@given(st.sets(st.integers(0, 50)).map(sorted), st.integers(1, 7))
def test_chunks_are_neighbours_and_cover_every_row_once(rows, size):
    chunks = chunks_of(rows, size)

    assert [row for start, stop in chunks for row in range(start, stop)] == rows
    assert all(0 < stop - start <= size for start, stop in chunks)


def test_an_ordinary_run_calls_everything_but_sql_which_is_computed():
    sql_only = definition("x", [ScorerSpec("s", "sql", "1")])

    plan = plan_run(sql_only)

    assert called_rows(plan, sql_only, 3) == range(3)
    assert describe(plan, sql_only, 3) == {"task": "call 3 rows", "s": "call 3 rows"}

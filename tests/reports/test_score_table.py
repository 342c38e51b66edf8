"""The table at the end of a session."""

from __future__ import annotations

import pytest

from pytest_chalk.reports.score_table import render_score_table
from pytest_chalk.schemas.record import RunRecord, StepRecord, Usage


def step(index=0, outcome="passed", **fields):
    return StepRecord(index=index, of=2, name="work", outcome=outcome, **fields)


def run(task="one", model="oracle", outcome="passed", **fields):
    return RunRecord(run_id="r", task_id=task, model=model, outcome=outcome, **fields)


def cells(line):
    return [cell for cell in line.split("  ") if cell.strip()]


def rows(*runs):
    return [[cell.strip() for cell in cells(line)] for line in render_score_table(runs)]


def test_a_run_is_a_row_with_what_it_took():
    usage = Usage(turns=3, input_tokens=1_200, output_tokens=34)

    header, row = rows(run(score=1.0, steps=(step(), step(1)), usage=usage, duration_s=12.34))

    assert header == ["task", "model", "score", "steps", "turns", "tokens", "time"]
    assert row == ["one", "oracle", "1.00", "2/2", "3", "1,234", "12.3s"]


def test_steps_not_reached_count_as_planned():
    steps = (step(outcome="failed"),)

    _, row = rows(run(outcome="failed", score=0.0, steps=steps, not_reached=("second",)))

    assert row[2:4] == ["0.00 failed", "0/2"]


@pytest.mark.parametrize(
    ("outcome", "score", "shown"),
    [
        ("passed", 0.5, "0.50"),
        ("failed", 0.25, "0.25 failed"),
        ("misbehaved", 0.0, "0.00 MISBEHAVED"),
        ("error", None, "error"),
        ("error", 1.0, "error"),
        ("not_run", None, "not run"),
        ("skipped", None, "skipped"),
    ],
)
def test_a_row_says_what_happened_and_shows_a_score_only_where_it_counts(outcome, score, shown):
    _, row = rows(run(outcome=outcome, score=score))

    assert row[2] == shown


def test_a_partial_pass_is_marked():
    _, row = rows(run(score=0.5, steps=(step(score=0.5, partial=True),)))

    assert row[2] == "0.50 partial"


def test_several_runs_of_a_task_by_a_model_are_one_row_with_their_mean():
    _, row = rows(
        run(score=1.0),
        run(score=0.5, steps=(step(partial=True),)),
        run(outcome="failed", score=0.0),
        run(outcome="failed", score=0.0),
        run(outcome="error"),
    )

    assert row[2] == "0.38 1 partial, 2 failed, 1 error"


def test_models_of_a_task_have_rows_of_their_own():
    table = rows(run(model="a"), run(model="b"), run(task="two", model="a"))

    assert [row[:2] for row in table[1:]] == [["one", "a"], ["one", "b"], ["two", "a"]]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0.0s"), (59.94, "59.9s"), (61, "1m01s"), (3_599, "59m59s"), (7_260, "2h01m")],
)
def test_time_is_shown_as_people_read_it(seconds, shown):
    _, row = rows(run(duration_s=seconds))

    assert row[-1] == shown


def test_columns_are_aligned():
    lines = render_score_table([run(task="a", score=1.0), run(task="a-long-task-id", score=0.5)])

    assert (
        len(
            {
                line.index(word)
                for line, word in zip(lines, ("model", "oracle", "oracle"), strict=True)
            }
        )
        == 1
    )
    assert len({len(line) for line in lines}) == 1


def test_a_name_cannot_break_the_table_or_the_terminal():
    lines = render_score_table([run(task="a\nb\x1b[31m", model="x" * 500)])

    assert len(lines) == 2
    assert r"a b\x1b[31m" in lines[1]
    assert max(map(len, lines)) < 200


def test_no_runs_leave_the_header():
    assert len(render_score_table([])) == 1

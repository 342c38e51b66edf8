"""Comparing two runs, and what the terminal shows of one on its way."""

from __future__ import annotations

import io
import sys
import time

import pytest
from evaluations.conftest import ROWS, shout
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_chalk.evaluations import (
    DatasetClient,
    Evaluation,
    EvaluationError,
    EvaluationSuite,
    compare,
    progress,
    scorers,
)
from pytest_chalk.evaluations.comparison import _row_key, compare_scores
from pytest_chalk.reports.evaluation_table import render_comparison

SCORES = st.lists(st.tuples(*[st.none() | st.floats(0, 1)] * 2), max_size=30)


@settings(deadline=None)
@given(SCORES)
def test_rows_are_better_or_worse_or_the_same_and_pairs_are_those_both_have_scored(pairs):
    found = compare_scores([old for old, _ in pairs], [new for _, new in pairs])

    both = {n: (o, w) for n, (o, w) in enumerate(pairs) if o is not None and w is not None}
    assert found.pairs == len(both)
    assert set(found.better) == {row for row, (old, new) in both.items() if new > old}
    assert set(found.worse) == {row for row, (old, new) in both.items() if new < old}
    drops = [both[row][0] - both[row][1] for row in found.worse]
    assert drops == sorted(drops, reverse=True)
    if both:
        assert found.difference == pytest.approx(found.after - found.before, abs=1e-9)
    else:
        assert (found.before, found.difference, found.interval, found.drop) == (None,) * 4


def test_a_clear_drop_is_told_from_chance():
    before = [0.9, 0.8, 0.95, 0.85, 0.9, 0.8]

    assert compare_scores(before, [score - 0.3 for score in before[:5]] + [0.45]).drop < 0.01
    assert compare_scores(before, [*before[1:], before[0]]).drop > 0.2


def test_runs_are_compared_by_the_scorers_that_both_have(dataset):
    wanted = [scorers.exact_match(), scorers.json_valid()]
    run = Evaluation.create("n", dataset=dataset, task=shout, scorers=wanted).run().wait()
    loose = scorers.contains(name="exact-match", case_insensitive=True)
    other = run.rescore(scorers=[loose, scorers.levenshtein()]).wait()

    found = compare(run, other)

    assert list(found.scorers) == ["exact-match"]
    assert (found.only_before, found.only_after) == (("json-valid",), ("levenshtein",))
    assert found.scorers["exact-match"].difference == 0


def run_on(rows, task=shout):
    dataset = DatasetClient().upload("numbers", rows)
    wanted = [scorers.exact_match()]
    return Evaluation.create("n", dataset=dataset, task=task, scorers=wanted).run().wait()


def test_runs_on_different_revisions_are_compared_over_the_rows_that_are_the_same():
    before = run_on(ROWS)
    more = [{"question": "new", "expected": "x", "note": "added"}, *ROWS[::-1], ROWS[0]]
    after = run_on(more, lambda question: "TWO" if question == "two" else question)

    found = compare(before, after)

    scorer = found.scorers["exact-match"]
    assert (scorer.pairs, scorer.before, scorer.after) == (4, 0.75, 0.25)
    assert sorted(scorer.worse) == [1, 4]  # four and one, as they stand in the second run
    assert found.unpaired == (0, 2)
    lines = render_comparison(found.as_json())
    assert "rows only after: 2" in lines
    assert not any("only before" in line for line in lines)


def test_rows_are_the_same_where_a_column_of_whole_numbers_has_become_one_of_fractions():
    rows = [{"n": 1, "more": {"at": [2]}}, {"n": 3, "more": {"at": [4]}}]
    grown = [{"n": 1.0, "more": {"at": [2.0]}}, rows[1], {"n": 0.5, "more": {"at": [0]}}]
    wanted = [scorers.json_valid()]
    runs = [
        Evaluation.create(
            "n", dataset=DatasetClient().upload("n", each), task=str_of, scorers=wanted
        )
        .run()
        .wait()
        for each in (rows, grown)
    ]

    found = compare(*runs)

    assert (found.scorers["json-valid"].pairs, found.unpaired) == (2, (0, 1))


def str_of(n):
    return str(n)


def test_true_is_not_the_number_one():
    assert _row_key([1, "1", {"a": 1}]) == _row_key([1.0, "1", {"a": 1.0}])
    assert len({_row_key([value]) for value in (1, True, "1", [1], None, 1.5)}) == 6
    assert _row_key([2**53 + 1]) != _row_key([float(2**53)])


def test_runs_that_have_no_row_in_common_are_not_compared():
    other = run_on([{"question": row["question"] + "?", "expected": "x"} for row in ROWS])

    with pytest.raises(EvaluationError, match=r"no row of their 4 and 4 is the same"):
        compare(run_on(ROWS), other)


def test_a_suite_lists_the_runs_of_its_evaluations_newest_first(dataset):
    suite = EvaluationSuite.create("Release")
    made = [
        Evaluation.create(
            name, dataset=dataset, task=shout, scorers=[scorers.json_valid()], suite_id=suite.id
        ).run()
        for name in ("a", "b")
    ]
    Evaluation.create("c", dataset=dataset, task=shout, scorers=[scorers.json_valid()]).run()

    assert [run.id for run in suite.runs()] == [run.id for run in made[::-1]]
    assert [run.id for run in suite.runs(limit=1)] == [made[1].id]


class FakeTerminal(io.StringIO):
    def isatty(self):
        return True


def slow(question):
    time.sleep(0.05)
    return question


@pytest.mark.parametrize("terminal", [FakeTerminal, io.StringIO])
def test_a_long_run_shows_its_progress_on_a_terminal_and_nowhere_else(
    dataset, monkeypatch, terminal
):
    shown = terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    monkeypatch.setattr(progress, "REDRAW_S", 0.05)

    wanted = [scorers.json_valid()]
    run = Evaluation.create("n", dataset=dataset, task=slow, scorers=wanted).run(concurrency=1)
    run.wait()

    if terminal is FakeTerminal:
        assert f"run {run.id[:8]}: " in shown.getvalue()
        assert "/4 rows, running, " in shown.getvalue()
        assert shown.getvalue().endswith("\n")
    else:
        assert shown.getvalue() == ""

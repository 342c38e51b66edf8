"""Comparing two measurements: chance is scipy's, and a baseline is text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_chalk.errors import RunOptionError
from pytest_chalk.reports.baseline_text import (
    HEAD,
    find_drops,
    parse_baseline,
    render_baseline,
    render_comparison,
)
from pytest_chalk.reports.comparison import Entry, compare, drop_of_scores, entries_of
from pytest_chalk.schemas.record import RunRecord

score_lists = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=6)


def entry(*scores):
    return Entry(tuple(sorted(scores)), sum(score > 0 for score in scores))


def run(score, epoch=1, outcome="passed", **fields):
    known = {"run_id": "r", "task_id": "t", "model": "m", "epoch": epoch}
    return RunRecord(
        **known | {"nodeid": f"t.py::T[m-e{epoch}]", "outcome": outcome, "score": score} | fields
    )


@given(score_lists, score_lists)
@settings(max_examples=60, deadline=None)
def test_the_chance_of_a_drop_is_that_of_scipys_permutation_test(before, after):
    found = drop_of_scores(entry(*before), entry(*after))

    if len(before) < 2 or len(after) < 2:  # scipy wants two
        assert 0 < found <= 1
        return
    expected = stats.permutation_test(
        (after, before),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        vectorized=True,
        n_resamples=100_000,
        alternative="less",
    ).pvalue
    assert found == pytest.approx(expected, abs=1e-9)


def test_of_scores_0_and_1_it_is_fishers():
    found = drop_of_scores(entry(1, 1, 1, 1, 0), entry(0, 0, 0, 1, 0))

    expected = stats.fisher_exact([[1, 4], [4, 1]], alternative="less").pvalue
    assert found == pytest.approx(expected)


def test_of_many_runs_it_is_welchs_test_and_fishers_where_that_is_undefined():
    before, after = [i / 30 for i in range(30)], [i / 40 for i in range(30)]

    assert drop_of_scores(entry(*before), entry(*after)) == pytest.approx(
        stats.ttest_ind(after, before, equal_var=False, alternative="less").pvalue
    )
    assert drop_of_scores(entry(*[1.0] * 20), entry(*[0.0] * 20)) < 1e-9


def test_one_run_against_one_is_no_significant_drop_of_a_model():
    comparison = compare({"a": entry(1.0)}, {"a": entry(0.0)})

    assert not comparison.changes[0].has_dropped
    assert find_drops(comparison) == []


def test_any_drop_of_a_student_that_does_the_same_every_time_counts():
    comparison = compare({"a": entry(1.0)}, {"a": entry(0.9)}, deterministic={"a"})

    (problem,) = find_drops(comparison)
    assert problem.startswith("a fell below the baseline: mean 1.000 to 0.900, 1/1 to 1/1 passed")


def test_a_clear_drop_of_one_task_is_found_and_a_rise_is_none():
    before = {"a": entry(*[1.0] * 6), "b": entry(*[0.0] * 6)}
    after = {"a": entry(*[0.0] * 6), "b": entry(*[1.0] * 6)}

    comparison = compare(before, after)

    assert [c.group for c in comparison.changes if c.has_dropped] == ["a"]


def test_over_many_tasks_luck_in_one_of_them_is_no_drop():
    same = {f"t{i}": entry(1.0, 1.0, 1.0, 0.0) for i in range(30)}
    unlucky = {**same, "t0": entry(1.0, 0.0, 0.0, 0.0)}

    comparison = compare(same, unlucky)

    assert find_drops(comparison) == []


def test_a_small_drop_of_every_task_is_a_drop_of_all():
    before = {f"t{i}": entry(0.8 + i / 100) for i in range(12)}
    after = {f"t{i}": entry(0.75 + i / 90) for i in range(12)}

    comparison = compare(before, after)

    assert not any(change.has_dropped for change in comparison.changes)
    assert comparison.has_dropped
    (problem,) = find_drops(comparison)
    assert problem.startswith("all 12 tasks together fell below the baseline, mean 0.855 to 0.811")


def test_entries_have_the_scores_that_count():
    runs = [run(1.0), run(0.5, 2, "misbehaved"), run(0.25, 3, "failed"), run(None, 4, "error")]

    assert entries_of(runs) == {"t.py::T[m]": Entry((0.0, 0.25, 1.0), 1)}
    assert entries_of(runs, complete=True) == {}
    assert entries_of(runs[3:]) == {}


def test_a_baseline_is_sorted_lines_that_a_person_can_review():
    text = render_baseline({"b::T[m]": entry(1.0), "a::T[x | y]": entry(1.0, 0.0, 1 / 3)})

    assert (
        text == HEAD + "a::T[x | y] | 2/3 | 0.444 | 0 0.3333333333 1\nb::T[m] | 1/1 | 1.000 | 1\n"
    )


@given(st.dictionaries(st.text("ab:[]| ", min_size=1).map("t{}x".format), score_lists, max_size=5))
@settings(max_examples=60, deadline=None)
def test_a_baseline_survives_being_written(entries):
    made = {group: entry(*scores) for group, scores in entries.items()}

    assert parse_baseline(render_baseline(made), "f") == made


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "f, line 2: found 'nonsense'"),
        ("a | 1/1 | 1", "line 2"),
        ("a | 1/2 | 1 | 1", "line 2"),
        ("a | 2/1 | 1 | 1", "line 2: 2 of 1 runs passed"),
        ("a | 0/0 | 1 | ", "line 2"),
        ("a | 1/1 | 1 | nan", "line 2"),
        ("a | 1/1 | 1 | one", "line 2"),
        ("a | x/1 | 1 | 1", "line 2"),
        ("b | 1/1 | 1 | 1", "line 2: 'b' is there twice"),
    ],
)
def test_a_line_that_is_no_entry_is_named(line, said):
    text = "b | 1/1 | 1 | 1\n" + line + "\n"

    with pytest.raises(RunOptionError, match=said.replace("(", r"\(")):
        parse_baseline(text, "f")


def test_what_changed_is_listed_the_worst_first():
    before = {"a": entry(1.0), "b": entry(0.2), "c": entry(1.0), "old": entry(1.0)}
    after = {"a": entry(0.5), "b": entry(0.4), "c": entry(1.0), "new": entry(1.0)}

    lines = render_comparison(compare(before, after))

    assert lines[0].startswith("lower a: mean 1.000 to 0.500, 1/1 to 1/1 passed, chance")
    assert lines[1] == "higher b: mean 0.200 to 0.400, 1/1 to 1/1 passed"
    assert lines[2].startswith("3 compared, 1 unchanged, mean 0.733 to 0.633, chance of such")
    assert lines[3:] == ["new new", "stale old"]

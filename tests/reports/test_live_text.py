"""What is said of runs that are under way."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.reports.live_text import fitted, render_run, render_running
from pytest_chalk.schemas.progress import RunProgress

FULL = RunProgress("tasks/a/__init__.py::Build[x/b]", 75.0, 2, 3, 12, 48_120, 0.214)
FRESH = RunProgress("tasks/b/__init__.py::Fix[a]", 0.4)


def test_a_line_about_one_run_names_it_in_full():
    assert render_run(FULL) == (
        "chalk: tasks/a/__init__.py::Build[x/b] 1m15s, step 2/3, turn 12, 48,120 tokens, $0.2140"
    )


def test_what_is_not_known_is_not_said():
    assert render_run(FRESH) == "chalk: tasks/b/__init__.py::Fix[a] 0.4s"


def test_one_line_about_all_counts_them_and_begins_with_the_longest():
    assert render_running([FRESH, FULL], 200) == (
        "2 running | Build[x/b] 1m15s, step 2/3, turn 12, 48,120 tokens, $0.2140 | Fix[a] 0.4s"
    )


def test_where_nothing_runs_there_is_no_line():
    assert render_running([], 80) == ""


def test_a_name_with_colons_in_its_parameters_stays_whole():
    run = RunProgress("tasks/a/__init__.py::Build[a::b]", 1.0)

    assert render_running([run], 80) == "1 running | Build[a::b] 1.0s"


def test_names_cannot_send_control_characters():
    run = RunProgress("a::B[\x1b[2J\n]", 1.0)

    assert render_running([run], 80) == r"1 running | B[\x1b[2J ] 1.0s"


def test_a_line_that_is_too_long_is_cut_with_a_mark():
    assert render_running([FULL], 20) == "1 running | Build[x…"


@given(st.text(), st.integers(0, 60))
def test_a_cut_text_fits(text: str, columns: int):
    cut = fitted(text, columns)

    width = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in cut)
    assert width <= columns
    assert cut == text or columns == 0 or cut.endswith("…")

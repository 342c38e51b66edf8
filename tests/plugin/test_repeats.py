"""Tasks run several times: marks, bars, `auto`, and what the terminal says of it."""

from __future__ import annotations

import pytest
from plugin.conftest import Project, verdicts

BY_TURNS = """
import pytest

def in_turn(name, *scores):
    "A step that scores these in turn, whichever process runs it."
    def judged():
        file = Path(__file__).parents[2] / f"{name}.txt"
        with file.open("ab", buffering=0) as opened:
            opened.write(b"x")
            turn = opened.tell() - 1  # not the size of the file: another worker may have written
        return Scoring(scores[turn % len(scores)], {}, True)
    return step("work", Does(judged))

"""


def count(project: Project, name: str) -> int:
    file = project.path / f"{name}.txt"
    return file.stat().st_size if file.exists() else 0


def marked(project: Project, mark: str, *scores: float) -> None:
    shown = ", ".join(map(str, scores))
    project.task(
        "one", f'{BY_TURNS}\nOne = pytest.mark.chalk({mark})(task("one", in_turn("one", {shown})))'
    )


def test_a_mark_says_how_often_a_task_runs(project: Project):
    marked(project, "epochs=3", 1.0)

    result = project.run("--strict-markers")

    assert result.ret == 0
    assert list(verdicts(project.junit()))[::2] == [
        f"tasks.one::One[oracle-e{epoch}]" for epoch in (1, 2, 3)
    ]


@pytest.mark.parametrize(("ini", "line", "times"), [("2", "", 3), ("", "4", 4), ("2", "1", 1)])
def test_the_command_line_beats_a_mark_and_a_mark_the_ini_file(
    project: Project, ini: str, line: str, times: int
):
    marked(project, "epochs=3", 1.0)
    project.ini(*([f"chalk_epochs = {ini}"] if ini else []))

    project.run(*([f"--chalk-epochs={line}"] if line else []))

    assert count(project, "one") == times


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("epoch=3", "of One: has epoch. Use epochs, min_mean, min_pass_rate, confidence."),
        ("3", "of One: has 3. Use epochs"),
        ("epochs=0", "has epochs=0. Give a whole number of at least 1, or auto:N"),
        ("epochs=True", "has epochs=True. Give a whole number"),
        ("epochs='auto:'", "has epochs='auto:'. Give"),
        ("min_mean='x'", "has min_mean='x'. Give a finite number."),
        ("min_pass_rate=60", "has min_pass_rate=60. Give a number from 0 to 1."),
        ("confidence=1", "has confidence=1. Give one as 0.95."),
    ],
)
def test_a_mark_that_cannot_be_used_is_a_collection_error(project: Project, mark: str, said: str):
    marked(project, mark, 1.0)

    result = project.run()

    assert result.ret == 2
    assert said in " ".join(result.stdout.str().split())


def test_of_several_marks_the_one_nearest_to_the_class_wins_key_by_key(project: Project):
    project.task(
        "one",
        f"""{BY_TURNS}
Base = task("base", in_turn("one", 1.0))
Base = pytest.mark.chalk(epochs=4, min_mean=0.5)(Base)

@pytest.mark.chalk(epochs=2)
class One(Base):
    id = "one"
""",
    )

    project.run("-k", "One and not Base")

    assert count(project, "one") == 2


def test_a_failed_run_of_a_task_with_a_bar_that_is_reached_fails_nothing(project: Project):
    marked(project, "epochs=4, min_mean=0.5, min_pass_rate=0.5", 1.0, 0.0, 1.0, 0.4)

    result = project.run("-v")

    assert result.ret == 0, result.stdout.str()
    assert "FAILED 0.00" in result.stdout.str()
    assert project.runs()["one"]["outcome"] == "passed"


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_bar_that_is_missed_fails_the_session_and_is_named(project: Project, workers: str):
    marked(project, "epochs=4, min_mean=0.8, min_pass_rate=0.5", 1.0, 0.0, 1.0, 0.4)

    result = project.run_with(workers)

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["FAIL chalk: tasks/one/__init__.py::One*oracle*: mean 0.600 *, min_mean=0.8 (4 scored*"]
    )
    assert "min_pass_rate" not in result.stdout.str().partition("FAIL chalk")[2]


def test_a_broken_run_of_a_task_with_bars_still_fails_the_session(project: Project):
    project.task(
        "one",
        BY_TURNS + "mark = pytest.mark.chalk(epochs=2, min_mean=0)\n"
        'One = mark(task("one", step("a", Raises(OSError()))))',
    )

    result = project.run()

    assert result.ret == 1
    assert "2 error" in result.stdout.str()


def test_bars_are_kept_for_the_runs_of_a_resumed_session(project: Project):
    marked(project, "epochs=4, min_mean=0.5", 1.0, 0.0, 1.0, 0.4)
    project.run()

    result = project.run("--chalk-resume")

    assert result.ret == 0, result.stdout.str()
    assert count(project, "one") == 4


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_auto_stops_when_the_pass_rate_is_sure(project: Project, workers: str):
    marked(project, "epochs='auto:20', min_pass_rate=0.6", 1.0)

    result = project.run_with(workers, "-rs")

    assert result.ret == 0, result.stdout.str()
    assert 9 <= count(project, "one") <= (9 if workers == "-n0" else 13)
    assert "not needed: passed after " in result.stdout.str()
    assert f"over {count(project, 'one')} scored of {count(project, 'one')}" in result.stdout.str()


def test_auto_stops_when_a_bar_cannot_be_reached(project: Project):
    marked(project, "epochs='auto:20', min_mean=0.5", 0.1)

    result = project.run()

    assert result.ret == 1
    assert 3 <= count(project, "one") <= 15
    assert "min_mean=0.5" in result.stdout.str()
    assert "undecided" not in result.stdout.str()


def test_auto_says_undecided_when_the_runs_do_not_tell(project: Project):
    marked(project, "min_pass_rate=0.5", 1.0, 0.0)

    result = project.run("--chalk-epochs=auto:6")

    assert count(project, "one") == 6
    assert result.ret == 1
    assert "One[oracle]: undecided after 6 scored runs: pass rate 0.500" in result.stdout.str()


def test_auto_without_a_bar_stops_at_the_first_run_that_does_not_pass(project: Project):
    project.task(
        "one",
        f"""{BY_TURNS}
One = task("one", in_turn("one", 1.0, 0.0))
Two = task("two", in_turn("two", 1.0))
""",
    )

    result = project.run("--chalk-epochs=auto:5", "-v")

    assert (count(project, "one"), count(project, "two")) == (2, 5)
    assert result.ret == 1
    order = [
        line.split("[")[0].rpartition("::")[2] for line in result.stdout.lines if "] PAS" in line
    ]
    assert order[:2] == ["One", "Two"]


def test_the_table_shows_how_sure_the_numbers_of_several_runs_are(project: Project):
    project.task(
        "one",
        f"""{BY_TURNS}
One = task("one", in_turn("one", 1.0, 0.0, 0.5))
Two = task("two", in_turn("two", 1.0))
""",
    )

    result = project.run("--chalk-epochs=3")

    lines = [" ".join(line.split()) for line in result.stdout.lines]
    start = next(index for index, line in enumerate(lines) if "chalk scores" in line)
    assert lines[start + 1].startswith("task model score 95 % passed steps turns")
    assert lines[start + 2].startswith(
        "one oracle 0.50 1 failed, 1 partial [0.00, 1.00] 2/3 [0.21, 0.94] 2/3"
    )
    assert lines[start + 3].startswith("two oracle 1.00 - 3/3 [0.44, 1.00] 3/3")
    assert lines[start + 4] == "mean 0.750 over 6 scored of 6, 95 % [0.00, 1.00], 1 step partial"
    assert "pass@k: 0.83 (k=1), 1.00 (k=2), 1.00 (k=3)" in lines
    assert "FLAKY tasks/one/__init__.py::One[oracle]: 2 of 3 runs passed" in lines

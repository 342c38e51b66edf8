"""Earlier sessions tell what to expect, and which tasks to begin with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from inner_pytest import plugins
from plugin.conftest import Project

TASKS = """
def begin(name):
    with open(Path(__file__).parents[2] / "began.txt", "a") as opened:
        opened.write(os.environ.get("PYTEST_XDIST_WORKER", "main") + " " + name + "\\n")
    return Scoring(1, {}, True)

for name in NAMES:
    judge = Does(lambda name=name: begin(name))
    globals()[name.title()] = task(name, step("a", judge, solution=["done"]))
"""
TOOK_S = {"short": 1.0, "quick": 2.0, "middle": 30.0, "long": 60.0}
LONG = "tasks/one/__init__.py::Long[oracle]"


@pytest.fixture
def known(project: Project) -> Project:
    """A project whose tasks have run once, and took these times."""
    project.task("one", TASKS.replace("NAMES", str([*TOOK_S])))
    assert project.run("--chalk-session-dir=kept").ret == 0
    (journal,) = project.path.glob("kept/sessions/*/journal.jsonl")
    entries = [json.loads(line) for line in journal.read_text().splitlines()]
    for entry in entries:
        if entry["type"] == "run":
            entry["record"]["duration_s"] = TOOK_S[entry["record"]["task_id"]]
    lines = [json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries]
    journal.write_text("".join(lines))
    (project.path / "began.txt").unlink()
    return project


def begun(project: Project) -> list[str]:
    return [line.split()[1] for line in (project.path / "began.txt").read_text().splitlines()]


def begun_with(project: Project) -> set[str]:
    """Return what each worker began with."""
    lines = reversed((project.path / "began.txt").read_text().splitlines())
    return set(dict(line.split() for line in lines).values())


@pytest.mark.parametrize("mode", ["load", "worksteal", "loadgroup"])
def test_workers_begin_with_the_longest_tasks(known: Project, mode: str):
    result = known.run_apart("-n2", f"--dist={mode}", "--chalk-session-dir=kept")

    assert result.ret == 0
    assert begun_with(known) == {"long", "middle"}
    assert sorted(begun(known)) == ["long", "middle", "quick", "short"]


def test_a_task_that_was_never_measured_begins_early(known: Project):
    known.task("two", TASKS.replace("NAMES", "['fresh']"))

    known.run_apart("-n2", "--chalk-session-dir=kept")

    assert begun_with(known) == {"fresh", "long"}


def test_without_workers_tasks_keep_their_order(known: Project):
    known.run("--chalk-session-dir=kept")

    assert begun(known) == ["short", "quick", "middle", "long"]


BY_NAME = """
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: len(item.name))
"""


def test_an_order_of_somebody_elses_stands(known: Project):
    known.file("conftest.py", BY_NAME)

    result = known.run_apart("-n1", "--chalk-session-dir=kept")

    assert result.ret == 0
    assert begun(known) == ["long", "short", "quick", "middle"]


def test_no_second_run_of_a_task_comes_before_the_first_of_any(known: Project):
    known.run_apart("-n1", "--chalk-epochs=auto:2", "--chalk-session-dir=kept")

    assert begun(known) == ["long", "middle", "quick", "short"] * 2


def test_a_random_order_stands_and_all_workers_agree_on_it(known: Project):
    options = (*plugins("randomly"), "--randomly-seed=3", "--chalk-session-dir=kept")
    listed = known.run("--collect-only", "-q", *options)
    titles = re.findall(r"::(\w+)\[oracle\]$", listed.stdout.str(), re.MULTILINE)
    in_order = [title.lower() for title in titles]

    alone = known.run_apart("-n1", *options)

    assert alone.ret == 0
    assert begun(known) == in_order
    assert sorted(in_order) == ["long", "middle", "quick", "short"]
    assert in_order not in ([*TOOK_S], [*reversed(TOOK_S)])
    assert known.run_apart("-n2", *options).ret == 0  # 1 where workers disagree


def test_an_estimate_is_printed_and_nothing_runs(known: Project):
    options = ("--collect-only", "--chalk-estimate", "--chalk-session-dir=kept")

    result = known.run(*options, "--chalk-model=oracle", "--chalk-model=noop", "--chalk-epochs=2")

    assert result.ret == 0
    assert not (known.path / "began.txt").exists()
    lines = result.stdout.lines
    (row,) = [line.split() for line in lines if line.startswith(f"{LONG} ")]
    assert row[1:] == ["2", "1", "1m00s", "1m00s", "$0.00"]
    assert any(line.startswith("by the means of 4 runs in 1 earlier session in ") for line in lines)
    assert "time: 3m06s one after another, for 8 of 16 runs" in lines
    assert any(line.startswith("never measured: ") and "Long[noop]" in line for line in lines)
    assert len(list((known.path / "kept/sessions").iterdir())) == 1


@pytest.mark.parametrize(
    ("options", "with_workers"),
    [
        (["-n4", "--maxprocesses=2"], ", at best 1m00s with -n 2"),
        (["--dist=load", "--tx=2*popen", "--tx=popen"], ", at best 1m00s with -n 3"),
        (["--tx=2*popen"], ""),
        (["-n0"], ""),
    ],
)
def test_an_estimate_is_for_as_many_workers_as_there_would_be(
    known: Project, options: list[str], with_workers: str
):
    asked = ("--collect-only", "--chalk-estimate", "--chalk-session-dir=kept")

    result = known.run(*asked, *options)

    assert f"time: 1m33s one after another{with_workers}" in result.stdout.lines


@pytest.mark.parametrize("option", ["--chalk-validate", "--chalk-rejudge"])
def test_there_is_no_estimate_of_what_no_student_does(known: Project, option: str):
    asked = ("--collect-only", "--chalk-estimate", "--chalk-session-dir=kept")

    result = known.run(*asked, option)

    assert result.ret == 4
    assert f"and with {option} they do nothing. Leave out one" in result.stderr.str()


@pytest.mark.parametrize("option", ["--fixtures", "--fixtures-per-test"])
def test_who_looks_at_fixtures_has_no_estimate_and_no_complaint(
    known: Project, monkeypatch: pytest.MonkeyPatch, option: str
):
    monkeypatch.setenv("CHALK_ESTIMATE", "1")

    result = known.run(option, "--chalk-session-dir=kept")

    assert result.ret == 0
    assert "chalk estimate" not in result.stdout.str()


def test_an_estimate_of_a_session_that_runs_is_a_usage_error(project: Project):
    project.task("one", 'One = task("one", step("a", Score(1)))')

    result = project.run("--chalk-estimate")

    assert result.ret == 4
    assert "Give it with --collect-only" in result.stderr.str()
    assert not Path(project.path / ".chalk").exists()

"""`--chalk-baseline`, and `pytest-chalk compare`."""

from __future__ import annotations

import pytest
from plugin.conftest import Project

from pytest_chalk.cli import main

TASKS = """
One = task("one", step("work", Score({one})))
Two = task("two", step("work", Score({two})))
"""
MODEL = """
from pytest_chalk.models import ScriptedModel

def pytest_chalk_make_model(config, name):
    return ScriptedModel(["done"] * 20, name=name) if name.startswith("m") else None
"""
UPDATE = ("--chalk-baseline=base.txt", "--chalk-update-baseline")
ONE = "tasks/one/__init__.py::One[{}]"
TWO = "tasks/one/__init__.py::Two[{}]"


@pytest.fixture
def based(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.file("conftest.py", MODEL)
    monkeypatch.chdir(project.path)
    return project


def tasks(project: Project, one: float, two: float) -> None:
    project.task("one", TASKS.format(one=one, two=two))


def entries(project: Project) -> list[str]:
    lines = (project.path / "base.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def test_a_baseline_is_written_and_the_same_session_passes_against_it(based: Project):
    tasks(based, 1, 0.5)

    written = based.run(*UPDATE, "--chalk-epochs=2")
    again = based.run("--chalk-baseline=base.txt", "--chalk-epochs=2")

    assert entries(based) == [
        f"{ONE.format('oracle')} | 2/2 | 1.000 | 1 1",
        f"{TWO.format('oracle')} | 2/2 | 0.500 | 0.5 0.5",
    ]
    assert (written.ret, again.ret) == (0, 0)
    assert "base.txt with 2 entries of this session" in written.stdout.str()
    assert "2 compared, 2 unchanged, mean 0.750 to 0.750" in again.stdout.str()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_significant_drop_fails_the_session_and_nothing_else_does(based: Project, workers: str):
    tasks(based, 1, 0)
    based.run(*UPDATE, "--chalk-model=m", "--chalk-epochs=6")
    tasks(based, 0, 0)

    result = based.run(workers, "--chalk-baseline=base.txt", "--chalk-model=m", "--chalk-epochs=6")

    assert result.ret == 1
    output = result.stdout.str()
    assert f"DROPPED {ONE.format('m')}: mean 1.000 to 0.000, 6/6 to 0/6 passed" in output
    assert f"FAIL chalk: {ONE.format('m')} fell below the baseline" in output
    assert "Two[m] fell" not in output


def test_a_low_score_that_is_as_low_in_the_baseline_passes(based: Project):
    tasks(based, 0, 0)
    based.run(*UPDATE)

    result = based.run("--chalk-baseline=base.txt")

    assert result.ret == 0
    assert "2 compared, 2 unchanged" in result.stdout.str()


def test_a_drop_that_may_be_luck_is_shown_and_passes(based: Project):
    tasks(based, 1, 1)
    based.run(*UPDATE, "--chalk-model=m")
    tasks(based, 0.5, 1)

    result = based.run("--chalk-baseline=base.txt", "--chalk-model=m")

    assert result.ret == 0
    assert f"lower {ONE.format('m')}: mean 1.000 to 0.500" in result.stdout.str()


def test_what_was_not_measured_fails_the_session_with_a_baseline_too(based: Project):
    tasks(based, 1, 1)
    based.run(*UPDATE)
    based.task("one", TASKS.format(one=1, two=1).replace("Score(1)", "Raises(OSError())", 1))

    result = based.run("--chalk-baseline=base.txt")

    assert result.ret == 1
    assert "coverage: 1 of 2 planned runs scored" in result.stdout.str()
    assert f"stale {ONE.format('oracle')}" in result.stdout.str()


def test_new_entries_are_reported_and_an_update_keeps_what_did_not_run(based: Project):
    tasks(based, 1, 0.5)
    based.run(*UPDATE, "-k", "not Two")

    compared = based.run("--chalk-baseline=base.txt")
    based.run(*UPDATE, "-k", "Two")

    assert f"new {TWO.format('oracle')}" in compared.stdout.str()
    assert [line.partition(" |")[0] for line in entries(based)] == [
        ONE.format("oracle"),
        TWO.format("oracle"),
    ]


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        (["--chalk-update-baseline"], None, "no file is named. Give --chalk-baseline=FILE too"),
        (["--chalk-baseline=base.txt"], None, "there is no such file"),
        (["--chalk-baseline=base.txt"], "nonsense\n", "line 1: found 'nonsense'"),
        (["--chalk-baseline=."], None, "cannot be read"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_a_usage_error(
    based: Project, arguments: list[str], text: str | None, said: str
):
    tasks(based, 1, 1)
    if text is not None:
        based.file("base.txt", text)

    result = based.run(*arguments)

    assert result.ret == 4
    assert said in result.stderr.str()


def test_a_baseline_that_cannot_be_written_fails_the_session(based: Project):
    tasks(based, 1, 1)

    result = based.run("--chalk-baseline=no/such/base.txt", "--chalk-update-baseline")

    assert result.ret == 1
    assert "cannot be written and is as it was" in result.stdout.str()


def test_two_sessions_or_files_are_compared(based: Project, capsys: pytest.CaptureFixture[str]):
    tasks(based, 1, 0.5)
    based.run(*UPDATE)
    first = (based.path / ".chalk/latest").readlink().name
    tasks(based, 0.5, 0.5)
    based.run()
    capsys.readouterr()

    status = main(["compare", first, "latest"])
    sessions = capsys.readouterr().out
    same = main(["compare", "base.txt", first])
    files = capsys.readouterr().out

    assert (status, same) == (1, 0)
    assert f"DROPPED {ONE.format('oracle')}: mean 1.000 to 0.500" in sessions
    assert "2 compared, 2 unchanged" in files

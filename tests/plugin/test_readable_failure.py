"""A failure that can be read: what was asked and done, and commands that lead on and work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from plugin.conftest import Project

FAILS = r"""
from pytest_chalk.models import ScriptedModel, call

PRINTS = r"printf '\033[31mred \377'"

One = task(
    "one",
    step("work", Score(0.25, why="too little"), solution=[call("bash", command=PRINTS), "no"]),
)
"""


def failures(text: str) -> list[str]:
    """Return the failures that a terminal shows, without what xdist adds."""
    section = text.partition("= FAILURES =")[2].partition("\n=====")[0]
    parts = re.split(r"^_{3,} .* _{3,}$", section, flags=re.MULTILINE)[1:]
    return [re.sub(r"^\[gw.*\n", "", part, flags=re.MULTILINE).strip() for part in parts]


def without_session(text: str) -> str:
    """Return it without what differs from session to session."""
    return re.sub(r"^(transcript|read it): .*\n", "", text, flags=re.MULTILINE)


def command_in(text: str, word: str) -> list[str]:
    (line,) = {line for line in text.splitlines() if line.startswith(f"{word}: ")}
    return shlex.split(line.removeprefix(f"{word}: "))


def run_in(directory: Path, module: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_failure_says_the_same_in_terminal_and_junit_file_with_and_without_workers(
    project: Project,
):
    project.task("one", FAILS)
    texts = []

    for workers in ("-n0", "-n2"):
        result = project.run_with(workers, "--chalk-pass-score=0.5")
        shown = failures(result.stdout.str())
        cases = project.junit()
        step, item = cases["tasks.one.One[oracle]::1-work"], cases["tasks.one::One[oracle]"]
        assert [case.findtext("failure") for case in (step, item)] == shown
        texts.append([without_session(text) for text in shown])

    assert texts[0] == texts[1]
    assert texts[0][0].splitlines()[:-1] == [
        "step 1/1 work: score 0.25 is below the pass score 0.5 (set by --chalk-pass-score)",
        "instructions:",
        "    Do work.",
        "last turns:",
        r"""    -> bash {"command": "printf '\\033[31mred \\377'"}""",
        r"    <- \x1b[31mred �",
        "    [assistant] no",
        "why: too little",
    ]


def test_the_commands_in_a_failure_work_where_pytest_was_started(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", FAILS)
    project.ini("markers =", "chalk_epochs = 3")
    (project.path / "elsewhere").mkdir()
    monkeypatch.chdir(project.path / "elsewhere")
    options = ["--chalk-model=oracle", "--chalk-model=noop", "--chalk-extra=note=a b"]
    result = project.run("..", *options, "-k", "noop-e2", "--chalk-pass-score=0.5")
    (of_item,) = [text for text in failures(result.stdout.str()) if text.startswith("one by noop")]

    program, *arguments = command_in(of_item, "read it")
    read = run_in(Path.cwd(), "pytest_chalk", arguments)
    assert program == "pytest-chalk"
    assert "[assistant] I am done." in read.stdout, read.stderr

    program, *arguments = command_in(of_item, "run it again")
    again = run_in(Path.cwd(), program, arguments)
    assert arguments[0] == "../tasks/one/__init__.py::One[noop-e2]"
    assert again.returncode == 1
    assert "run it again: " + shlex.join([program, *arguments]) in again.stdout
    assert "1 run to make: noop x 1" in again.stdout
    assert project.run_record()["config"]["extra_config"] == {"note": "a b"}

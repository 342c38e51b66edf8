"""Small projects with tasks, run by pytest in a process of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import httpcore  # noqa: F401 - loaded once, as are httpx and what keeps their classes
import httpx  # noqa: F401
import pytest
from inner_pytest import plugins

import pytest_chalk.plugin.collect
import pytest_chalk.plugin.controller
import pytest_chalk.plugin.header
import pytest_chalk.plugin.running
import pytest_chalk.runner.students  # noqa: F401 - loaded once, not anew by every inner run

HEAD = """\
import os, re, sys, time
from pathlib import Path
from chalk import MachineError, Step, StudentMisbehaviorError, Task
from chalk.judges import AlwaysPassJudge, ExecutableJudge, Judge, RegexJudge
from chalk.schemas.scoring import Scoring


class Score(Judge):
    def __init__(self, score, continue_task=True, **metadata):
        self.scoring = Scoring(score, metadata, continue_task)

    def evaluate(self, transcript):
        return self.scoring


class Raises(Judge):
    def __init__(self, error):
        self.error = error

    def evaluate(self, transcript):
        raise self.error


class Does(Judge):
    def __init__(self, act):
        self.act = act

    def evaluate(self, transcript):
        return self.act()


def step(name, judge, **members):
    body = {"instructions": property(lambda self: f"Do {name}."), "name": name, "solution": "true"}
    if not isinstance(judge, property):
        judge = property(lambda self, judge=judge: judge)
    return type("MadeStep", (Step,), {**body, "judge": judge, **members})


def task(id, *steps, **members):
    body = {
        "id": id,
        "__module__": sys._getframe(1).f_globals["__name__"],
        "system_prompt": property(lambda self: None),
        "tools": property(lambda self: ["bash"]),
        "steps": property(lambda self: [cls(config=self.config) for cls in steps]),
    }
    return type("".join(p.title() for p in id.split("-")), (Task,), {**body, **members})

"""
ROOT = Path(__file__).parents[2]


def is_ours(finder: object) -> bool:
    return type(finder).__name__ == "TaskFinder"


ALWAYS = [*plugins("chalk", "xdist", "timeout", "no:cacheprovider"), "--junitxml=report.xml"]
"""Of the plugins that may be installed, the three our users always have."""


class Project:
    """A project in a temporary directory."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        pytester.makefile(".ini", pytest="[pytest]\n")

    def task(self, name: str, source: str) -> None:
        self.file(f"tasks/{name}/__init__.py", HEAD + textwrap.dedent(source))

    def file(self, path: str, source: str) -> Path:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(source))
        # Python takes a compiled file for up to date if source of the same length was written in
        # the same second.
        shutil.rmtree(target.parent / "__pycache__", ignore_errors=True)
        return target

    def ini(self, *lines: str) -> None:
        self.file("pytest.ini", "\n".join(["[pytest]", *lines]) + "\n")

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process: twice as fast, and the plugin's own modules are loaded."""
        return self.pytester.runpytest_inprocess(*ALWAYS, *arguments)

    def run_apart(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own, for what ends processes or needs several."""
        return self.pytester.runpytest_subprocess(*ALWAYS, *arguments, timeout=120)

    def run_with(self, workers: str, *arguments: str) -> pytest.RunResult:
        """Run pytest with `-n0` or other workers; apart only where there are some."""
        run = self.run if workers == "-n0" else self.run_apart
        return run(workers, *arguments)

    def junit(self) -> dict[str, ET.Element]:
        """Return the testcases of the last run by `classname::name`."""
        suite = ET.parse(self.path / "report.xml").getroot().find("testsuite")
        assert suite is not None
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases))
        for attribute, tag in [("failures", "failure"), ("errors", "error")]:
            assert suite.get(attribute) == str(sum(c.find(tag) is not None for c in cases))
        return {f"{case.get('classname')}::{case.get('name')}": case for case in cases}

    def journal(self) -> list[dict]:
        text = (self.path / ".chalk/latest/journal.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def runs(self) -> dict[str, dict]:
        """Return the run records of the last session by task id; the last attempt of each."""
        return {
            entry["record"]["task_id"]: entry["record"]
            for entry in self.journal()
            if entry["type"] == "run"
        }

    def run_record(self) -> dict:
        (record,) = self.runs().values()
        return record

    def events(self) -> list[dict]:
        """Return the events of the only run's transcript."""
        lines = Path(self.run_record()["transcript"]).read_text().splitlines()
        return [json.loads(line) for line in lines[1:]]


def verdicts(cases: dict[str, ET.Element]) -> dict[str, str]:
    """Return by testcase: passed, failure, error or skipped."""
    tags = ("failure", "error", "skipped")
    return {
        name: next((tag for tag in tags if case.find(tag) is not None), "passed")
        for name, case in cases.items()
    }


def properties(case: ET.Element) -> dict[str, str]:
    return {p.get("name", ""): p.get("value", "") for p in case.iterfind("properties/property")}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("CHALK_SLOT", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # Not our own project's tasks: the inner pytest has its own.
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(ROOT)])
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if not is_ours(f)])
    theirs = {"tasks", "environment", "chalk"}
    for name in [n for n in sys.modules if n.partition(".")[0] in theirs]:
        monkeypatch.delitem(sys.modules, name)
    return Project(pytester)


MOCK = Path(__file__).parents[1] / "models" / "mock_llm.py"
CANARY = "sk-canary-987654321"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    command = [sys.executable, str(MOCK), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1].rstrip("/")
        process.terminate()


@pytest.fixture
def asking(project: Project, monkeypatch: pytest.MonkeyPatch, server: str) -> Project:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server)
    project.task(
        "one",
        """
        class Said(Judge):
            def evaluate(self, transcript):
                said = transcript.messages[-1].text
                return Scoring(float("bananas" in said), {"said": said}, "bananas" in said)

        One = task("one", step("work", Said()))
        """,
    )
    return project


def model(name: str, **options: object) -> str:
    return f"--chalk-model={name}?" + "&".join(f"{k}={v}" for k, v in options.items())

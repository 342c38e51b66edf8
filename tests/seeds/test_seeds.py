"""The code blocks of the seeds run unchanged, also with workers and where no seeds are at hand."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inner_pytest import plugins
from seeds.blocks import PLACES, SEEDS, read_blocks, read_pages

from pytest_chalk.discovery.alias_path import child_environment
from pytest_chalk.discovery.settings import make_settings

MISSING = Path("/nonexistent/seeds")
SOURCES = {"seeds": SEEDS, "examples": MISSING} if SEEDS.is_dir() else {"examples": MISSING}
PLUGINS = plugins("chalk", "xdist", "timeout", "no:randomly", "no:cacheprovider")

SNIPPETS = '''
"""Runs blocks that are no modules, as they stand."""

import ast
from pathlib import Path

from chalk import Step, Task


def text_of(name):
    return (Path(__file__).parent / f"{name}.txt").read_text()


def run(name, **names):
    """Run a block with these names; return them and the value of its last line, if it has one."""
    *body, last = ast.parse(text_of(name)).body
    value = ast.unparse(last) if isinstance(last, ast.Expr) else None
    exec(text_of(name) if value is None else ast.unparse(ast.Module(body, [])), names)
    return {**names, "value": value and eval(value, names)}


def members(name):
    """Return what a block defines in the body of a class."""
    body = {}
    exec(text_of(name), {}, body)
    return body


def task(id, step, **members):
    body = {
        "id": id,
        "__module__": step.__module__,
        "system_prompt": None,
        "tools": ["bash"],
        "steps": property(lambda self: [step(config=self.config)]),
    }
    return type(id.title().replace("-", ""), (Task,), {**body, **members})
'''

LINES = """
import re
from pathlib import Path

from chalk import Step
from chalk.judges import AlwaysPassJudge, ExecutableJudge, Judge, RegexJudge
from chalk.schemas.scoring import Scoring
from environment.paths import STUDENT_DATA_DIR
from tasks._snippets import members, run, task

SOURCE = STUDENT_DATA_DIR / "server.rs"


class Does(Judge):
    def __init__(self, act):
        self.act = act

    def evaluate(self, transcript):
        return self.act()


class Plain(Step):
    instructions = "Work."


class ScoringLine(Plain):
    judge = Does(lambda: run("scoring")["value"])


class Regex(Plain):
    judge = property(lambda self: run("regex")["value"])


class Combined(Plain):
    judge = property(
        lambda self: run("combined", re=re, RegexJudge=RegexJudge, ExecutableJudge=ExecutableJudge)[
            "value"
        ]
    )


class Misbehaves(Plain):
    judge = Does(lambda: run("misbehavior", path="data/server.rs"))


class Saves(Plain):
    def pre_scoring_hook(self):
        self.copy = run("save_submission", source=SOURCE)["copy"]

    @property
    def judge(self):
        kept = Path.home() / ".config" / "chalk" / "submissions"
        right = (self.copy / SOURCE.name).read_text() == "fn main() {}\\n"
        return Does(lambda: Scoring(float(right and self.copy.parent == kept), {}, True))


FromPage = type("FromPage", (Plain,), {**members("extra_config"), "judge": AlwaysPassJudge()})


class Extra(FromPage):
    @property
    def instructions(self):
        assert super().instructions is None  # the page leaves out what comes of it
        return "Work hard."


tasks = [
    task("scoring-line", ScoringLine),
    task("regex", Regex),
    task("combined-and-stopped", Combined),
    task("combined-to-the-end", Combined),
    task("misbehaves", Misbehaves),
    task("saves", Saves),
    task("extra", Extra),
    task("on-a-gpu", ScoringLine, **members("required_hardware")),
]
globals().update({cls.__name__: cls for cls in tasks})
"""

MY_TASK = """

from tasks._snippets import task

MyTask = task("my-task", MyStep)
Undone = task("my-task-undone", MyStep)
"""

EXAMPLE_TASK = """
from chalk import Step
from environment.paths import STUDENT_DATA_DIR
from environment.submissions import collect_submission
from tasks._snippets import run, task


class Answer(Step):
    instructions = "Answer in a file."

    def pre_scoring_hook(self):
        self.saved_submissions = collect_submission(self.config, [STUDENT_DATA_DIR / "answer.txt"])

    @property
    def judge(self):
        return run("executable", self=self)["value"]


class Report(Answer):
    @property
    def judge(self):
        return run("rubric", self=self)["value"]


Example = task("example-task", Answer)
Rubric = task("rubric-half-met", Report)
NoReport = task("rubric-undone", Report)
"""

FINAL_MESSAGE = """

from chalk import Step
from tasks._snippets import task


class Ask(Step):
    instructions = "What is the answer?"
    judge = FinalMessageJudge("42")


Right = task("final-message-right", Ask)
Wrong = task("final-message-wrong", Ask)
"""

CONFTEST = """
import pytest
from chalk.schemas.chat import Message
from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.models import ScriptedModel, call


def wrote(text, name):
    return [call("bash", command=f"echo '{text}' > data/{name}"), "done"]


TURNS = {
    "find-python": [call("bash", command="command -v bash"), "path: /usr/bin/python3"],
    "my-task": wrote("3.12.11", "server.rs"),
    "example-task": wrote("3.12.11", "answer.txt"),
    "rubric-half-met": wrote("It broke.", "answer.txt"),
    "final-message-right": ["it is 42"],
    "final-message-wrong": ["it is 41"],
    "regex": ["answer: 42"],
    "combined-to-the-end": ["answer: 42"],
    "saves": wrote("fn main() {}", "server.rs"),
}


@pytest.fixture
def chalk_model(request):
    return ScriptedModel(TURNS.get(request.node.task_class.id, ["done"]))


def pytest_chalk_resolve_hardware(hardware):
    return "here" if hardware == "my-gpu" else None


class Grader:
    name, trusted = "grader", False

    def reply(self, request):
        asked = request.messages[-1].text
        assert "| It broke." in asked
        is_first = "names the root cause" in asked or "what is missing" in asked
        verdict = "YES" if is_first else "NO"
        return ModelReply(Message(content=f"{verdict}\\nThat is plain."))


def pytest_chalk_make_model(name):
    return Grader() if name == "grader" else None
"""

OUTCOMES = {
    "find-python": "passed",
    "my-task": "passed",
    "my-task-undone": "failed",
    "example-task": "passed",
    "rubric-half-met": "passed",
    "rubric-undone": "failed",
    "final-message-right": "passed",
    "final-message-wrong": "failed",
    "scoring-line": "passed",
    "regex": "passed",
    "combined-and-stopped": "failed",
    "combined-to-the-end": "error",  # `[...]` in the page stands for a command
    "misbehaves": "misbehaved",
    "saves": "passed",
    "extra": "passed",
    "on-a-gpu": "passed",
}
"""What comes of each task, by the pages' own words."""


def write_project(root: Path, blocks: dict[str, str]) -> None:
    files = {
        "pytest.ini": "[pytest]\nchalk_judge_model = grader\n",
        "conftest.py": CONFTEST,
        "tasks/_snippets/__init__.py": SNIPPETS,
        **{f"tasks/_snippets/{name}.txt": text for name, text in blocks.items()},
        "tasks/find_python/__init__.py": blocks["find_python"],
        "tasks/my_task/__init__.py": blocks["my_step"] + MY_TASK,
        "tasks/my_task/scoring_script.py": blocks["scoring_script"],
        "tasks/example_task/__init__.py": EXAMPLE_TASK,
        "tasks/example_task/scoring_script.py": blocks["scoring_script"],
        "tasks/final_message/__init__.py": blocks["final_message"] + FINAL_MESSAGE,
        "tasks/lines/__init__.py": LINES,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch):
    for name in [n for n in os.environ if n.startswith("CHALK_") and n != "CHALK_SLOT_BASE"]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def records_of(root: Path) -> dict[str, dict]:
    """Return the run records of the last session by task id."""
    lines = (root / ".chalk/latest/journal.jsonl").read_text().splitlines()
    runs = [entry["record"] for entry in map(json.loads, lines) if entry["type"] == "run"]
    return {run["task_id"]: run for run in runs}


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "n2"])
@pytest.mark.parametrize("seeds", SOURCES.values(), ids=SOURCES)
def test_every_block_does_unchanged_what_its_page_says(
    pytester: pytest.Pytester, seeds: Path, workers: list[str]
):
    write_project(pytester.path, read_blocks(seeds))

    result = pytester.runpytest_subprocess(*PLUGINS, *workers, timeout=60)

    records = records_of(pytester.path)
    assert {task_id: run["outcome"] for task_id, run in records.items()} == OUTCOMES
    assert "the scoring script exited 1" in records["my-task-undone"]["reason"]
    assert records["rubric-half-met"]["score"] == 0.5
    assert "That is plain." in json.dumps(records["rubric-half-met"]["steps"][0]["metadata"])
    assert records["misbehaves"]["reason"].startswith(
        "step 1/1 Misbehaves: MISBEHAVED: data/server.rs is a "
    )
    assert result.ret == 1


@pytest.mark.usefixtures("clean_environment")
def test_the_extra_config_block_works_with_and_without_an_entry(pytester: pytest.Pytester):
    write_project(pytester.path, read_blocks())

    result = pytester.runpytest_subprocess(
        *PLUGINS, "-k", "extra", "--chalk-extra=difficulty=hard", timeout=60
    )

    assert result.ret == 0


@pytest.mark.usefixtures("clean_environment")
def test_hardware_of_the_page_that_nothing_offers_is_an_error(pytester: pytest.Pytester):
    write_project(pytester.path, read_blocks())
    conftest = pytester.path / "conftest.py"
    conftest.write_text(CONFTEST.replace('"here" if', "None if"))

    pytester.runpytest_subprocess(*PLUGINS, "-k", "on-a-gpu", timeout=60)

    assert records_of(pytester.path)["on-a-gpu"]["outcome"] == "error"


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize("seeds", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize(("answer", "score"), [("CPython 3.12.11", 1.0), ("2.7", 0.0)])
def test_the_scoring_script_runs_as_a_module_in_a_child(
    pytester: pytest.Pytester, seeds: Path, answer: str, score: float
):
    write_project(pytester.path, read_blocks(seeds))
    submission, result = pytester.path / "answer.txt", pytester.path / "score.json"
    submission.write_text(answer)
    module = "environment.tasks.example_task.scoring_script"
    settings = make_settings(pytester.path, {}, {})

    subprocess.run(
        [sys.executable, "-m", module, submission, result],
        cwd=pytester.path,
        env={**os.environ, **child_environment(settings)},
        check=True,
        timeout=60,
    )

    found = json.loads(result.read_text())
    assert found["score"] == score
    assert "metadata" in found


@pytest.mark.parametrize("seeds", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("name", PLACES)
def test_a_block_is_a_part_of_its_page_and_python(seeds: Path, name: str):
    block = read_blocks(seeds)[name]

    ast.parse(block)
    assert f"\n{block.rstrip()}" in read_pages(seeds)[PLACES[name].page]


def defined_in(block: str) -> list[str]:
    """Return the names that a block imports or defines, in order."""
    names: list[str] = []
    for statement in ast.parse(block).body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names += [alias.name for alias in statement.names]
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            names.append(statement.name)
    return names


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seeds are not at hand")
@pytest.mark.parametrize("name", PLACES)
def test_our_own_pages_have_the_names_of_the_seeds(name: str):
    assert defined_in(read_blocks(MISSING)[name]) == defined_in(read_blocks()[name])


def test_without_the_seeds_our_own_pages_are_read():
    assert "stands in for" in read_pages(MISSING)["scoring"]

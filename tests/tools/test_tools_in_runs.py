"""Tools in whole runs: what they show and hand in is kept, and collection checks them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inner_pytest import plugins

from pytest_chalk import Step, Task, run_task
from pytest_chalk.judges import AlwaysPassJudge
from pytest_chalk.models import ScriptedModel, call
from pytest_chalk.schemas.transcript import AnswersSubmittedEvent, ToolCallCompletedEvent
from pytest_chalk.store.transcript_file import read_transcript

MAKE_IMAGE = r"printf '\211PNG\r\n\032\n' > data/p.png"


class Work(Step):
    instructions = "Work."
    judge = AlwaysPassJudge()


class Show(Task):
    id = "show"
    system_prompt = None
    tools = ("bash", "view_image_file", "submit_answer")

    @property
    def steps(self):
        return [Work(config=self.config)]


def test_images_and_answers_reach_the_student_and_the_transcript(tmp_path: Path):
    # In a process of its own: one has one slot, and other tests of this process had others.
    code = f"from tools.test_tools_in_runs import show; show({str(tmp_path)!r})"
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "CHALK_SLOT": "", "PYTHONPATH": str(tests)}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(
        command, cwd=tests, env=environment, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")


def show(directory: str) -> None:
    student = ScriptedModel(
        [
            call("bash", command=MAKE_IMAGE),
            call("view_image_file", file_path="data/p.png"),
            [call("submit_answer", answer="1"), call("submit_answer", answer="2", name="b")],
            "done",
        ]
    )

    record = run_task(Show, model=student, directory=Path(directory))

    transcript = read_transcript(Path(record.transcript))
    assert (record.outcome, record.reason) == ("passed", "")
    assert transcript.answers == {"answer": "1", "b": "2"}
    assert len([e for e in transcript.events if isinstance(e, AnswersSubmittedEvent)]) == 2
    image = next(m for m in transcript.messages if m.role == "tool" and isinstance(m.content, list))
    assert [part["type"] for part in image.content] == ["text", "image_url"]
    completed = [e for e in transcript.events if isinstance(e, ToolCallCompletedEvent)]
    assert "base64" not in completed[1].model_dump_json()


PROJECT = {
    "pytest.ini": "[pytest]\n",
    "tasks/one/__init__.py": """
from pytest_chalk import Step, Task
from pytest_chalk.judges import AlwaysPassJudge
from pytest_chalk.models import call
from pytest_chalk.tools.tool_base import ToolConfigWriter


class Work(Step):
    instructions = "Work."
    judge = AlwaysPassJudge()
    solution = [call("count"), "done"]


class One(Task):
    id = "one"
    system_prompt = None
    tools = ["count"]

    @property
    def steps(self):
        return [Work(config=self.config)]
""",
}


def write_project(root: Path, **files: str) -> None:
    for name, text in {**PROJECT, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run_pytest(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        *plugins("chalk", "timeout", "no:cacheprovider"), *arguments, timeout=60
    )


@pytest.fixture(autouse=True)
def _no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_a_tool_that_cannot_be_used_is_an_error_of_collection(pytester: pytest.Pytester):
    write_project(pytester.path, **{"tools/count.py": "def count(n): return n"})

    result = run_pytest(pytester, "--collect-only")
    listed = pytester.run(sys.executable, "-m", "pytest_chalk", "tasks", "list")

    result.stdout.fnmatch_lines(["*tool 'count' in *tools/count.py: has no docstring*"])
    assert result.ret != 0
    assert "has no docstring" in listed.stderr.str()


def test_an_answer_of_no_kind_is_an_error_of_the_run(pytester: pytest.Pytester):
    tool = 'def count():\n    """Count."""\n    return 3\n'
    write_project(pytester.path, **{"tasks/one/tools/count.py": tool})

    result = run_pytest(pytester)

    result.stdout.fnmatch_lines(["*returned int. Return a str, a dict or a ToolAnswer*"])
    assert result.ret == 1


def test_a_run_that_is_over_leaves_no_config_to_the_next(pytester: pytest.Pytester):
    tool = (
        "from pydantic import BaseModel\n"
        "from pytest_chalk.tools.tool_base import ToolBase\n"
        "class Count(BaseModel):\n    start: int = 0\n"
        "class count(ToolBase[Count]):\n"
        '    """Count."""\n    config_schema = Count\n'
        "    def __call__(self) -> str:\n"
        "        assert self.config.start == 0\n        return 'counted'\n"
    )
    conftest = (
        "import pytest\nfrom pydantic import BaseModel\n"
        "from pytest_chalk.tools.tool_base import ToolConfigWriter\n"
        "class Left(BaseModel):\n    start: int = 7\n"
        "ToolConfigWriter().write('count', Left())\n"
        "def pytest_chalk_run_finished(run):\n    text = open(run.transcript).read()\n"
        "    assert 'counted' in text and 'AssertionError' not in text\n"
    )
    write_project(pytester.path, **{"tools/count.py": tool, "conftest.py": conftest})

    result = run_pytest(pytester)

    assert result.ret == 0

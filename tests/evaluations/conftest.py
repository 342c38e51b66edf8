"""A store of its own for each test, and small functions to evaluate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pytest_chalk.evaluations import DatasetClient, Evaluation, function, use_store
from pytest_chalk.scorers import exact_match

REPOSITORY = Path(__file__).parents[2]

ROWS = [
    {"question": "one", "expected": "ONE"},
    {"question": "two", "expected": "TWO"},
    {"question": "three", "expected": "3"},
    {"question": "four", "expected": "FOUR"},
]


@pytest.fixture(autouse=True)
def store(tmp_path: Path):
    base = tmp_path / ".chalk"
    use_store(base)
    yield base
    use_store(None)


@pytest.fixture
def dataset():
    return DatasetClient().upload("numbers", ROWS)


@function
def shout(question: str) -> str:
    return question.upper()


@pytest.fixture
def evaluation(dataset):
    return Evaluation.create("numbers", dataset=dataset, task=shout, scorers=[exact_match()])


class Counter:
    """A function that counts its calls by row, and may fail on some."""

    def __init__(self, returns, fail_on=(), name="counted", inputs=("question",)):
        self.calls: list[str] = []
        self.fail_on = set(fail_on)

        def counted(**values):
            key = str(values[inputs[0]])
            self.calls.append(key)
            if key in self.fail_on:
                message = f"no answer to {key}"
                raise ValueError(message)
            return returns(*(values[each] for each in inputs))

        parameters = ", ".join(inputs)
        namespace = {"_counted": counted}
        given = ", ".join(f"{each}={each}" for each in inputs)
        exec(f"def {name}({parameters}):\n    return _counted({given})", namespace)
        self.function = function(namespace[name])


def run_script(directory: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code as a script under `pytest-chalk run` in a directory that is a project."""
    (directory / "pytest.ini").touch()
    script = directory / "script.py"
    script.write_text(textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, "-m", "pytest_chalk", "run", "script.py", *arguments],
        cwd=directory,
        env={
            **{k: v for k, v in os.environ.items() if "CHALK" not in k},
            "PYTHONPATH": str(REPOSITORY),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def printed_json(ran: subprocess.CompletedProcess[str]) -> object:
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])

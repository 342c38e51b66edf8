"""Which judge scored a step."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from pytest_chalk.authoring.step import Step
from pytest_chalk.judges import ExecutableJudge, Judge, RegexJudge
from pytest_chalk.runner.judge_identity import _code_of, judge_identity


class Plain(Step):
    instructions = "x"
    judge = None


class Takes(Judge):
    def __init__(self, *values):
        self.values = values

    def evaluate(self, transcript):
        raise NotImplementedError


class Loud:
    def __repr__(self):
        raise RuntimeError


class LoudText(str):
    __slots__ = ()
    __repr__ = __str__ = Loud.__repr__


def identity(judge):
    return judge_identity(object.__new__(Plain), judge)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Takes(1), Takes(2)),
        (Takes(1), Takes(1.0)),
        (Takes("a", "b"), Takes("ab")),
        (Takes(["a"]), Takes(("a",))),
        (Takes({"a": 1}), Takes({"a": 2})),
        (Takes(Path("a")), Takes(Path("b"))),
        (Takes(Takes(1)), Takes(Takes(2))),
        (RegexJudge([re.compile("a")]), RegexJudge([re.compile("a", re.IGNORECASE)])),
        (ExecutableJudge(["a", "x"]), ExecutableJudge(["b", "x"])),
        (Takes(1) & Takes(2), Takes(1) | Takes(2)),
        (Takes(1) & Takes(2), Takes(2) & Takes(1)),
    ],
)
def test_other_arguments_make_another_judge(one, other):
    assert identity(one) != identity(other)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Takes(1, "a", None, {"b": [2.5, Path("c")]}, {"x", "y", "z"}),
        lambda: RegexJudge([re.compile("a")]) & Takes(1),
        lambda: ExecutableJudge(["a", "x"]),
        lambda: Takes(object(), Loud(), LoudText("x")),
    ],
)
def test_the_same_arguments_make_the_same_judge_and_no_code_of_others_runs(make):
    assert identity(make()) == identity(make())
    assert re.fullmatch("[0-9a-f]{16}", identity(make()))


def test_arguments_that_contain_themselves_end():
    loop = []
    loop += [loop, loop]

    assert identity(Takes(loop)) == identity(Takes(loop))


@pytest.mark.parametrize("name", ["__init__.py", "helper.py", "data/expected.json"])
def test_every_file_of_a_tasks_package_counts(tmp_path, monkeypatch, name):
    package = tmp_path / "made_task"
    (package / "data").mkdir(parents=True)
    for file in ("__init__.py", "helper.py", "data/expected.json"):
        (package / file).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("made_task")
    before = _code_of.__wrapped__("made_task")

    (package / name).write_text("1 + 1\n")
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__/x.pyc").write_text("no code")

    assert _code_of.__wrapped__("made_task") != before
    (package / name).write_text("")
    assert _code_of.__wrapped__("made_task") == before
    del sys.modules["made_task"]


def test_a_module_without_a_file_counts_by_its_name():
    assert _code_of("nowhere.at_all") == "nowhere.at_all"

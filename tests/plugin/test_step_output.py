"""What is printed in a run stands with the step that printed it, however pytest captures."""

from __future__ import annotations

import json

import pytest
from plugin.conftest import Project

LOUD = """
class Loud(Judge):
    def __init__(self, name):
        self.name = name

    def evaluate(self, transcript):
        print(f"{self.name} says this")
        os.write(2, f"{self.name} writes this\\n".encode())
        return Scoring(0 if self.name == "b" else 1, {}, True)

def hook(self):
    print("the hook says this")

One = task("one", step("a", Loud("a")), step("b", Loud("b")), pre_hook=hook)
"""
REPORTS = """
import json

def pytest_runtest_logreport(report):
    if report.when == "call":
        step = getattr(getattr(report, "context", None), "msg", "item")
        with open("seen.jsonl", "a") as opened:
            opened.write(json.dumps([step, report.capstdout, report.capstderr]) + "\\n")
"""


def seen(project: Project) -> dict[str, tuple[str, str]]:
    lines = (project.path / "seen.jsonl").read_text().splitlines()
    return {step: (out, err) for step, out, err in map(json.loads, lines)}


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_each_step_has_its_own_output_and_the_item_what_came_before(project: Project, workers: str):
    project.file("conftest.py", REPORTS)
    project.task("one", LOUD)

    project.run_apart(workers)

    assert seen(project) == {
        "1/2 a": ("a says this\n", "a writes this\n"),
        "2/2 b": ("b says this\n", "b writes this\n"),
        "item": ("the hook says this\n", ""),
    }


@pytest.mark.parametrize("capture", ["sys", "tee-sys"])
def test_what_python_prints_is_kept_where_only_that_is_captured(project: Project, capture: str):
    project.file("conftest.py", REPORTS)
    project.task("one", LOUD)

    project.run_apart(f"--capture={capture}")

    assert {step: out for step, (out, _) in seen(project).items()} == {
        "1/2 a": "a says this\n",
        "2/2 b": "b says this\n",
        "item": "the hook says this\n",
    }


def test_nothing_is_kept_where_nothing_is_captured(project: Project):
    project.file("conftest.py", REPORTS)
    project.task("one", LOUD)

    result = project.run_apart("-s")

    assert set(seen(project).values()) == {("", "")}
    result.stdout.fnmatch_lines(["*the hook says this*", "*a says this*", "*b says this*"])


def test_other_sub_tests_of_the_session_are_captured_as_ever(project: Project):
    project.file("conftest.py", REPORTS)
    project.task("one", LOUD)
    project.file(
        "tasks/test_beside.py",
        """
        def test_beside(subtests):
            with subtests.test("loud"):
                print("said beside")
        """,
    )

    project.run_apart()

    assert seen(project)["loud"] == ("said beside\n", "")


def test_keywords_of_reports_are_names_and_marks_not_attributes_of_the_class(project: Project):
    project.file(
        "conftest.py",
        """
        import json
        from pathlib import Path

        def pytest_runtest_logreport(report):
            Path("keywords.json").write_text(json.dumps(list(report.keywords)))
        """,
    )
    project.task(
        "one",
        """
        import pytest
        One = pytest.mark.chalk(epochs=2)(task("one", step("a", Score(1))))
        """,
    )

    project.run_apart()

    keywords = json.loads((project.path / "keywords.json").read_text())
    assert {"One[oracle-e2]", "chalk", "oracle-e2"} <= set(keywords)
    assert {"steps", "id", "__module__"}.isdisjoint(keywords)

"""Beside other plugins and other people's `tasks/` packages."""

from __future__ import annotations

import html
import json

import pytest
from inner_pytest import plugins
from plugin.conftest import Project, verdicts

CELERY_TASKS = """
from celery import Celery

app = Celery("shop", broker="memory://", backend="cache+memory://")
app.conf.task_always_eager = True

@app.task
def add(x, y):
    return x + y
"""

CELERY_TESTS = """
import tasks
from tasks.mail import send
from tasks.orders import add

def test_add():
    assert add.delay(2, 3).get() == 5

def test_modules_are_the_projects_own():
    assert send.__module__ == "tasks.mail"
    assert tasks.VERSION == 3
"""


def celery_project(project: Project) -> None:
    project.file("tasks/__init__.py", "VERSION = 3\n")
    project.file("tasks/orders/__init__.py", CELERY_TASKS)
    project.file("tasks/mail/__init__.py", "def send(to):\n    return to\n")
    project.file("tasks/mail/test_mail.py", "from tasks.mail import send\n\ndef test_send():\n"
                 "    assert send('a') == 'a'\n")  # fmt: skip
    project.file("tests/test_orders.py", CELERY_TESTS)
    project.ini("pythonpath = .")


@pytest.mark.parametrize("options", [(), ("-v",), ("-n2",), ("--collect-only",)])
def test_a_celery_project_collects_and_passes_as_without_the_plugin(
    project: Project, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
):
    celery_project(project)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    plain = plugins("no:chalk", "xdist", "timeout", "no:cacheprovider", "no:randomly")

    without = project.pytester.runpytest_subprocess(*plain, *options)
    with_plugin = project.run_apart(*options)

    assert with_plugin.ret == without.ret == 0
    assert with_plugin.parseoutcomes() == without.parseoutcomes()
    own = ("chalk", "plugins:", "generated xml", "rootdir", "created")

    def lines(result: pytest.RunResult) -> list[str]:
        kept = [line for line in result.stdout.lines if not any(word in line for word in own)]
        return sorted(line.partition(" in ")[0] for line in kept)

    if "-n2" not in options:
        assert lines(with_plugin) == lines(without)
    assert not (project.path / ".chalk").exists()


MIXED = """
Good = task("good", step("a", Score(1)), step("b", Score(0.5)))
Poor = task("poor", step("a", Score(0)))
Broken = task("broken", step("a", Raises(RuntimeError("x"))))
"""
NEEDED = {"html": ("-p", "html_fixtures", "-p", "metadata")}
MIXED_OUTCOMES = {"good": "passed", "poor": "failed", "broken": "error"}


@pytest.mark.parametrize(
    ("plugin", "options"),
    [
        ("asyncio", ["-o", "asyncio_mode=auto"]),
        ("randomly", []),
        ("rerunfailures", []),
        ("html", ["--html=out.html", "--self-contained-html"]),
        ("allure_pytest", ["--alluredir=allure"]),
        ("pytest_cov", ["--cov=tasks", "--cov-report=xml"]),
        ("pytest_reportlog", ["--report-log=log.jsonl"]),
    ],
)
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_tasks_run_beside_the_plugin(
    project: Project, plugin: str, options: list[str], workers: str
):
    project.task("one", MIXED)

    result = project.run_apart(*NEEDED.get(plugin, ()), "-p", plugin, *options, workers)

    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert result.ret == 1, result.stdout.str()
    assert {name: run["outcome"] for name, run in project.runs().items()} == MIXED_OUTCOMES
    assert verdicts(project.junit())["tasks.one::Broken[oracle]"] == "error"


def test_reportlog_has_the_scores(project: Project):
    project.task("one", MIXED)

    project.run_apart("-p", "pytest_reportlog", "--report-log=log.jsonl")

    entries = [json.loads(line) for line in (project.path / "log.jsonl").read_text().splitlines()]
    scores = [e["chalk_step"]["score"] for e in entries if "chalk_step" in e]
    assert scores == [1.0, 0.5, 0.0, None]


def test_the_html_report_has_a_column_of_scores(project: Project):
    project.task("one", MIXED)

    project.run_apart(*NEEDED["html"], "-p", "html", "--html=out.html", "--self-contained-html")

    page = (project.path / "out.html").read_text()
    blob = json.loads(html.unescape(page.partition('data-jsonblob="')[2].partition('"')[0]))
    cells = {
        name.rpartition("::")[2]: [row["resultsTableRow"][2] for row in rows]
        for name, rows in blob["tests"].items()
    }
    assert ">Score<" in page
    assert cells == {
        "Good[oracle]": ['<td class="col-score">0.50</td>'],
        "Poor[oracle]": ['<td class="col-score">0.00</td>'],
        "Broken[oracle]": ['<td class="col-score">error</td>'],
    }


FLAKY = """
class Flaky(Judge):
    def evaluate(self, transcript):
        count = Path("count.txt")
        tries = int(count.read_text()) if count.exists() else 0
        count.write_text(str(tries + 1))
        return Scoring(float(tries >= 1), {"try": tries + 1}, tries >= 1)

One = task("one", step("first", Score(0.9)), step("flaky", Flaky()))
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_under_reruns_the_last_attempt_counts_and_all_are_recorded(project: Project, workers: str):
    project.task("one", FLAKY)

    result = project.run_apart("-p", "rerunfailures", "--reruns=2", workers)

    assert result.ret == 0, result.stdout.str()
    assert result.parseoutcomes()["rerun"] == 1
    runs = [entry["record"] for entry in project.journal() if entry["type"] == "run"]
    assert [(run["attempt"], run["outcome"]) for run in runs] == [(1, "failed"), (2, "passed")]
    assert runs[0]["transcript"] != runs[1]["transcript"]
    assert verdicts(project.junit()) == {
        "tasks.one::One[oracle]": "passed",
        "tasks.one.One[oracle]::1-first": "passed",
        "tasks.one.One[oracle]::2-flaky": "passed",
    }
    result.stdout.fnmatch_lines(["mean 1.000 over 1 scored of 1*"])


def test_last_failed_selects_the_failed_task(project: Project):
    project.task("one", MIXED)

    command = ("-p", "chalk", "-p", "xdist", "-p", "timeout")
    project.pytester.runpytest_subprocess(*command)
    again = project.pytester.runpytest_subprocess(*command, "--lf", "--collect-only", "-q")

    again.stdout.fnmatch_lines(["*Poor?oracle?", "*Broken?oracle?"])
    again.stdout.no_fnmatch_line("*Good*")


@pytest.mark.parametrize(
    "name", ["capture", "logging", "junitxml", "terminal", "cacheprovider", "debugging"]
)
def test_tasks_run_without_a_plugin_of_pytests_own(project: Project, name: str):
    project.task("one", 'One = task("one", step("a", Score(1)))')
    project.file("test_plain.py", "def test_plain(): pass\n")
    arguments = plugins("chalk", f"no:{name}")

    result = project.pytester.runpytest_subprocess(*arguments, timeout=60)

    assert result.ret == 0, result.stderr.str()
    assert project.run_record()["outcome"] == "passed"

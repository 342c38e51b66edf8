"""Ctrl-C and SIGTERM: reports are written, and nobody is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from plugin.conftest import ALWAYS, Project, verdicts

SECONDS = f"307.{os.getpid()}"
"""Tells our sleepers from those of another run of these tests on the same host."""

SLOW = """
One = task("one", step("quick", Score(1)), step("slow", Score(1),
    solution="echo $$ > started; setsid sleep SECONDS & nohup sleep SECONDS & sleep SECONDS",
    post_hook=lambda self: Path("post_hook.txt").write_text("ran")))
Two = task("two", step("quick", Score(1)))
""".replace("SECONDS", SECONDS)


def sleepers() -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["cmdline"] == ["sleep", SECONDS]
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def wait_until(condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_within_5_s_and_writes_the_reports(
    project: Project, workers: str, signum: signal.Signals
):
    project.task("one", SLOW)
    command = [sys.executable, "-m", "pytest", *ALWAYS, workers]
    session = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=project.path)
    assert wait_until(lambda: len(sleepers()) == 3, 30)

    session.send_signal(signum)
    started = time.monotonic()
    output, _ = session.communicate(timeout=30)

    assert time.monotonic() - started < 5
    assert wait_until(lambda: not sleepers(), 5 - (time.monotonic() - started))
    assert session.returncode == 2, output
    runs = project.runs()
    assert (runs["one"]["outcome"], runs["one"]["score"]) == ("not_run", None)
    assert [step["score"] for step in runs["one"]["steps"]][:1] == [1.0]
    cases = verdicts(project.junit())
    assert cases["tasks.one::One[oracle]"] == "error"
    assert "one" in output
    assert (project.path / "post_hook.txt").read_text() == "ran"


def test_what_an_interrupt_kept_from_beginning_says_how_to_run_it(project: Project):
    project.task(
        "one",
        """
        def interrupt():
            raise KeyboardInterrupt

        One = task("one", step("stops", Does(interrupt)))
        Two = task("two", step("quick", Score(1)))
        """,
    )

    result = project.run_apart()

    assert result.ret == 2
    two = project.runs()["two"]
    assert (two["outcome"], two["read_with"]) == ("not_run", "")
    assert two["run_again_with"].startswith("pytest 'tasks/one/__init__.py::Two[oracle]'")


def test_a_killed_pytest_takes_its_student_along(project: Project):
    project.task("one", SLOW)
    command = [sys.executable, "-m", "pytest", *ALWAYS]
    session = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=project.path)
    assert wait_until(lambda: len(sleepers()) == 3, 30)

    os.kill(session.pid, signal.SIGKILL)
    session.wait()

    assert wait_until(lambda: not sleepers(), 5)
    assert [step["record"]["score"] for step in project.journal() if step["type"] == "step"] == [
        1.0
    ]


TIMEOUT = """
import pytest

@pytest.mark.timeout(1.5)
class One(task("base", step("quick", Score(0.5)), step("slow", Score(1), solution=
        "setsid sleep SECONDS & sleep SECONDS"), step("never", Score(1)))):
    id = "one"

Two = task("two", step("quick", Score(1)))
""".replace("SECONDS", SECONDS)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_pytest_timeout_inside_a_step_is_an_error_that_ends_the_task(
    project: Project, workers: str
):
    project.task("one", TIMEOUT)

    result = project.run_apart(workers)

    assert result.ret == 1
    runs = project.runs()
    assert (runs["one"]["outcome"], runs["two"]["outcome"]) == ("error", "passed")
    assert [step["outcome"] for step in runs["one"]["steps"]] == ["passed", "error"]
    assert runs["one"]["not_reached"] == ["never"]
    assert "Timeout" in runs["one"]["reason"]
    assert not sleepers()
    assert verdicts(project.junit())["tasks.one.One[oracle]::2-slow"] == "error"


@pytest.mark.parametrize(("workers", "warned"), [("-n0", True), ("-n2", False)])
def test_the_thread_method_without_workers_is_warned_about(
    project: Project, workers: str, warned: bool
):
    project.task("one", 'One = task("one", step("work", Score(1)))')

    result = project.run_apart(workers, "--timeout=60", "--timeout-method=thread")

    assert ("WARNING timeout_method=thread" in result.stdout.str()) is warned


def test_exitfirst_stops_after_the_first_failed_task_and_reports_the_rest_as_not_run(
    project: Project,
):
    project.task("a", 'A = task("a", step("work", Score(0)))')
    project.task("b", 'B = task("b", step("work", Score(1)))')

    result = project.run("-x")

    assert result.ret in {1, 2}
    outcomes = {run["nodeid"]: (run["outcome"], run["model"]) for run in project.runs().values()}
    assert outcomes == {
        "tasks/a/__init__.py::A[oracle]": ("failed", "oracle"),
        "tasks/b/__init__.py::B[oracle]": ("not_run", "oracle"),
    }
    assert Path(project.path / "report.xml").is_file()

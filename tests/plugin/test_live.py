"""Running tasks are shown while they run: on a terminal, and in a log."""

from __future__ import annotations

import itertools
import os
import pty
import re
import subprocess
import sys

import pytest
from plugin.conftest import ALWAYS, Project, verdicts

WAITING = r"""
from pytest_chalk.models import ScriptedModel, call

def wait():
    time.sleep(float(os.environ["WAIT_S"]))
    return Scoring(1, {}, True)

Slow = task("slow", step("a", Score(1), solution=["one"]),
    step("b", Does(wait), solution=[call("bash", command="true"), "done"]))
"""
HOW_FAR = r"\d\.\ds, step 2/2, turn 3"


class Terminal:
    """As much of a terminal as pytest and the live line use, and what its lines ever held."""

    def __init__(self) -> None:
        self.lines, self.row, self.column = [""], 0, 0
        self.seen: list[str] = []

    def feed(self, text: str) -> None:
        for part in re.findall(r"\x1b\[[\d;]*[A-Za-z]|[\r\n]|[^\x1b\r\n]+", text):
            if part == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif part == "\r":
                self.column = 0
            elif part.startswith("\x1b"):
                self._obey(part[-1], part[2:-1])
            else:
                line = self.lines[self.row].ljust(self.column)
                end = self.column + len(part)
                self.lines[self.row] = line[: self.column] + part + line[end:]
                self.column = end
                self.seen.append(self.lines[self.row])

    def _obey(self, letter: str, number: str) -> None:
        if letter == "K":
            self.lines[self.row] = ""
        elif letter == "A":
            self.row -= int(number or 1)
        elif letter == "C":
            self.column += int(number or 1)
        else:
            assert letter == "m", letter

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


def on_a_terminal(project: Project, *arguments: str) -> Terminal:
    """Run pytest with a pseudo-terminal as its output."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pytest", *ALWAYS, *arguments]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        command, cwd=project.path, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        raw = b""
        try:
            while some := os.read(ours, 65_536):
                raw += some
        except OSError:  # how Linux says that nobody has the other end any more
            pass
        process.wait()
    os.close(ours)
    terminal = Terminal()
    terminal.feed(raw.decode())
    return terminal


def plain(text: str) -> list[str]:
    """Return what a session printed, without what differs from one to the next."""
    kept = re.sub(
        r"\d+\.\d+s|\d{8}T\S+|=+|gw\d|\[ *\d+%\]|.*workers.*", "", text.partition("to make")[2]
    )
    return sorted({line.rstrip() for line in kept.splitlines() if line.strip()})


@pytest.fixture
def slow(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.task("one", WAITING)
    project.file("test_plain.py", "def test_plain(): pass\n")
    monkeypatch.setenv("WAIT_S", "1.5")
    return project


@pytest.mark.parametrize("arguments", [("-n0",), ("-n2", "-v"), ("-n0", "-q")])
def test_a_terminal_shows_what_runs_and_keeps_nothing_of_it(
    slow: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
):
    watched = on_a_terminal(slow, *arguments)
    monkeypatch.setenv("WAIT_S", "0")
    alone = on_a_terminal(slow, *arguments, "--chalk-progress=off")

    shown = rf"1 running \| Slow\[oracle\] {HOW_FAR}"
    assert any(re.fullmatch(shown, line) for line in watched.seen), watched.text
    assert "running |" not in watched.text
    assert plain(watched.text) == plain(alone.text)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_log_has_a_line_of_each_long_run_from_time_to_time(slow: Project, workers: str):
    result = slow.run_apart(workers, "--chalk-progress=0.6", "-v")

    lines = [line for line in result.stdout.lines if "chalk: tasks/one" in line]
    line = r"chalk: tasks/one/__init__\.py::Slow\[oracle\] (\d+\.\d)s, step \d/2(?:, turn \d)?"
    at_s = [float(found[1]) for found in (re.fullmatch(line, text) for text in lines) if found]
    assert len(at_s) == len(lines) >= 1
    assert all(later - earlier >= 0.5 for earlier, later in itertools.pairwise([0.0, *at_s]))
    assert result.ret == 0
    assert len(re.findall(r"\bPASSED 1\.00", result.stdout.str())) == 1
    assert set(verdicts(slow.junit()).values()) == {"passed"}
    assert not list(slow.path.glob(".chalk/sessions/*/running"))


def test_a_quiet_log_and_one_of_short_runs_have_none(slow: Project):
    quiet = slow.run_apart("--chalk-progress=0.3", "-q")
    short = slow.run_apart()

    assert "chalk: tasks" not in quiet.stdout.str()
    assert "chalk: tasks" not in short.stdout.str()


SESSIONS = """
import os
import pytest

for _ in range(3):
    status = pytest.main(ARGUMENTS)
    print("SESSION", int(status), len(os.listdir("/dev/fd")))
"""


def test_sessions_in_one_process_leave_no_file_open(slow: Project, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WAIT_S", "0")
    script = slow.file("sessions.py", SESSIONS.replace("ARGUMENTS", repr([*ALWAYS, "tasks"])))

    result = slow.pytester.runpython(script)

    sessions = re.findall(r"SESSION (\d+) (\d+)", result.stdout.str())
    assert [status for status, _ in sessions] == ["0", "0", "0"]
    _, second, third = [int(files) for _, files in sessions]  # some are opened but once
    assert second == third


def test_the_interval_is_seconds_or_off(project: Project):
    project.task("one", 'One = task("one", step("a", Score(1)))')

    result = project.run("--chalk-progress=often")

    assert result.ret == 4
    message = "'often' cannot be used. Give seconds as a number above 0, or off"
    assert message in result.stderr.str()


def test_no_thread_looks_where_there_are_no_tasks_to_run(slow: Project):
    slow.file(
        "conftest.py",
        """
        import threading

        def pytest_unconfigure():
            assert not [t for t in threading.enumerate() if t.name == "chalk-live"]

        def pytest_runtest_logfinish():
            names = [thread.name for thread in threading.enumerate()]
            print("\\nTHREADS", "chalk-live" in names)
        """,
    )

    without = slow.run_apart("test_plain.py", "-s", "--chalk-progress=9")
    with_tasks = slow.run_apart("-s", "--chalk-progress=9")

    assert without.ret == with_tasks.ret == 0  # else a thread was left at the end
    assert "THREADS False" in without.stdout.str()
    assert "THREADS True" in with_tasks.stdout.str()

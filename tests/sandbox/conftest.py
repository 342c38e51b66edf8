from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pytest_chalk.sandbox import (
    Box,
    CurrentRun,
    acquire_slot,
    enter_run,
    isolation,
    release_slot,
    slots,
)
from pytest_chalk.sandbox import run_as_student as run_command
from pytest_chalk.sandbox.slots import BASE_VARIABLE, SLOT_VARIABLE

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def public_folder():
    """A folder that other users can pass through; pytest's own are closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="chalk-test-")).resolve()
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


LEAVE_OUT_ISOLATED = """
from pytest_chalk.sandbox import isolation
isolation.isolated_obstacle = lambda: "left out by a test"
"""


@pytest.fixture
def level():
    """The best level that a test's slots may have; a test file may override it."""
    return "uid"


@pytest.fixture
def slot_base(public_folder, monkeypatch, level):
    """Slots of the test's own, also where this pytest process has one already."""
    base = public_folder / "base"
    monkeypatch.setenv(BASE_VARIABLE, str(base))
    monkeypatch.delenv(SLOT_VARIABLE, raising=False)
    monkeypatch.setattr(slots, "_held", [])
    monkeypatch.setattr(slots, "_claims", [])
    if level != "isolated":
        monkeypatch.setattr(isolation, "isolated_obstacle", lambda: "left out by a test")
    return base


@pytest.fixture
def slot(slot_base):
    yield acquire_slot()
    release_slot()


@pytest.fixture
def box(slot):
    box = Box(slot)
    yield box
    box.close()


@pytest.fixture
def current_run(box, tmp_path):
    with enter_run(CurrentRun(box, tmp_path / "artifacts", tmp_path / "submissions")) as run:
        yield run


@pytest.fixture
def sh(box):
    """Runs a shell script as the student."""

    def run(script, *, time_limit_s=10.0, max_output_bytes=100_000, stdin=b""):
        return run_command(
            box,
            ["sh", "-c", script],
            time_limit_s=time_limit_s,
            max_output_bytes=max_output_bytes,
            stdin=stdin,
        )

    return run


@pytest.fixture
def student_python(box):
    """The path of a Python that the student can run."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            completed = run_command(
                box, [candidate, "-c", ""], time_limit_s=20, max_output_bytes=1000
            )
        except OSError:
            continue
        if completed.exit_code == 0:
            return candidate
    return pytest.skip("no Python here that a student can run")


@pytest.fixture
def harness(slot_base, level):
    """Starts a Python process of ours that has the package and the test's slots."""
    started = []

    def start(script, **env):
        process = subprocess.Popen(
            [sys.executable, "-c", (LEAVE_OUT_ISOLATED if level != "isolated" else "") + script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)]),
                **env,
            },
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def is_running(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rsplit(")", 1)[1].split()[0] not in "ZX"


@pytest.fixture
def wait_until_gone():
    """Waits until none of the processes runs; returns those that still do."""

    def wait(pids, timeout_s=5.0):
        end = time.monotonic() + timeout_s
        while (left := [pid for pid in pids if is_running(pid)]) and time.monotonic() < end:
            time.sleep(0.01)
        return left

    return wait

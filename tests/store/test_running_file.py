"""What runs just now, in files that their processes overwrite."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.store.running_file import RunningFile, read_running

HOLDS = """
import sys
from pathlib import Path
from pytest_chalk.store.running_file import RunningFile

RunningFile(Path(sys.argv[1])).begin("x::Y", "/t.jsonl")
print("begun", flush=True)
sys.stdin.read()
"""


def test_what_was_begun_runs_until_it_ends(tmp_path: Path):
    file = RunningFile(tmp_path / "running/main")

    file.begin("tasks/one/__init__.py::One[a]", "/runs/one.jsonl")
    (running,) = read_running(tmp_path / "running")

    assert running.nodeid == "tasks/one/__init__.py::One[a]"
    assert running.transcript == Path("/runs/one.jsonl")
    assert 0 <= time.monotonic() - running.since_s < 60

    file.end()

    assert read_running(tmp_path / "running") == []


def test_a_run_is_under_way_until_it_is_left_in_whatever_way(tmp_path: Path):
    file, seen = RunningFile(tmp_path / "main"), []

    def run():
        with file.during("a::B", Path("/runs/b.jsonl")):
            seen.extend(read_running(tmp_path))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()

    assert [(run.nodeid, run.transcript) for run in seen] == [("a::B", Path("/runs/b.jsonl"))]
    assert read_running(tmp_path) == []


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_file_that_is_closed_is_open_no_more_and_runs_nothing(tmp_path: Path):
    before = open_files()
    file = RunningFile(tmp_path / "main")
    file.begin("a::B")
    assert open_files() == before + 1

    file.close()
    file.begin("a::C")

    assert open_files() == before
    assert read_running(tmp_path) == []


def test_a_file_that_cannot_be_locked_is_not_kept_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    before = open_files()

    RunningFile(tmp_path / "main").begin("a::B")

    assert open_files() == before


def test_a_shorter_text_leaves_nothing_of_a_longer_one(tmp_path: Path):
    file = RunningFile(tmp_path / "main")

    file.begin("a-very-long-name" * 10, "/a/long/path")
    file.begin("short")

    (running,) = read_running(tmp_path)
    assert (running.nodeid, running.transcript) == ("short", None)


def test_each_process_has_its_own_and_one_that_died_runs_nothing(tmp_path: Path):
    RunningFile(tmp_path / "gw0").begin("a::B")
    command = [sys.executable, "-c", HOLDS, str(tmp_path / "gw1")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        both = [running.nodeid for running in read_running(tmp_path)]
        process.kill()
        process.wait()

    assert both == ["a::B", "x::Y"]
    assert [running.nodeid for running in read_running(tmp_path)] == ["a::B"]


def test_where_there_is_no_directory_nothing_runs(tmp_path: Path):
    assert read_running(tmp_path / "missing") == []


def test_a_file_that_cannot_be_written_disturbs_nobody(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    file = RunningFile(tmp_path / "taken/main")

    file.begin("a::B")
    file.end()


def test_a_file_that_is_being_written_is_passed_over(tmp_path: Path):
    file = RunningFile(tmp_path / "main")
    file.begin("a::B")
    for text in (b"", b"12", b"12\n/t", b"no number\n/t\na::B\n", b"\xff\n\n\n"):
        os.truncate(tmp_path / "main", 0)
        (tmp_path / "main").write_bytes(text)

        assert read_running(tmp_path) == []


@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))
def test_any_node_id_comes_back(tmp_path_factory, nodeid: str):
    directory = tmp_path_factory.mktemp("running")

    file = RunningFile(directory / "main")

    file.begin(nodeid)

    assert [running.nodeid for running in read_running(directory)] == [nodeid]
    file.close()

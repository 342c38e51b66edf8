from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pytest_chalk.sandbox import run_trusted


@pytest.fixture
def score(tmp_path):
    def run(script, *, time_limit_s=10.0, max_output_bytes=10_000):
        return run_trusted(
            ["/bin/sh", "-c", script],
            cwd=tmp_path,
            env={b"PATH": b"/usr/bin:/bin", b"GREETING": b"hello"},
            time_limit_s=time_limit_s,
            max_output_bytes=max_output_bytes,
        )

    return run


def test_a_script_runs_in_its_folder_with_its_environment_and_no_input(score, tmp_path):
    completed = score("pwd; echo $GREETING; wc -c; exit 2")

    assert completed.stdout.decode().split() == [str(tmp_path), "hello", "0"]
    assert (completed.exit_code, completed.timed_out) == (2, False)


def test_scoring_ends_when_the_script_ends_whoever_holds_its_pipes(score, wait_until_gone):
    started = time.monotonic()

    completed = score("sleep 60 & echo $!")

    assert time.monotonic() - started < 1.5
    assert wait_until_gone([int(completed.stdout)]) == []


def test_what_a_script_says_last_is_read_after_a_long_silence_whoever_holds_its_pipes(score):
    completed = score("sleep 60 & sleep 0.5; echo late; echo too >&2")

    assert (completed.stdout, completed.stderr) == (b"late\n", b"too\n")


def test_at_the_time_limit_the_scripts_group_is_killed(score, wait_until_gone):
    completed = score("echo $$; sleep 60 & echo $!; trap '' TERM; wait", time_limit_s=0.3)

    assert (completed.timed_out, completed.exit_code) == (True, -9)
    assert wait_until_gone(map(int, completed.stdout.split())) == []


def test_an_interrupt_kills_the_script_and_goes_on_up(score, tmp_path, wait_until_gone):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)

    with pytest.raises(KeyboardInterrupt):
        score("echo $$ >pid; sleep 60")

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert wait_until_gone([int((tmp_path / "pid").read_text())]) == []


def test_floods_of_output_are_bounded(score):
    completed = score("head -c 30000000 /dev/zero; echo end >&2", max_output_bytes=100)

    assert completed.truncated
    assert len(completed.stdout) < 200
    assert completed.stderr == b"end\n"


def test_a_missing_script_is_the_callers_to_explain(tmp_path):
    with pytest.raises(FileNotFoundError):
        run_trusted(
            [str(tmp_path / "none")], cwd=tmp_path, env={}, time_limit_s=1, max_output_bytes=10
        )


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells who is left")

LEAVE = {
    "a session of its own": "setsid sleep 60 & echo $!",
    "a daemon": "(setsid sh -c 'sleep 60 & echo $!' &)",
    "a daemon without variables": "(setsid env -i /bin/sh -c 'echo $$; exec sleep 60' &)",
    "daemons of daemons": """
        cat >inner <<'END'
        echo $$; setsid sleep 60 & sleep 60
END
        (setsid sh -c 'echo $$; setsid sh inner & sleep 60' &)
        """,
    "deaf to SIGTERM": """(setsid sh -c 'trap "" TERM HUP; echo $$; sleep 60; sleep 60' &)""",
    "dead before the script": "(setsid sh -c 'echo $$' &)",
}


def zombies():
    lists = [p.joinpath("children").read_text() for p in Path("/proc/self/task").iterdir()]
    pids = " ".join(lists).split()
    return [pid for pid in pids if ") Z " in Path(f"/proc/{pid}/stat").read_text()]


@ON_LINUX
@pytest.mark.parametrize("script", LEAVE.values(), ids=LEAVE)
def test_what_left_the_scripts_group_is_killed_and_reaped(score, wait_until_gone, script):
    completed = score(f"{script}\nsleep 0.2")

    pids = [int(pid) for pid in completed.stdout.split()]
    assert pids
    assert wait_until_gone(pids) == []
    assert zombies() == []
    assert completed.survivors == 0


@ON_LINUX
def test_at_the_time_limit_what_left_the_group_is_killed_too(score, wait_until_gone):
    completed = score("setsid sleep 60 & echo $!; sleep 60", time_limit_s=0.3)

    assert completed.timed_out
    assert wait_until_gone([int(completed.stdout)]) == []


@ON_LINUX
def test_processes_that_go_on_forking_are_chased_to_the_last(score):
    sleep = f"sleep 61.{os.getpid()}"  # like nobody else's
    loop = f"i=0; while [ $i -lt 150 ]; do i=$((i+1)); setsid {sleep} & done"

    completed = score(f"(setsid sh -c '{loop}' &); sleep 0.05")

    assert completed.survivors == 0
    found = subprocess.run(["pgrep", "-f", sleep], capture_output=True, check=False)
    assert found.stdout == b""


@ON_LINUX
def test_children_of_others_live_on(score):
    before = subprocess.Popen(["sleep", "60"])
    started = []
    thread = threading.Thread(
        target=lambda: (time.sleep(0.1), started.append(subprocess.Popen(["sleep", "60"])))
    )
    thread.start()

    score("setsid sleep 60 & sleep 0.4")

    thread.join()
    assert [child.poll() for child in (before, *started)] == [None, None]
    for child in (before, *started):
        child.kill()
        child.wait()


@ON_LINUX
def test_scripts_that_run_at_once_leave_each_other_alone(score):
    outputs = {}

    def run(number):
        outputs[number] = score(f"setsid sleep 60 & sleep 0.{number}; kill -0 $! && echo alive")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [outputs[number].stdout for number in range(1, 6)] == [b"alive\n"] * 5
    assert zombies() == []


@ON_LINUX
def test_orphans_of_others_are_the_systems_again_afterwards(score):
    score("true")

    started = ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"]
    orphan = int(subprocess.run(started, capture_output=True, check=True).stdout)

    parent = Path(f"/proc/{orphan}/stat").read_text().rsplit(")", 1)[1].split()[1]
    os.kill(orphan, signal.SIGKILL)
    assert int(parent) != os.getpid()

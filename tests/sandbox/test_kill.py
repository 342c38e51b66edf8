from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time

import pytest

from pytest_chalk.sandbox import Command, clock_s
from pytest_chalk.sandbox.process_table import kill_uid, living_of_uid
from pytest_chalk.sandbox.supervisor import SAME_UID, Supervisor

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the student a uid")

COMET = """
import os, time
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    with open("data/alive", "a") as beat:
        beat.write(".")
"""

FORK_BOMB = """
import os, resource, time
resource.setrlimit(resource.RLIMIT_NPROC, (150, 150))
end = time.monotonic() + 20
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        time.sleep(0.001)
"""

LEADERLESS_THREAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(20,)).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60, 0)  # exit, not exit_group: the leader becomes a zombie
"""


def launch(box, *argv):
    return box.launch(Command(argv))


def living(box):
    return living_of_uid([box.slot.student_uid])


def is_beating(box):
    """A list of /proc can miss a comet; what it writes cannot be missed."""
    alive = box.paths.data_dir / "alive"
    before = alive.stat().st_size
    time.sleep(0.2)
    return alive.stat().st_size != before


def wait_for_many(box, count):
    end = time.monotonic() + 5
    while len(living(box)) < count and time.monotonic() < end:
        time.sleep(0.01)


def test_a_killed_command_reports_its_signal(box):
    process = launch(box, "sleep", "60")

    box.kill_processes()

    assert process.wait(1) == -9


class DyingUnseen(Supervisor):
    """Its one child dies after the reaping and before the look at who is alive."""

    def _strike(self):
        pass

    def _living(self):
        for pid in self._launch_ids:
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return []


def test_the_end_of_what_died_unseen_is_told_before_the_kill_is_answered():
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    with ours, theirs, subprocess.Popen(["sleep", "60"]) as process:
        supervisor = DyingUnseen(theirs, os.getuid(), os.getuid())
        supervisor._launch_ids[process.pid] = 7

        survivors = supervisor.kill_cohort(5)

        process.returncode = -9  # reaped by the supervisor
        assert survivors == []
        assert json.loads(ours.recv(4096)) == {"exit": 7, "status": -9}


def test_an_idle_supervisor_looks_at_nobodys_memory():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        supervisor = Supervisor(theirs, SAME_UID, SAME_UID)
        supervisor.limit_memory({"memory": 1, "folders": []})
        before = supervisor.is_watching
        supervisor._fds = [os.dup(0)]
        request = {"id": 1, "argv": ["/bin/true"], "env": {}, "cwd": "/", "targets": [0]}
        supervisor._launch({**request, "processes": None, "cpus": None})
        while_it_may_run = supervisor.is_watching

        supervisor.kill_cohort(5)

    assert (before, while_it_may_run, supervisor.is_watching) == (False, True, False)


@root_only
def test_a_double_forked_daemon_in_its_own_session_is_killed(box, sh, wait_until_gone):
    pid = int(sh("(setsid sh -c 'echo $$; exec sleep 60' &)", time_limit_s=5).stdout)

    box.kill_processes()

    assert wait_until_gone([pid], 0.0) == []


@pytest.mark.parametrize(
    "script", ["trap '' TERM HUP INT; echo ready; sleep 60", "echo ready; kill -STOP $$"]
)
def test_neither_ignoring_signals_nor_being_stopped_helps(box, script):
    process = launch(box, "sh", "-c", script)
    time.sleep(0.1)

    box.kill_processes()

    assert process.wait(1) == -9


@root_only
def test_a_process_that_hops_from_pid_to_pid_is_caught(box, student_python):
    launch(box, student_python, "-c", COMET)
    time.sleep(0.2)
    assert is_beating(box)

    box.kill_processes()

    assert not is_beating(box)


@root_only
def test_a_fork_bomb_is_killed_and_the_student_can_run_again(box, sh, student_python):
    launch(box, student_python, "-c", FORK_BOMB)
    wait_for_many(box, 100)

    started = time.monotonic()
    box.kill_processes()

    assert living(box) == []
    assert time.monotonic() - started < 5
    assert sh("echo again").stdout == b"again\n"


@root_only
def test_a_process_whose_leader_left_is_seen_and_killed(box, student_python):
    if os.uname().machine != "x86_64":
        pytest.skip("the number of the exit call is that of x86_64")
    launch(box, student_python, "-c", LEADERLESS_THREAD)
    time.sleep(0.3)
    assert living(box)

    box.kill_processes()

    assert living(box) == []


@root_only
def test_a_student_that_kills_everything_it_may_hits_only_itself(box, sh):
    launch(box, "sh", "-c", "trap '' TERM; while :; do kill -9 -1; done")
    time.sleep(0.1)

    box.kill_processes()

    assert living(box) == []
    assert sh("echo fine").stdout == b"fine\n"


@root_only
def test_every_process_of_ours_is_out_of_the_question():
    for uids in ((0, 60001), (60001, 0), (os.getuid(), 60001)):
        with pytest.raises(PermissionError, match="refusing"):
            kill_uid(*uids)


def test_killing_where_nothing_was_launched_starts_no_supervisor(box):
    box.kill_processes()

    assert box._link is None


def test_the_current_commands_tree_dies_and_the_shell_and_older_servers_live(box):
    shell = launch(box, "sh", "-c", "sleep 0.3; sleep 61 & (setsid sleep 62 &) ; wait")
    server = launch(box, "sh", "-c", "sleep 0.3; sleep 63 & wait")
    time.sleep(0.1)
    since_s = clock_s()
    time.sleep(0.5)

    killed = box.kill_started_since(since_s, keep=[shell.pid])

    assert killed == 2
    assert server.poll() is None
    assert shell.wait(1) == 0


@root_only
def test_a_command_that_multiplies_too_fast_takes_everything_with_it(box, student_python):
    since_s = clock_s()
    launch(box, student_python, "-c", COMET)
    time.sleep(0.2)
    assert is_beating(box)

    box.kill_started_since(since_s)

    assert not is_beating(box)


@root_only
def test_a_killed_harness_leaves_no_process_of_the_student(harness, wait_until_gone):
    process = harness(
        "import time\n"
        "from pytest_chalk.sandbox import *\n"
        "box = Box(acquire_slot())\n"
        "script = '(setsid sleep 60 &); trap \"\" TERM; sleep 60 & wait'\n"
        "box.launch(Command(('sh', '-c', script)))\n"
        "time.sleep(0.3)\n"
        "from pytest_chalk.sandbox.process_table import living_of_uid\n"
        "print(*living_of_uid([box.slot.student_uid]), flush=True)\n"
        "time.sleep(60)\n"
    )
    pids = [int(pid) for pid in process.stdout.readline().split()]

    process.kill()

    assert len(pids) == 3
    assert wait_until_gone(pids) == []

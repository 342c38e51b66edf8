"""The helper that forks supervisors: what it gives them, and what happens when it is killed."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox import Box, Command, fork_server_link, isolation, run_as_student
from pytest_chalk.sandbox.newborn import SAME_UID
from pytest_chalk.sandbox.supervisor_link import (
    MemoryLimit,
    SupervisorLink,
    _retired,
    wait_for_retired,
)
from pytest_chalk.sandbox.supervisor_process import Start

pytestmark = pytest.mark.skipif(
    not fork_server_link.can_fork(), reason="without pidfds each supervisor is a Python of its own"
)
HAS_ISOLATED = os.geteuid() == 0 and not isolation.isolated_obstacle()


@pytest.fixture(params=["isolated", "uid"] if HAS_ISOLATED else ["uid"])
def level(request):
    return request.param


def server_pid():
    return fork_server_link._servers[0]._process.pid


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def echo(box):
    return run_as_student(box, ["echo", "fine"], time_limit_s=9, max_output_bytes=99).stdout


def test_one_helper_forks_the_supervisors_of_all_boxes(slot):
    parents = []
    for _ in range(2):
        box = Box(slot)
        box.launch(Command(("true",)))
        parents.append(parent_of(box._link._process.pid))
        box.close()

    assert parents == [server_pid()] * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into such processes")
def test_a_supervisor_has_nothing_of_the_harness(box, monkeypatch):
    # Of the helper either: whoever held its socket would keep it alive.
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    fork_server_link._close_servers()
    box.launch(Command(("sleep", "60")))
    outer = box._link._process.pid
    inner = [int(pid) for pid in Path(f"/proc/{outer}/task/{outer}/children").read_text().split()]

    for pid in (server_pid(), outer, *inner[: box.slot.has_own_view]):
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        opened = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
        sockets = [name for name in opened if name.startswith("socket:")]
        others = {name.partition(":")[0] for name in opened} - {"socket", "/dev/null", "pipe"}

        assert b"canary" not in environment
        assert len(sockets) <= 1
        assert others == set()


def test_when_the_helper_is_killed_the_box_goes_on_and_the_next_has_a_new_one(slot):
    box = Box(slot)
    child = box.launch(Command(("sleep", "60")))
    old = server_pid()

    os.kill(old, signal.SIGKILL)

    assert echo(box) == b"fine\n"
    assert child.poll() is None
    box.close()
    following = Box(slot)
    assert echo(following) == b"fine\n"
    assert server_pid() != old
    following.close()


def test_a_helper_that_dies_between_two_words_is_replaced(box, monkeypatch):
    fork_server_link._server()
    server = fork_server_link._servers[0]
    # As if it were still running when it was looked at.
    monkeypatch.setattr(fork_server_link._ForkServer, "is_of_use", True)
    server._process.kill()
    server._process.wait()

    assert echo(box) == b"fine\n"
    assert server not in fork_server_link._servers


def test_a_helper_that_is_lost_again_and_again_is_the_machines_fault(box, monkeypatch):
    def lost(*_):
        raise fork_server_link._ServerLostError("it ended")

    monkeypatch.setattr(fork_server_link._ForkServer, "fork", lost)

    with pytest.raises(BoxError, match="lost twice: it ended"):
        box.launch(Command(("true",)))


def test_a_helper_that_is_too_slow_shares_no_socket_with_the_one_that_follows(box, monkeypatch):
    slow = fork_server_link._server()
    os.kill(slow._process.pid, signal.SIGSTOP)
    slow._socket.settimeout(0.1)
    fork, channels, waits = fork_server_link._ForkServer.fork, [], []

    def spied(server, start, channel_fd):
        channels.append(os.fstat(channel_fd).st_ino)
        return fork(server, start, channel_fd)

    monkeypatch.setattr(fork_server_link._ForkServer, "fork", spied)
    monkeypatch.setattr(fork_server_link._ForkServer, "close", lambda _: waits.append(True))

    assert echo(box) == b"fine\n"
    assert len(set(channels)) == 2
    assert (slow._process.returncode, waits) == (-signal.SIGKILL, [])


@pytest.mark.parametrize("error", [BoxError("the disk"), KeyboardInterrupt()])
def test_a_supervisor_that_is_told_nothing_is_ended(monkeypatch, error):
    def failing(*_):
        raise error

    monkeypatch.setattr(SupervisorLink, "_post", failing)
    wait_for_retired()

    with pytest.raises(type(error)):
        SupervisorLink(None, SAME_UID, memory=MemoryLimit(10**9, ()))

    assert len(_retired) == 1
    wait_for_retired()


NO_PIDFD = """
import os, socket, sys
sys.path.insert(0, sys.argv[1])
import fork_server

def refused(pid):
    raise OSError(24, "Too many open files")

os.pidfd_open = refused
control, channel = socket.socketpair()
request = {"own_view": False, "student": -1, "reaper": -1}
print(fork_server._start(control, request, channel.fileno())[0]["failed"])
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child is left")
"""


def test_a_supervisor_that_cannot_be_handed_over_is_ended():
    folder = Path(fork_server_link.FORK_SERVER_FILE).parent
    said = subprocess.run(
        [sys.executable, "-c", NO_PIDFD, str(folder)], capture_output=True, text=True, check=True
    ).stdout

    assert said.splitlines() == ["[Errno 24] Too many open files", "no child is left"]


def test_a_supervisor_that_cannot_be_forked_is_the_machines_fault(box, monkeypatch):
    refused = ({"failed": "Resource temporarily unavailable"}, [])
    monkeypatch.setattr(fork_server_link._ForkServer, "_ask", lambda *_: refused)

    with pytest.raises(BoxError, match=r"cannot be forked: Resource temporarily"):
        box.launch(Command(("true",)))


def test_what_an_interrupt_left_unread_is_nobody_elses_answer(box):
    server = fork_server_link._server()
    server._socket.send(json.dumps({"op": "reap", "pid": 1, "seq": 0}).encode())

    assert echo(box) == b"fine\n"


def test_how_a_supervisor_ended_is_told(box):
    box.launch(Command(("sleep", "60")))
    box._link._process.kill()
    box._link._process.await_end(5)

    with pytest.raises(BoxError, match=r"exit status -9"):
        box.launch(Command(("true",)))


def test_the_helper_ends_with_the_harness_and_its_forks_too(harness, wait_until_gone):
    process = harness(
        "from pytest_chalk.sandbox import *\n"
        "from pytest_chalk.sandbox.fork_server_link import _servers\n"
        "box = Box(acquire_slot())\n"
        "box.launch(Command(('sleep', '60')))\n"
        "print(box._link._process.pid, _servers[0]._process.pid, flush=True)\n"
        "input()\n",
        CHALK_SLOT="",
    )
    pids = list(map(int, process.stdout.readline().split()))

    process.kill()

    assert len(pids) == 2
    assert wait_until_gone(pids, 3) == []


def test_a_harness_that_ends_waits_for_its_helper(harness):
    process = harness(
        "from pytest_chalk.sandbox import *\n"
        "from pytest_chalk.sandbox.fork_server_link import _servers\n"
        "box = Box(acquire_slot())\n"
        "box.launch(Command(('true',))).wait(5)\n"
        "box.close()\n"
        "print(_servers[0]._process.pid, flush=True)\n",
        CHALK_SLOT="",
    )
    said, _ = process.communicate(timeout=20)

    assert process.returncode == 0
    assert not Path(f"/proc/{said.strip()}").exists()


def test_a_fork_of_the_harness_has_a_helper_of_its_own_and_leaves_the_first_alone(harness):
    process = harness(
        "import os, sys\n"
        "from pytest_chalk.sandbox import *\n"
        "from pytest_chalk.sandbox.fork_server_link import _servers\n"
        "echo = lambda box: run_as_student(box, ['echo', '-n', 'fine'], time_limit_s=9,\n"
        "                                  max_output_bytes=99).stdout.decode()\n"
        "box = Box(acquire_slot())\n"
        "echo(box)\n"
        "first = _servers[0]._process.pid\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    print(len(_servers), echo(Box(acquire_slot())), _servers[0]._process.pid != first,\n"
        "          flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
        "box.reset()\n"
        "print(echo(box), _servers[0]._process.pid == first, flush=True)\n",
        CHALK_SLOT="",
    )

    assert process.communicate(timeout=30)[0].split() == ["0", "fine", "True", "fine", "True"]


def test_where_there_are_no_pidfds_each_supervisor_is_a_python_of_its_own(slot, monkeypatch):
    monkeypatch.setattr(fork_server_link, "can_fork", lambda: False)
    box = Box(slot)

    assert echo(box) == b"fine\n"
    pid = box._link._process.pid
    assert parent_of(pid) == os.getpid()
    box.reset()
    box.close()
    assert not Path(f"/proc/{pid}").exists()


def test_a_supervisor_ends_when_whoever_asked_for_it_is_not_there_any_more():
    read_fd, write_fd = os.pipe()  # no socket: the first look at it fails
    os.close(write_fd)
    process = fork_server_link._start(
        Start(own_view=False, student_uid=SAME_UID, reaper_uid=SAME_UID), read_fd
    )
    os.close(read_fd)

    assert process.await_end(5)


def test_a_box_that_was_prepared_is_ready_before_it_is_used(box):
    echo(box)
    box.reset()
    box.prepare()

    # The namespaces are made while nobody waits for them; where there are none, nothing is said.
    ready = select.select([box._link], [], [], 5 if box.slot.has_own_view else 0)[0]

    assert bool(ready) == box.slot.has_own_view
    assert echo(box) == b"fine\n"


def test_a_box_that_was_prepared_and_not_used_is_not_the_next_runs(box):
    box.prepare()
    link = box._link

    box.reset()

    assert box._link is (None if box.slot.has_own_view else link)

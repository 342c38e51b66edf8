from __future__ import annotations

import fcntl
import os
import pwd
import signal
import time
from pathlib import Path

import pytest

from pytest_chalk.errors import RunOptionError
from pytest_chalk.sandbox import (
    Command,
    acquire_slot,
    claim_on_use,
    peek_slot,
    release_slot,
)
from pytest_chalk.sandbox.slots import SLOT_VARIABLE, is_mapped, is_subordinate
from pytest_chalk.sandbox.sysv_ipc import find_ipc_ids, parse_ipc_ids

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the student a uid")

LOCK_FOLDERS = (Path("/run/chalk"), Path("/var/lib/chalk/locks"))

HOLDER = """
import sys
from pytest_chalk.sandbox import acquire_slot
print(acquire_slot().number, flush=True)
sys.stdin.read()
"""


def number_of(process):
    return int(process.stdout.readline())


def can_be_taken(number, harness):
    """Say whether somebody gets that slot; other runs here may be quicker for a while."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        holder = harness(HOLDER, CHALK_SLOT="")
        found = number_of(holder)
        if found == number:
            return True
        if found > number:  # another run has it just now
            holder.kill()
            time.sleep(0.3)
        # A lower one, which became free meanwhile, is kept: the next gets another.
    return False


def test_peeking_says_slot_0_and_touches_nothing(slot_base):
    slot = peek_slot()

    assert (slot.number, slot.locked) == (0, False)
    assert not slot_base.exists()
    assert SLOT_VARIABLE not in os.environ


def test_a_process_acquires_one_slot_and_peeks_at_it(slot):
    assert slot.locked
    assert acquire_slot() is peek_slot() is slot
    assert os.environ[SLOT_VARIABLE] == f"{slot.number}:{os.getpid()}:{slot.level}"


def test_the_paths_of_a_slot_are_below_its_directory(slot, slot_base):
    assert slot.directory == slot_base / "slots" / str(slot.number)
    assert slot.paths.workdir == slot.directory / "workdir"
    assert slot.paths.data_dir == slot.directory / "workdir" / "data"
    assert slot.paths.shared_dir == slot.directory / "workdir" / "shared"


@root_only
def test_the_folders_have_the_owners_and_modes_that_keep_the_student_in(slot):
    def of(path):
        status = path.stat()
        return status.st_uid, status.st_gid, status.st_mode & 0o7777

    uid = slot.student_uid
    assert of(slot.directory.parent) == (0, 0, 0o711)
    assert of(slot.directory) == (0, 0, 0o711)
    assert of(slot.paths.workdir) == (0, uid, 0o1770)
    assert of(slot.paths.data_dir) == (uid, uid, 0o700)
    assert of(slot.paths.shared_dir) == (0, 0, 0o755)


@root_only
def test_students_and_reapers_have_uids_that_belong_to_nobody(slot):
    assert slot.student_uid == 60578 + 2 * slot.number
    assert slot.reaper_uid == slot.student_uid + 1
    assert {slot.student_uid, slot.reaper_uid}.isdisjoint(user.pw_uid for user in pwd.getpwall())


def test_two_processes_never_have_one_slot(slot, harness):
    others = [harness(HOLDER, CHALK_SLOT="") for _ in range(2)]

    numbers = {slot.number, *map(number_of, others)}

    assert len(numbers) == 3


def test_a_slot_is_free_as_soon_as_its_holder_is_killed(harness):
    holder = harness(HOLDER)
    number = number_of(holder)

    holder.kill()
    holder.wait()

    assert can_be_taken(number, harness)


def test_a_fork_of_the_holder_shares_the_slot_but_does_not_hold_it(harness):
    holder = harness(
        "import os, time\n"
        "from pytest_chalk.sandbox import acquire_slot\n"
        "first = acquire_slot()\n"
        "fork = os.fork()\n"
        "if fork == 0:\n"
        "    again = acquire_slot()\n"
        "    print(first.number, again.number == first.number, again.locked, flush=True)\n"
        "    print(os.getpid(), flush=True)\n"
        "time.sleep(60)\n"
    )
    number, is_same, is_locked = holder.stdout.readline().split()
    fork_pid = int(holder.stdout.readline())

    holder.kill()
    holder.wait()

    assert (is_same, is_locked) == ("True", "False")
    assert can_be_taken(int(number), harness)
    os.kill(fork_pid, signal.SIGKILL)


def test_a_child_process_uses_its_parents_slot_without_a_lock(slot, harness):
    child = harness(
        "from pytest_chalk.sandbox import acquire_slot, claim_on_use, peek_slot\n"
        "print(acquire_slot().number, acquire_slot().locked, peek_slot().number, flush=True)\n"
    )

    assert child.stdout.readline().split() == [str(slot.number), "False", str(slot.number)]


@pytest.mark.usefixtures("slot_base")
def test_a_slot_variable_that_no_holder_wrote_is_refused(monkeypatch):
    monkeypatch.setenv(SLOT_VARIABLE, "seven")

    with pytest.raises(RunOptionError, match="seven"):
        acquire_slot()


def test_files_of_a_crashed_run_are_gone_when_the_slot_is_taken_again(slot_base, harness):
    holder = harness(
        "from pytest_chalk.sandbox import *\n"
        "box = Box(acquire_slot())\n"
        "run_as_student(box, ['sh', '-c', 'mkdir -p data/a/b; :>data/a/b/c; :>top'],"
        " time_limit_s=9, max_output_bytes=99)\n"
        "print(box.slot.number, flush=True)\n"
        "input()\n"
    )
    number = number_of(holder)
    holder.kill()
    holder.wait()

    assert can_be_taken(number, harness)
    workdir = slot_base / "slots" / str(number) / "workdir"
    assert sorted(path.name for path in workdir.rglob("*")) == ["data", "shared"]


@root_only
def test_processes_of_a_crashed_run_are_killed_when_the_slot_is_taken(harness, wait_until_gone):
    holder = harness(
        "import os\n"
        "from pytest_chalk.sandbox import acquire_slot\n"
        "slot = acquire_slot()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    os.setsid(); os.setuid(slot.student_uid); os.execlp('sleep', 'sleep', '60')\n"
        "print(slot.number, flush=True); print(pid, flush=True)\n"
        "input()\n"
    )
    number, leftover = number_of(holder), int(holder.stdout.readline())
    time.sleep(0.1)
    holder.kill()
    holder.wait()

    assert can_be_taken(number, harness)
    assert wait_until_gone([leftover], 1) == []


@root_only
@pytest.mark.usefixtures("slot_base", "slot")
def test_a_slot_marked_bad_is_left_out(harness):
    holder = harness(HOLDER, CHALK_SLOT="")
    number = number_of(holder)
    holder.kill()
    holder.wait()
    locks = next(path for path in LOCK_FOLDERS if path.exists())
    mark = locks / f"{number}.bad"
    mark.write_text("for a test\n")
    try:
        assert number_of(harness(HOLDER, CHALK_SLOT="")) != number
    finally:
        mark.unlink()


@root_only
def test_the_lock_is_held_in_a_folder_that_only_root_can_enter(slot):
    locks = next(path for path in LOCK_FOLDERS if path.exists())

    assert locks.stat().st_mode & 0o777 == 0o700
    with (locks / f"{slot.number}.lock").open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_ids_are_mapped_when_they_are_inside_a_range():
    id_map = "         0     100000      1000\n      1000       1000         1\n"

    assert [is_mapped(uid, id_map) for uid in (0, 999, 1000, 1001)] == [True, True, True, False]


def test_a_uid_is_somebodys_when_it_is_in_a_range_of_subordinate_ids():
    table = "# comment\nanna:60000:1000\n1000:100000:65536\nbad:line\n"

    found = [is_subordinate(uid, table) for uid in (59999, 60000, 60999, 61000, 100000)]

    assert found == [False, True, True, False, True]


def test_a_table_of_ipc_objects_is_read_by_its_header():
    table = (
        "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid\n"
        "         0          7   600           0          0     0     0  1001     1     1     1\n"
        "         0          8   600           0          0     0     0     1     1  1001     1\n"
        "         0          9   600           0          0     0     0     1     1     1     1\n"
    )

    assert parse_ipc_ids(table, "msqid", 1001) == [7, 8]


@root_only
def test_shared_memory_of_the_student_does_not_outlive_a_reset(box, student_python):
    script = "import ctypes; print(ctypes.CDLL(None).shmget(0, 4096, 0o1600))"
    process = box.launch(Command((student_python, "-c", script)))
    assert process.wait(10) == 0
    assert find_ipc_ids(box.slot.student_uid)

    box.reset()

    assert find_ipc_ids(box.slot.student_uid) == []


def test_a_process_that_will_run_students_takes_a_slot_at_its_first_look(slot_base):
    claim_on_use()

    slot = peek_slot()

    assert slot.locked
    assert peek_slot() == slot
    release_slot()


def test_a_process_that_will_run_students_drops_the_slot_of_its_parent(slot_base, monkeypatch):
    monkeypatch.setenv("CHALK_SLOT", "7:1:none")

    claim_on_use()

    assert peek_slot().locked
    release_slot()

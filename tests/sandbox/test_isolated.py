"""The level `isolated`: what the student sees of the machine, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_chalk.errors import BoxError, StudentMisbehaviorError
from pytest_chalk.sandbox import (
    Box,
    Command,
    delete_files,
    hide,
    isolation,
    kill_processes,
    run_as_student,
    save_submission,
    try_box,
    view,
)
from pytest_chalk.sandbox.process_table import living_of_uid

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or bool(isolation.isolated_obstacle()),
    reason="this machine cannot have the level; `pytest-chalk check` says why",
)


@pytest.fixture
def level():
    return "isolated"


@pytest.fixture
def python(student_python):
    """Runs Python code as the student."""

    def run(box, code):
        return run_as_student(
            box, [student_python, "-c", code], time_limit_s=10, max_output_bytes=10_000
        )

    return run


def words(completed):
    return completed.stdout.decode().split()


def test_the_box_says_its_level(box):
    assert box.level == "isolated"


def test_every_worker_has_the_workdir_at_the_same_path(box, slot_base, harness):
    script = "from pytest_chalk.sandbox import *\nprint(acquire_slot().paths.workdir, flush=True)\n"
    others = [harness(script, CHALK_SLOT="") for _ in range(2)]

    paths = {Path(other.stdout.readline().strip()) for other in others}

    assert paths == {box.paths.workdir} == {slot_base / "workdir"}


def test_two_workers_do_not_meet_in_their_workdirs(box, harness):
    other = harness(
        "from pytest_chalk.sandbox import *\n"
        "path = acquire_slot().paths.data_dir / 'mine'\n"
        "path.touch()\n"
        "print(path, path.exists(), flush=True)\n"
        "input()\n",
        CHALK_SLOT="",
    )
    path, exists = other.stdout.readline().split()

    assert exists == "True"
    assert Path(path).parent == box.paths.data_dir
    assert not Path(path).exists()


def test_nothing_of_it_is_mounted_outside_of_the_process_that_holds_the_slot(box, slot_base):
    mounts = Path("/proc/1/mountinfo").read_text()

    assert str(slot_base) not in mounts
    assert str(slot_base) in Path("/proc/self/mountinfo").read_text()


def test_a_file_in_the_workdir_is_the_same_for_student_and_harness(box, sh):
    (box.paths.shared_dir / "given").write_text("for you")

    said = sh("cat shared/given; echo for us >data/answer").stdout

    assert said == b"for you"
    assert (box.paths.data_dir / "answer").read_text() == "for us\n"
    assert (box.paths.data_dir / "answer").stat().st_uid == box.slot.student_uid


def test_the_student_sees_no_process_but_its_own(sh):
    seen = words(sh("ls -d /proc/[0-9]* | wc -l; kill -0 1 || echo refused"))

    assert int(seen[0]) < 6
    assert seen[1:] == ["refused"]


def test_the_student_has_a_network_of_its_own(python, box):
    code = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(server.getsockname(), 2)\n"
        "print('loopback')\n"
        "for address in (('192.0.2.1', 9), ('169.254.169.254', 80), ('8.8.8.8', 53)):\n"
        "    try:\n"
        "        socket.create_connection(address, 2)\n"
        "    except OSError as error:\n"
        "        print(error.errno)\n"
    )
    unreachable = "101"

    assert words(python(box, code)) == ["loopback", *[unreachable] * 3]


def test_the_student_cannot_reach_a_service_of_ours_on_localhost(python, box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
        refused = python(box, code)

    assert b"ConnectionRefusedError" in refused.stderr


@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp", "/dev/shm", "/run/lock"])
def test_temporary_folders_are_the_students_own_and_gone_with_the_run(box, sh, folder):
    ours = Path(folder, f"chalk-ours-{os.getpid()}")
    ours.touch()
    try:
        seen = sh(f"ls {folder}; echo x >{folder}/mine && cat {folder}/mine").stdout.decode()
        box.reset()
        after = sh(f"ls -A {folder}/mine 2>&1 || true").stdout.decode()
    finally:
        ours.unlink()

    assert ours.name not in seen
    assert seen.endswith("x\n")
    assert not Path(folder, "mine").exists()
    assert "No such file" in after


def test_nothing_but_its_own_folders_can_be_written_to(sh):
    script = "for d in / /etc /usr /var /home /opt /dev /run /sys; do touch $d/x && echo $d; done"

    assert sh(script + " 2>/dev/null; :").stdout == b""


def test_devices_are_the_harmless_ones(sh):
    names = words(sh("ls /dev"))

    assert set(names) == {
        *("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue"),
        *("fd", "stdin", "stdout", "stderr"),
    }
    assert sh("head -c 3 /dev/zero | wc -c; echo x >/dev/null").stdout == b"3\n"


def test_what_is_hidden_is_not_there_although_its_mode_would_let_the_student_in(box, tmp_path):
    # Outside of /tmp, which is private anyway.
    folder = Path("/opt", f"chalk-test-{os.getpid()}")
    folder.mkdir()
    (folder / "answers").write_text("42")
    try:
        open_before = try_box(box, [folder / "answers", folder]).readable
        hide(folder)
        box.reset()
        hidden = try_box(box, [folder / "answers", folder]).readable
    finally:
        view._hidden.pop(folder)
        (folder / "answers").unlink()
        folder.rmdir()

    assert open_before == (str(folder / "answers"), str(folder))
    assert hidden == ()


def test_a_folder_in_which_nothing_can_be_seen_but_the_students_own_is_not_readable(
    box, public_folder
):
    # So is a home, without root, when the workdir is in it.
    (public_folder / "secret").write_text("42")
    (box.paths.data_dir / "given").write_text("the student's own")

    assert try_box(box, [public_folder]).readable == ()


def test_the_self_test_finds_nothing_to_complain_about(box):
    tested = try_box(box, [Path.home(), box.slot.directory, Path("/run/chalk")])

    assert tested.breaches("isolated") == []
    assert not any((tested.reaches_network, tested.signals_harness, tested.reads_environment))


def test_folders_without_which_no_program_starts_are_never_hidden():
    wanted = [Path("/"), Path("/usr"), Path("/etc"), Path("/opt/x"), Path("/usr/lib/x")]

    assert view.hideable(wanted) == [Path("/opt/x"), Path("/usr/lib/x")]


def test_the_workdir_has_a_size_and_a_number_of_files(box, sh):
    status = os.statvfs(box.paths.workdir)

    assert status.f_files == 1_000_000
    assert status.f_blocks * status.f_frsize <= os.sysconf("SC_PAGE_SIZE") * os.sysconf(
        "SC_PHYS_PAGES"
    )
    assert b"No space left" in sh("fallocate -l 1T data/huge").stderr


def test_a_kill_ends_every_process_and_is_confirmed(box, sh):
    sh("for i in 1 2 3; do setsid sleep 60 & done; (setsid sh -c 'trap \"\" TERM; sleep 60' &)")
    before = living_of_uid([box.slot.student_uid])

    box.kill_processes()

    assert len(before) >= 4
    assert living_of_uid([box.slot.student_uid]) == []
    assert sh("echo usable").stdout == b"usable\n"


def test_a_kill_reports_how_launched_commands_ended(box):
    process = box.launch(Command(("sleep", "60")))

    box.kill_processes()

    assert process.wait(1) == -9


def test_a_process_in_namespaces_of_its_own_is_killed_too(box, sh):
    hidden = "unshare --user --pid --fork --mount-proc sleep 60"
    done = sh(f"{hidden} & sleep 0.3; ps -e -o args | grep -c ^sleep")

    box.kill_processes()

    assert done.stdout.strip() == b"1", done.stderr
    assert living_of_uid([box.slot.student_uid]) == []


def test_what_the_author_started_as_the_student_is_killed_too(box, sh, wait_until_gone):
    sh("true")
    uid = box.slot.student_uid
    outside = subprocess.Popen(["sleep", "60"], user=uid, group=uid, extra_groups=[])

    box.kill_processes()

    assert outside.wait(2) == -9


@pytest.mark.parametrize("victim", ["outer", "inner"])
def test_when_the_supervisor_is_killed_nobody_survives_and_the_machine_is_to_blame(
    box, wait_until_gone, victim
):
    box.launch(Command(("sleep", "60")))
    student = living_of_uid([box.slot.student_uid])
    outer = box._link._process.pid
    inner = int(Path(f"/proc/{outer}/task/{outer}/children").read_text())

    os.kill({"outer": outer, "inner": inner}[victim], signal.SIGKILL)

    assert wait_until_gone([outer, inner, *student], 3) == []
    with pytest.raises(BoxError):
        box.kill_processes()
    box.reset()
    assert run_as_student(box, ["true"], time_limit_s=5, max_output_bytes=9).exit_code == 0


def test_when_the_harness_is_killed_nobody_survives_and_nothing_stays_mounted(
    harness, slot_base, wait_until_gone
):
    process = harness(
        "from pytest_chalk.sandbox import *\n"
        "slot = acquire_slot()\n"
        "box = Box(slot)\n"
        "for _ in range(5): box.launch(Command(('sh', '-c', 'trap \"\" TERM HUP; sleep 60')))\n"
        "(slot.paths.data_dir / 'left').touch()\n"
        "print(slot.student_uid, flush=True)\n"
        "input()\n",
        CHALK_SLOT="",
    )
    uid = int(process.stdout.readline())
    students = living_of_uid([uid])

    process.kill()
    process.wait()

    assert len(students) >= 5
    assert wait_until_gone(students, 3) == []
    assert list((slot_base / "workdir").iterdir()) == []
    assert str(slot_base) not in Path("/proc/1/mountinfo").read_text()


def test_ipc_objects_are_gone_after_files_are_deleted(box, current_run, python):
    make = (
        "import ctypes, os; libc = ctypes.CDLL(None); print(libc.shmget(7, 4096, 0o1600));"
        "open('/dev/mqueue/q', 'w').close()"
    )
    look = "import ctypes, os; print(ctypes.CDLL(None).shmget(7, 0, 0), os.listdir('/dev/mqueue'))"
    assert python(box, make).exit_code == 0
    assert python(box, look).stdout != b"-1 []\n"

    kill_processes(box.slot.student_uid)
    delete_files(box.slot.student_uid)

    assert python(box, look).stdout == b"-1 []\n"


def test_a_submission_may_be_in_the_students_own_tmp(box, current_run, sh, tmp_path):
    sh("mkdir /tmp/out; echo 42 >/tmp/out/answer; ln -s /etc/passwd /tmp/link")
    kill_processes(box.slot.student_uid)
    removed = delete_files(box.slot.student_uid, extend_exclude=["/tmp/out/answer", "/tmp/link"])

    copy = save_submission("/tmp/out/answer", tmp_path / "copy")

    assert copy.read_text() == "42\n"
    assert removed == 0
    with pytest.raises(StudentMisbehaviorError, match="symlink"):
        save_submission("/tmp/link", tmp_path / "link")


def test_a_reset_does_not_look_at_the_machines_tmp(box, sh, monkeypatch):
    roots = []
    removal = "pytest_chalk.sandbox.removal.TreeRemoval.empty"
    monkeypatch.setattr(removal, lambda self, root, **_: roots.append(root))
    sh("touch /tmp/x data/y")

    box.reset()

    assert Path("/tmp") not in roots
    assert sorted(p.name for p in box.paths.workdir.iterdir()) == ["data", "shared"]


def test_a_reset_of_an_unused_box_takes_no_time(box):
    box.reset()
    started = time.perf_counter()
    for _ in range(100):
        box.reset()

    assert (time.perf_counter() - started) / 100 < 0.001
    assert box._link is None


def test_a_child_of_the_holder_finds_the_same_folders(box):
    script = "from pytest_chalk.sandbox import peek_slot\nprint(peek_slot().paths.workdir)\n"

    said = subprocess.check_output([sys.executable, "-c", script], text=True)

    assert Path(said.strip()) == box.paths.workdir


def test_a_child_that_takes_a_slot_of_its_own_leaves_the_parents_folders_alone(box):
    (box.paths.data_dir / "here").touch()
    script = (
        "from pytest_chalk.sandbox import *\n"
        "slot = acquire_slot()\n"
        "print(sorted(path.name for path in slot.paths.workdir.rglob('*')))\n"
    )

    said = subprocess.check_output(
        [sys.executable, "-c", script], text=True, env={**os.environ, "CHALK_SLOT": ""}
    )

    assert said == "['data', 'shared']\n"
    assert (box.paths.data_dir / "here").exists()


def test_a_closed_box_has_left_nothing(slot):
    box = Box(slot)
    run_as_student(box, ["sh", "-c", "sleep 60 & touch data/x"], time_limit_s=5, max_output_bytes=9)

    box.close()

    assert living_of_uid([slot.student_uid]) == []
    assert list(slot.paths.data_dir.iterdir()) == []

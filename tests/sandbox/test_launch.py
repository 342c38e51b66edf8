from __future__ import annotations

import ctypes
import os
import signal

import pytest

from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox import Box, Command, run_as_student

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the student a uid")


def fields(text):
    return dict(line.split(":", 1) for line in text.decode().splitlines() if ":" in line)


@root_only
def test_a_command_has_the_students_uid_and_gid_and_no_other_group(box, sh):
    uid = str(box.slot.student_uid)

    status = fields(sh("cat /proc/self/status").stdout)

    assert status["Uid"].split() == [uid] * 4
    assert status["Gid"].split() == [uid] * 4
    assert status["Groups"].split() == []


@root_only
def test_a_command_can_never_gain_privileges(sh):
    status = fields(sh("cat /proc/self/status").stdout)

    assert status["NoNewPrivs"].strip() == "1"
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Amb")} == {0}


@pytest.mark.usefixtures("box")
def test_signals_that_the_harness_ignores_or_blocks_are_the_students_again(sh):
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    try:
        status = fields(sh("grep Sig /proc/self/status").stdout)
    finally:
        signal.signal(signal.SIGUSR1, before)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])

    # Signals 32 and 33 are the C library's own; nobody else can set them.
    ignored = int(status["SigIgn"], 16) & ~(0b11 << 31)
    assert int(status["SigBlk"], 16) == ignored == 0


@pytest.mark.usefixtures("box")
def test_a_command_leads_its_own_session_without_a_terminal(sh):
    completed = sh("cut -d' ' -f1,6,7 /proc/$$/stat; (: </dev/tty) 2>/dev/null || echo no tty")

    pid, session, terminal, *rest = completed.stdout.split()
    assert pid == session
    assert (terminal, b" ".join(rest)) == (b"0", b"no tty")


def test_the_environment_is_built_anew(box, sh, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    environment = dict(
        line.split("=", 1) for line in sh("/usr/bin/env -0").stdout.decode().split("\0") if line
    )

    environment.pop("_", None)
    environment.pop("PWD", None)
    environment.pop("SHLVL", None)
    assert environment == {
        "HOME": str(box.paths.workdir),
        "USER": "student",
        "LOGNAME": "student",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


def test_files_are_made_private_in_the_workdir_and_no_core_is_dumped(box, sh):
    completed = sh("umask; ulimit -c; pwd; : >data/new")

    assert completed.stdout.decode().split() == ["0077", "0", str(box.paths.workdir)]
    assert (box.paths.data_dir / "new").stat().st_mode & 0o777 == 0o600


def test_no_descriptor_of_the_harness_is_inherited(sh, tmp_path):
    with (tmp_path / "log").open("w") as log:
        os.set_inheritable(log.fileno(), True)  # noqa: FBT003 - its signature

        completed = sh("ls /proc/$$/fd")

    assert set(completed.stdout.split()) <= {b"0", b"1", b"2"}


def test_extra_descriptors_arrive_at_the_numbers_asked_for(box):
    read_fd, write_fd = os.pipe()
    command = Command(("sh", "-c", "echo to three >&3"), extra_fds={3: write_fd})

    process = box.launch(command)
    os.close(write_fd)

    assert process.wait(5) == 0
    assert os.read(read_fd, 100) == b"to three\n"
    os.close(read_fd)


def test_arguments_longer_than_the_sockets_buffer_arrive_whole(box):
    read_fd, write_fd = os.pipe()
    words = ("x" * 100_000,) * 8
    command = Command(("sh", "-c", "echo $#; echo ${#8}", "sh", *words), stdout_fd=write_fd)

    process = box.launch(command)
    os.close(write_fd)

    assert process.wait(5) == 0
    assert os.read(read_fd, 100) == b"8\n100000\n"
    os.close(read_fd)


def test_an_exit_status_is_a_number_or_a_negative_signal(box):
    exits = box.launch(Command(("sh", "-c", "exit 7")))
    is_killed = box.launch(Command(("sh", "-c", "kill -9 $$")))
    runs = box.launch(Command(("sleep", "60")))

    assert (exits.wait(5), is_killed.wait(5), runs.wait(0.05)) == (7, -9, None)
    assert runs.poll() is None


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the test knows no other number")
def test_the_keys_of_the_harness_are_not_inherited(box, student_python):
    get_id, session = 0, -3
    code = f"import ctypes; print(ctypes.CDLL(None).syscall(250, {get_id}, {session}, 0))"
    ours = ctypes.CDLL(None).syscall(250, get_id, session, 1)
    if ours < 0:
        pytest.skip("this kernel or container has no keys")

    done = run_as_student(box, [student_python, "-c", code], time_limit_s=9, max_output_bytes=99)

    assert int(done.stdout) not in (ours, -1)


def test_a_program_that_does_not_exist_is_a_plain_error(box):
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        box.launch(Command(("no-such-program",)))


@root_only
def test_a_program_or_folder_closed_to_the_student_is_refused_as_to_the_student(box, tmp_path):
    tmp_path.chmod(0o700)
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    with pytest.raises(PermissionError):
        box.launch(Command((str(program),)))
    with pytest.raises(PermissionError, match=tmp_path.name):
        box.launch(Command(("true",), cwd=tmp_path))


@root_only
def test_the_student_cannot_touch_harness_or_supervisor(box, sh):
    supervisor = box.launch(Command(("sleep", "60")))
    parent = sh(f"cut -d' ' -f4 /proc/{supervisor.pid}/stat").stdout.decode().strip()

    for pid in (os.getpid(), parent):
        completed = sh(f"kill -0 {pid}; cat /proc/{pid}/environ")
        assert completed.stdout == b""
        assert completed.exit_code != 0


@root_only
def test_the_student_can_neither_change_shared_nor_replace_its_folders(box, sh):
    (box.paths.shared_dir / "given.txt").write_text("given")

    completed = sh(
        "cat shared/given.txt; touch shared/x; echo >>shared/given.txt; mv shared s; "
        "rm -rf shared; cd ..; mv workdir w"
    )

    assert completed.stdout == b"given"
    assert (box.paths.shared_dir / "given.txt").read_text() == "given"
    assert sorted(path.name for path in box.paths.workdir.iterdir()) == ["data", "shared"]


def test_a_dead_supervisor_is_the_machines_fault(box):
    child = box.launch(Command(("sleep", "60")))
    box._link._process.kill()

    with pytest.raises(BoxError, match="run it again"):
        child.wait(5)
    if box.level == "none":
        os.kill(child.pid, signal.SIGKILL)  # level none cannot find it any more


@root_only
def test_processes_are_killed_although_the_supervisor_died(box, wait_until_gone):
    child = box.launch(Command(("sleep", "60")))
    box._link._process.kill()

    with pytest.raises(BoxError):
        box.kill_processes()
    assert wait_until_gone([child.pid], 0.5) == []


def test_nothing_is_launched_in_a_closed_box(slot):
    box = Box(slot)
    box.close()

    with pytest.raises(BoxError, match="closed"):
        box.launch(Command(("true",)))


@root_only
def test_a_fork_of_the_harness_does_not_keep_the_student_alive(harness, wait_until_gone):
    process = harness(
        "import os, time\n"
        "from pytest_chalk.sandbox import *\n"
        "box = Box(acquire_slot())\n"
        "pid = box.launch(Command(('sleep', '60'))).pid\n"
        "fork = os.fork()\n"
        "if fork: print(pid, fork, flush=True)\n"
        "time.sleep(60)\n"
    )
    student_pid, fork_pid = map(int, process.stdout.readline().split())

    process.kill()

    left = wait_until_gone([student_pid])
    os.kill(fork_pid, signal.SIGKILL)
    assert left == []


def test_a_fork_that_closes_its_box_ends_neither_the_student_nor_waits_for_it(harness):
    process = harness(
        "import os, time\n"
        "from pytest_chalk.sandbox import *\n"
        "box = Box(acquire_slot())\n"
        "child = box.launch(Command(('sleep', '60')))\n"
        "fork = os.fork()\n"
        "started = time.monotonic()\n"
        "if not fork:\n"
        "    box.close()\n"
        "    os._exit(time.monotonic() - started >= 1)\n"
        "print(os.waitpid(fork, 0)[1], child.poll(), flush=True)\n"
        "box.close()\n"
    )

    assert process.stdout.readline() == "0 None\n"

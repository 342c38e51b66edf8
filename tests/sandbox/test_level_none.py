"""The same tests without root: in a pytest of an unprivileged uid, with a Python it can run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typing_extensions

PLAIN_UID = 61170

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="this process has no root to give up")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def plain_user(public_folder):
    """Runs a script as an unprivileged user that has a copy of the package."""
    shutil.copytree(
        ROOT / "pytest_chalk" / "sandbox",
        public_folder / "pytest_chalk" / "sandbox",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("__init__.py", "errors.py", "cheap_override.py"):
        shutil.copy(ROOT / "pytest_chalk" / name, public_folder / "pytest_chalk" / name)
    shutil.copy(typing_extensions.__file__, public_folder)
    for path in (public_folder / "pytest_chalk").rglob("*"):
        path.chmod(0o755)
    for path in (public_folder, public_folder / "pytest_chalk"):
        path.chmod(0o755)
    home = public_folder / "home"
    home.mkdir()
    os.chown(home, PLAIN_UID, PLAIN_UID)

    def run(script):
        python = next(filter(None, map(_usable, (sys.executable, "/usr/bin/python3"))), None)
        if python is None:
            pytest.skip("no Python here that an unprivileged user can run")
        return _as_plain_user(
            [python, "-W", "error", "-c", NO_NAMESPACES + script],
            {"PYTHONPATH": str(public_folder), "CHALK_SLOT_BASE": str(home / "base")},
            home,
        )

    return run


NO_NAMESPACES = """
from pytest_chalk.sandbox import isolation
isolation.probed = lambda kind: "left out by a test"
"""


def _as_plain_user(argv, env, home):
    completed = subprocess.run(
        argv,
        user=PLAIN_UID,
        group=PLAIN_UID,
        extra_groups=[],
        cwd="/",
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def _usable(python):
    try:
        check = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        _as_plain_user(check, {}, Path("/"))
    except (OSError, AssertionError):
        return None
    return python


PRELUDE = """
import os, signal, subprocess, sys, time
from pathlib import Path
from pytest_chalk.sandbox import *
slot = acquire_slot()
box = Box(slot)
run = lambda script, limit=10: run_as_student(
    box, ["sh", "-c", script], time_limit_s=limit, max_output_bytes=10_000)
"""


def test_a_box_without_root_has_our_own_uid_and_says_so(plain_user):
    output = plain_user(
        PRELUDE + "print(box.level, slot.student_uid, slot.number, run('id -u').stdout)\n"
        "print(run('echo x >data/y; cat data/y; env | sort | head -1').stdout)\n"
        "box.close()\n"
    )

    assert output.splitlines()[0] == f"none {PLAIN_UID} 0 b'{PLAIN_UID}\\n'"
    assert output.splitlines()[1].startswith("b'x\\nHOME=")


def test_only_what_the_box_started_is_killed(plain_user):
    output = plain_user(
        PRELUDE + "mine = subprocess.Popen(['sleep', '30'])\n"
        "daemon = int(run(\"(setsid sh -c 'echo $$; exec sleep 60' &)\").stdout)\n"
        "stopped = box.launch(Command(('sh', '-c', 'kill -STOP $$')))\n"
        "time.sleep(0.1)\n"
        "kill_processes(slot.student_uid)\n"  # no current run: nothing may happen
        "print(stopped.poll(), end=' ')\n"
        "box.kill_processes()\n"
        "print(stopped.wait(1), os.path.exists(f'/proc/{daemon}'), mine.poll())\n"
        "mine.kill(); mine.wait(); box.close()\n"
    )

    assert output.split() == ["None", "-9", "False", "None"]


def test_a_time_limit_kills_the_tree(plain_user):
    output = plain_user(
        PRELUDE + "done = run('(setsid sleep 60 &) ; echo $$; sleep 60', 0.3)\n"
        "print(done.timed_out, len(box._link.kill_all(1)))\n"
        "box.close()\n"
    )

    assert output.split() == ["True", "0"]


def test_only_the_workdir_is_swept_whoever_is_asked_to_go(plain_user):
    output = plain_user(
        PRELUDE + "own = Path.home() / 'own'; own.write_text('mine')\n"
        "(box.paths.shared_dir / 'given').write_text('x')\n"
        "run('mkdir -p data/a; : >data/a/b; chmod 0 data/a; : >top')\n"
        "print(delete_files(slot.student_uid), end=' ')\n"
        "print(delete_files(slot.student_uid, include=[own.parent]))\n"
        "print(own.exists(), sorted(p.name for p in box.paths.workdir.rglob('*')))\n"
        "box.close()\n"
        "print(sorted(p.name for p in box.paths.workdir.rglob('*')))\n"
    )

    assert output.splitlines() == [
        "3 0",
        "True ['data', 'given', 'shared']",
        "['data', 'shared']",
    ]


def test_a_submission_is_collected_and_a_closed_file_is_refused(plain_user):
    output = plain_user(
        PRELUDE + "run('echo 42 >data/answer')\n"
        "print(collect_submission(None, [box.paths.data_dir / 'answer'])[0].read_text().strip())\n"
        "run('echo 42 >data/closed; chmod 0 data/closed')\n"
        "try: collect_submission(None, [box.paths.data_dir / 'closed'])\n"
        "except Exception as error: print(type(error).__name__, 'cannot open' in str(error))\n"
        "box.close()\n"
    )

    assert output.split() == ["42", "StudentMisbehaviorError", "True"]


def test_a_killed_harness_leaves_nothing(plain_user):
    output = plain_user(
        PRELUDE + "pid = os.fork()\n"
        "if pid == 0:\n"
        "    release_slot(); os.environ.pop('CHALK_SLOT', None)\n"
        "    box = Box(acquire_slot())\n"
        "    script = \"trap '' TERM; (setsid sleep 60 &) ; sleep 60\"\n"
        "    child = box.launch(Command(('sh', '-c', script)))\n"
        "    Path.home().joinpath('pid').write_text(str(child.pid)); time.sleep(60)\n"
        "time.sleep(0.7); os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0); time.sleep(0.3)\n"
        "from pytest_chalk.sandbox.process_table import living_of_uid, read_proc\n"
        "names = {read_proc(f'/proc/{pid}/comm') for pid in living_of_uid([os.getuid()])}\n"
        "print(names & {b'sh\\n', b'sleep\\n'}, Path.home().joinpath('pid').exists())\n"
        "box.close()\n"
    )

    assert output.split() == ["set()", "True"]


def test_a_base_that_belongs_to_somebody_else_is_refused(plain_user, public_folder):
    (public_folder / "home" / "base").mkdir()

    output = plain_user(
        "from pytest_chalk.sandbox import *\n"
        "try: acquire_slot()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )

    assert output.startswith("SlotError")
    assert "base is not a directory of uid" in output


def test_a_box_of_a_slot_that_was_only_peeked_at_can_be_made_ready(plain_user):
    output = plain_user(
        "from pytest_chalk.sandbox import Box, peek_slot\n"
        "box = Box(peek_slot())\n"
        "box.reset()\n"
        "print(box.paths.data_dir.is_dir())\n"
    )

    assert output == "True\n"


def test_a_submission_that_we_may_not_read_is_misbehaviour(plain_user):
    output = plain_user(
        PRELUDE + "from pytest_chalk.errors import StudentMisbehaviorError\n"
        "closed = box.paths.data_dir / 'closed'\n"
        "closed.write_text('x')\n"
        "closed.chmod(0)\n"
        "try:\n"
        "    save_submission(closed)\n"
        "except StudentMisbehaviorError as error:\n"
        "    print(error)\n"
    )

    assert "cannot open" in output

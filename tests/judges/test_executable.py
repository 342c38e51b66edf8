"""`ExecutableJudge`: real scripts, and everything that can go wrong with them."""

from __future__ import annotations

import errno
import math
import os
import resource
import struct
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.judges import ExecutableJudge
from pytest_chalk.judges.executable import scoring_script
from pytest_chalk.sandbox import CurrentRun, enter_run, peek_slot, run_trusted
from pytest_chalk.schemas.transcript import Transcript

EMPTY = Transcript(run_id="r")
PRELUDE = """
import json, os, sys, time
out = sys.argv[-1]
def write(score=1.0, metadata={}):
    with open(out, "w") as f:
        f.write(json.dumps({"score": score, "metadata": metadata}))
def write_text(text):
    with open(out, "w") as f:
        f.write(text)
"""


def command(code, *arguments):
    return [sys.executable, "-I", "-S", "-c", PRELUDE + code, *arguments, "score_output.txt"]


def judged(code, *arguments, **options):
    return ExecutableJudge(command(code, *arguments), **options).evaluate(EMPTY)


def assert_counts_as_0(scoring, cause):
    assert (scoring.score, scoring.continue_task, scoring.void) == (0.0, False, None)
    assert cause in scoring.metadata["error"]


def assert_is_void(scoring, cause):
    assert (scoring.score, scoring.continue_task) == (0.0, False)
    assert cause in scoring.void
    assert scoring.metadata["error"] == scoring.void


def is_alive(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
    return "State:\tZ" not in status


def wait_until_gone(pid):
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not is_alive(pid)


def test_the_score_is_the_one_the_script_writes():
    scoring = judged("write(0.25)")

    assert (scoring.score, scoring.continue_task, scoring.void) == (0.25, True, None)


def test_metadata_becomes_text_and_gets_what_the_script_printed():
    scoring = judged(
        "print('said'); print('warned', file=sys.stderr);"
        "write(1, {'n': 123, 'none': None, 'yes': True, 'list': [1, 'a'], 'text': 'a'})"
    )

    assert scoring.metadata == {
        "n": "123",
        "none": "None",
        "yes": "True",
        "list": "[1, 'a']",
        "text": "a",
        "stdout": "said\n",
        "stderr": "warned\n",
    }


def test_what_the_script_printed_wins_over_metadata_of_that_name():
    assert judged("print('said'); write(1, {'stdout': 'mine'})").metadata["stdout"] == "said\n"


@pytest.mark.parametrize(
    ("score", "threshold", "goes_on"),
    [(42, 42, True), (42, 43, False), (0, -1, True), (-1, -1, True), (-2, -1, False)],
)
def test_the_task_goes_on_from_the_threshold_on(score, threshold, goes_on):
    scoring = judged(f"write({score})", continue_threshold=threshold)

    assert (scoring.score, scoring.continue_task) == (score, goes_on)


def test_a_score_of_0_goes_on_by_default():
    assert judged("write(0)").continue_task is True


def test_the_command_is_not_changed_and_the_judge_can_be_asked_again():
    given = command("write(1, {'name': os.path.basename(out)})")
    judge = ExecutableJudge(given)
    before = list(given)

    first, second = judge.evaluate(EMPTY), judge.evaluate(EMPTY)

    assert given == before
    assert first == second
    assert first.metadata["name"] == "score_output.txt"


def test_the_result_file_lies_in_a_fresh_private_directory_that_is_removed():
    code = """
folder = os.path.dirname(out)
write(1, {"out": out, "mode": oct(os.stat(folder).st_mode & 0o777), "in it": os.listdir(folder)})
"""
    first, second = judged(code), judged(code)

    assert first.metadata["mode"] == "0o700"
    assert first.metadata["in it"] == "[]"
    assert first.metadata["out"] != second.metadata["out"]
    assert not Path(first.metadata["out"]).parent.exists()


def test_only_the_name_of_the_last_argument_is_used(tmp_path):
    last = str(tmp_path / "deep" / "score.json")
    given = [*command("write(1, {'name': os.path.basename(out)})")[:-1], last]

    scoring = ExecutableJudge(given).evaluate(EMPTY)

    assert scoring.metadata["name"] == "score.json"
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_removed_after_a_failure_too():
    scoring = judged("print(out); os.mkdir(out); sys.exit(1)")

    assert not Path(scoring.metadata["stdout"].strip()).parent.exists()


def test_the_working_directory_can_be_set(tmp_path):
    scoring = judged("write(1, {'cwd': os.getcwd()})", cwd=tmp_path)

    assert scoring.metadata["cwd"] == str(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_stdin_is_empty():
    assert judged("write(1, {'stdin': sys.stdin.read()})").metadata["stdin"] == ""


def test_paths_are_as_good_as_text_in_a_command(tmp_path):
    script = tmp_path / "score.py"
    script.write_text(PRELUDE + "write(1)")

    assert ExecutableJudge([sys.executable, script, Path("out")]).evaluate(EMPTY).score == 1.0


def test_a_script_can_use_the_package():
    code = "from pytest_chalk import Scoring; write(1, {'name': Scoring.__name__})"
    given = [sys.executable, "-c", PRELUDE + code, "score.json"]

    assert ExecutableJudge(given).evaluate(EMPTY).metadata["name"] == "Scoring"


def test_nothing_is_looked_at_before_the_judge_is_asked():
    for nonsense in (None, "text", [], [1], object()):
        ExecutableJudge(nonsense)


def test_a_script_finds_modules_neither_where_it_runs_nor_in_a_home(tmp_path, monkeypatch):
    for name in ("json.py", "sitecustomize.py"):
        (tmp_path / name).write_text("raise SystemExit('hijacked')")
    monkeypatch.setenv("HOME", str(tmp_path))
    code = "import site\nwrite(1, {'path': sys.path, 'user': site.ENABLE_USER_SITE})"

    scoring = ExecutableJudge(
        [sys.executable, "-c", PRELUDE + code, "score.json"], cwd=tmp_path
    ).evaluate(EMPTY)

    assert (scoring.score, scoring.metadata["user"]) == (1.0, "False")
    assert str(tmp_path) not in scoring.metadata["path"]
    assert "''" not in scoring.metadata["path"]


def test_the_path_has_nothing_that_the_student_can_write_to(monkeypatch):
    monkeypatch.setenv("PATH", f".::{peek_slot().paths.workdir}:/usr/bin:/bin")

    scoring = judged("write(1, {'path': os.environ['PATH']})")

    assert scoring.metadata["path"] == "/usr/bin:/bin"


def test_a_script_runs_in_the_projects_root_where_nothing_else_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(scoring_script, "installed_finder", lambda: None)
    monkeypatch.chdir(tmp_path)

    scoring = judged("write(1, {'cwd': os.getcwd()})")

    assert scoring.metadata["cwd"] == str(tmp_path)


def test_where_the_student_could_write_to_the_root_the_script_runs_beside_its_result(monkeypatch):
    workdir = peek_slot().paths.workdir
    workdir.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(scoring_script, "installed_finder", lambda: None)
    monkeypatch.chdir(workdir)

    scoring = judged("write(1, {'cwd': os.getcwd(), 'out': os.path.dirname(out)})")

    assert scoring.metadata["cwd"] == scoring.metadata["out"]


# What the student's work can provoke counts as 0.


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("write(1); sys.exit(3)", "the scoring script exited 3"),
        ("write(1); raise ValueError('no such file')", "the scoring script exited 1"),
        ("write(1); os.kill(os.getpid(), 9)", "the scoring script was killed by signal 9"),
        ("write(1); os.kill(os.getpid(), 15)", "the scoring script was killed by signal 15"),
        ("pass", "the result file was not written"),
        ("write_text('')", "is not valid JSON"),
        ("write_text('{\"score\": 1.0')", "is not valid JSON"),
        ("write_text('[1.0, {}]')", "is a list"),
        ("write_text('{\"score\": 1.0}')", "lacks 'metadata'"),
        ("write(float('nan'))", "holds NaN"),
        ("write('1.0')", "has '1.0' for a score"),
        ('write_text(\'{"score": 0, "score": 1, "metadata": {}}\')', "has a key twice"),
        ("write(1, {'x': 'x' * 2_000_000})", "is longer than 1,048,576 bytes"),
        ("write(1); os.truncate(out, 1 << 40)", "is longer than 1,048,576 bytes"),
        ("write_text('['*100_000)", "is nested too deeply"),
        ("os.symlink('/etc/hostname', out)", "is a link, a folder or a special file"),
        ("os.symlink('/nowhere', out)", "is a link, a folder or a special file"),
        ("os.mkfifo(out)", "is a link, a folder or a special file"),
        ("os.mkdir(out)", "is a link, a folder or a special file"),
        ("write(1); os.link(out, out + '2')", "has another name too"),
    ],
)
def test_a_script_without_a_usable_result_counts_as_0_and_says_why(code, cause):
    scoring = judged(
        "print('said', flush=True); print('warned', file=sys.stderr, flush=True);" + code
    )

    assert_counts_as_0(scoring, cause)
    assert scoring.metadata["stdout"] == "said\n"
    assert scoring.metadata["stderr"].startswith("warned\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_result_that_belongs_to_somebody_else_counts_as_0():
    assert_counts_as_0(judged("write(1); os.chown(out, 12345, -1)"), "belongs to somebody else")


def test_a_score_beside_processes_that_would_not_die_counts_as_0(monkeypatch):
    def leaves_two(*arguments, **options):
        return replace(run_trusted(*arguments, **options), survivors=2)

    monkeypatch.setattr(scoring_script, "run_trusted", leaves_two)

    assert_counts_as_0(judged("write(1)"), "left 2 processes that could not be killed")


def test_a_script_that_puts_a_file_in_place_of_its_directory_counts_as_0_and_leaves_nothing():
    scoring = judged(
        "folder = os.path.dirname(out); os.rmdir(folder); open(folder, 'w').close(); print(folder)"
    )

    assert_counts_as_0(scoring, "cannot be read")
    assert not Path(scoring.metadata["stdout"].strip()).exists()


def test_a_failed_script_is_shown_with_its_command():
    assert "'a b'" in judged("sys.exit(1)", "a b").metadata["command"]


def test_metadata_nested_too_deeply_for_text_counts_as_0():
    assert_counts_as_0(
        judged(
            "write_text('{\"score\": 1, \"metadata\": {\"a\": ' + '['*100_000 + ']'*100_000 + '}}')"
        ),
        "too deeply",
    )


def test_a_script_that_runs_too_long_is_killed_with_all_it_started():
    started = time.monotonic()

    scoring = judged(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "print(child.pid, flush=True); write(1); time.sleep(60)",
        timeout_s=0.5,
    )

    assert time.monotonic() - started < 10
    assert_counts_as_0(scoring, "ran into its time limit of 0.5 s")
    assert wait_until_gone(int(scoring.metadata["stdout"]))


def test_a_child_in_the_background_delays_nothing_and_is_killed():
    started = time.monotonic()

    scoring = judged(
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nwrite(1, {'pid': child.pid})"
    )

    assert time.monotonic() - started < 10
    assert scoring.score == 1.0
    assert wait_until_gone(int(scoring.metadata["pid"]))


@pytest.mark.skipif(sys.platform != "linux", reason="only the group can be killed")
def test_a_daemon_that_would_change_the_score_later_is_dead_before_it_is_read(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(0.4)
        while True:
            write(1.0)
    os._exit(0)
os.wait()
time.sleep(0.1)
write(0.25)
"""
    scoring = judged(code)

    assert scoring.score == 0.25
    assert not is_alive(int(scoring.metadata["stdout"]))
    time.sleep(0.5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only the group can be killed")
def test_a_daemon_in_its_own_session_delays_nothing_and_is_killed():
    started = time.monotonic()

    scoring = judged(
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "write(1, {'pid': child.pid})"
    )

    assert time.monotonic() - started < 10
    assert scoring.score == 1.0
    assert wait_until_gone(int(scoring.metadata["pid"]))


def test_output_that_is_no_utf_8_is_kept_as_far_as_it_goes():
    scoring = judged("sys.stdout.buffer.write(b'a\\xff b'); write(1)")

    assert (scoring.score, scoring.metadata["stdout"]) == (1.0, "a\ufffd b")


def test_200_megabytes_of_output_do_not_hide_the_score_nor_fill_the_memory():
    most_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    scoring = judged("line = b'x' * 1_048_576\nfor _ in range(200): os.write(1, line)\nwrite(0.5)")

    assert scoring.score == 0.5
    assert len(scoring.metadata["stdout"]) < 40_000
    assert "bytes cut" in scoring.metadata["stdout"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most_kib < 20_000


def test_names_and_values_that_are_no_utf_8_do_not_hide_the_score():
    scoring = judged("write(0.5, {'a\\udcff': 'b\\udcff'})")

    assert (scoring.score, scoring.metadata[r"a\udcff"]) == (0.5, "b\udcff")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b", "x" * 1_000_000])
def test_text_that_no_argument_can_hold_counts_as_0_for_it_may_be_the_students(text):
    assert_counts_as_0(judged("write(1)", text), "cannot be started")


@pytest.fixture
def submissions(tmp_path):
    """Return where a run under way keeps what its student hands in."""
    run = CurrentRun(
        box=None, artifacts_dir=tmp_path / "artifacts", submissions_dir=tmp_path / "submissions"
    )
    with enter_run(run):
        yield run.submissions_dir


def test_a_working_directory_that_the_student_never_handed_in_counts_as_0(submissions):
    scoring = judged("write(1)", cwd=str(submissions / "1" / "project"))

    assert_counts_as_0(scoring, "which is no directory")


def test_a_command_that_the_student_never_handed_in_counts_as_0(submissions):
    scoring = ExecutableJudge([str(submissions / "1" / "server"), "out"]).evaluate(EMPTY)

    assert_counts_as_0(scoring, "cannot be started")


# What it cannot provoke is void: an error, and no score.


def test_a_missing_command_is_void(tmp_path):
    scoring = ExecutableJudge([str(tmp_path / "missing"), "out"]).evaluate(EMPTY)

    assert_is_void(scoring, "No such file or directory")


@pytest.mark.parametrize("mode", [0o600, 0o700])
def test_a_command_that_cannot_be_executed_is_void(tmp_path, mode):
    script = tmp_path / "score.py"
    script.write_text("no interpreter line, no program\n")
    script.chmod(mode)

    assert_is_void(ExecutableJudge([str(script), "out"]).evaluate(EMPTY), "cannot be started")


def test_a_missing_working_directory_is_void(tmp_path):
    scoring = judged("write(1)", cwd=str(tmp_path / "missing"))

    assert_is_void(scoring, f"in {str(tmp_path / 'missing')!r}, which is no directory")


def test_no_temporary_directory_is_void(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    scoring = judged("write(1)")

    assert_is_void(scoring, "no temporary directory")
    assert scoring.void_blame == "machine"


def test_a_machine_without_descriptors_is_void_whoever_brought_the_program(
    submissions, tmp_path, monkeypatch
):
    judge = ExecutableJudge([str(submissions / "1" / "server"), "out"])
    assert_counts_as_0(judge.evaluate(EMPTY), "cannot be started")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 1, hard))  # too few for the script's pipes
    try:
        scoring = judge.evaluate(EMPTY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    assert_is_void(scoring, "Too many open files")
    assert scoring.void_blame == "machine"
    assert list(tmp_path.glob("chalk-score-*")) == []


def write_program_with_an_interpreter_behind_its_end(path):
    """Write a program of this machine's kind that the kernel refuses with EIO."""
    order = {"little": "<", "big": ">"}[sys.byteorder]
    identity, kind = Path(sys.executable).resolve().read_bytes()[:20][:16], struct.pack("@H", 2)
    machine = Path(sys.executable).resolve().read_bytes()[18:20]
    header = struct.pack(order + "IQQQIHHHHHH", 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    interpreter = struct.pack(order + "IIQQQQQQ", 3, 4, 1 << 20, 0, 0, 20, 20, 1)
    path.write_bytes(identity + kind + machine + header + interpreter)
    path.chmod(0o755)


@pytest.mark.skipif(
    sys.platform != "linux" or sys.maxsize < 1 << 32, reason="it is a 64-bit ELF file"
)
def test_a_submission_that_makes_the_kernel_speak_of_the_disk_counts_as_0(submissions, tmp_path):
    handed_in = submissions / "1" / "server"
    handed_in.parent.mkdir(parents=True)
    for program in (handed_in, tmp_path / "ours"):
        write_program_with_an_interpreter_behind_its_end(program)

    assert_counts_as_0(
        ExecutableJudge([str(handed_in), "out"]).evaluate(EMPTY), os.strerror(errno.EIO)
    )
    # Where the author named it, it may well be the disk.
    scoring = ExecutableJudge([str(tmp_path / "ours"), "out"]).evaluate(EMPTY)
    assert_is_void(scoring, os.strerror(errno.EIO))
    assert scoring.void_blame == "machine"


@pytest.mark.parametrize("timeout_s", [0, -1, math.nan, math.inf, None, "5", True])
def test_what_is_no_time_limit_is_refused_and_never_a_0_of_the_student(timeout_s):
    with pytest.raises(TaskDefinitionError, match="ExecutableJudge: timeout_s is"):
        ExecutableJudge(["true", "out"], timeout_s=timeout_s)


@pytest.mark.parametrize("threshold", [math.nan, None, "0.5", True])
def test_a_threshold_that_is_no_number_is_refused(threshold):
    with pytest.raises(TaskDefinitionError, match="ExecutableJudge: continue_threshold is"):
        ExecutableJudge(["true", "out"], continue_threshold=threshold)


@pytest.mark.parametrize(("threshold", "goes_on"), [(math.inf, False), (-math.inf, True)])
def test_an_infinite_threshold_is_never_or_always(threshold, goes_on):
    assert judged("write(1)", continue_threshold=threshold).continue_task is goes_on


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        "python score.py out",
        b"python",
        [],
        [sys.executable],
        [sys.executable, "x.py", 5, "out"],
        [sys.executable, "x.py", None],
        [sys.executable, "x.py", b"out"],
        [sys.executable, "x.py", "/"],
        [sys.executable, "x.py", ".."],
        [sys.executable, "x.py", ""],
        {sys.executable: "out"},
    ],
    ids=repr,
)
def test_what_is_no_command_is_void_and_shown(nonsense):
    assert_is_void(ExecutableJudge(nonsense).evaluate(EMPTY), "wanted a list of program, arguments")


@pytest.mark.parametrize("name", ["sc\0re", "sc\ud800re"])
def test_a_result_file_that_no_name_can_hold_is_void_and_leaves_nothing(
    name, monkeypatch, tmp_path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    assert_is_void(ExecutableJudge(["true", name]).evaluate(EMPTY), "cannot be started")
    assert list(tmp_path.iterdir()) == []


def test_a_nul_in_the_program_itself_is_void():
    assert_is_void(ExecutableJudge(["py\0thon", "out"]).evaluate(EMPTY), "cannot be started")


def test_the_scripts_environment_is_ours(monkeypatch):
    monkeypatch.setenv("MY_SETTING", "on")

    found = judged("write(1, dict(os.environ))").metadata

    assert found["MY_SETTING"] == os.environ["MY_SETTING"] == "on"
    # In a virtual environment nobody would notice that a home brings modules.
    assert (found["PYTHONNOUSERSITE"], found["PYTHONSAFEPATH"]) == ("1", "1")

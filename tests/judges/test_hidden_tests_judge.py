"""`HiddenTestsJudge`: real tests on real submissions, honest and hostile."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from pytest_chalk.errors import MachineError, StudentMisbehaviorError, TaskDefinitionError
from pytest_chalk.judges import HiddenTestsJudge
from pytest_chalk.judges.hidden_tests import interpreter
from pytest_chalk.sandbox import peek_slot, separates_uids
from pytest_chalk.schemas.transcript import Transcript

EMPTY = Transcript(run_id="r")
TESTS = """
import pytest
from answer import double

@pytest.mark.parametrize("n", [0, 1, 2])
def test_it_doubles(n):
    assert double(n) == 2 * n

def test_it_takes_text():
    assert double("a") == "aa"
"""
RIGHT = "def double(x):\n    return x + x\n"


@pytest.fixture
def judged(tmp_path):
    """Judges a module, or what `submit` made of the submission, by tests."""

    def judge(module="", *, tests=TESTS, submit=None, **options):
        hidden = tmp_path / "hidden" / "checks.py"
        hidden.parent.mkdir(exist_ok=True)
        hidden.write_text(tests)
        submission = tmp_path / "saved" / "answer.py"
        submission.parent.mkdir(mode=0o700, exist_ok=True)
        if submit is None:
            submission.write_text(module)
            submission.chmod(0o600)
        else:
            submission = submit(submission.parent)
        return HiddenTestsJudge(hidden, submission, **options).evaluate(EMPTY)

    return judge


def test_all_tests_passed_is_a_score_of_1(judged):
    scoring = judged(RIGHT)

    assert (scoring.score, scoring.continue_task, scoring.void) == (1.0, True, None)
    assert scoring.metadata["passed"] == "2 of 2"
    assert "error" not in scoring.metadata


def test_the_score_is_the_share_that_passed_and_the_rest_is_named(judged):
    scoring = judged("def double(x):\n    return 2 * int(x)\n")

    assert (scoring.score, scoring.continue_task) == (0.5, False)
    assert scoring.metadata["tests"] == {
        "checks.py::test_it_doubles": "passed",
        "checks.py::test_it_takes_text": "failed",
    }
    assert "1 of 2 hidden tests did not pass: checks.py::test_it_takes" in scoring.metadata["error"]
    assert "ValueError" in scoring.metadata["output"]


def test_a_part_is_enough_where_the_threshold_says_so(judged):
    assert judged("double = int.__add__\n", continue_threshold=0.0).continue_task is True


@pytest.mark.parametrize(
    "module",
    ["", "def double(:", "raise SystemExit(0)", "import os; os._exit(0)", "1 / 0"],
)
def test_a_module_that_cannot_be_imported_fails_every_test(judged, module):
    scoring = judged(module)

    assert (scoring.score, scoring.void) == (0.0, None)
    assert set(scoring.metadata["tests"].values()) == {"missing"}


def test_a_submission_that_was_never_written_fails_without_a_run(judged):
    scoring = judged(submit=lambda folder: folder / "never.py")

    assert scoring.score == 0.0
    assert scoring.metadata["error"] == "'never.py' was not handed in"


def test_a_submission_that_never_returns_ends_at_the_time_limit(judged):
    started = time.monotonic()

    scoring = judged("def double(x):\n    while True: pass\n", timeout_s=1.5)

    assert time.monotonic() - started < 8
    assert scoring.score == 0.0
    assert "within the time limit of 1.5 s" in scoring.metadata["error"]


def test_a_crash_fails_what_had_not_been_reported(judged):
    scoring = judged(
        RIGHT + "import os\n",
        tests=TESTS
        + """
def test_zz():
    import os, signal
    os.kill(os.getpid(), signal.SIGSEGV)
""",
    )

    assert scoring.score == pytest.approx(2 / 3)
    assert "killed by signal 11" in scoring.metadata["error"]


def make_project(files):
    def make(folder):
        project = folder / "project"
        for name, text in files.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
        return project

    return make


HOSTILE_FILES = {
    "answer.py": RIGHT,
    "conftest.py": "raise SystemExit('conftest')",
    "pytest.ini": "[pytest]\naddopts = --collect-only\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--collect-only'\n",
    "sitecustomize.py": "raise SystemExit('sitecustomize')",
    "usercustomize.py": "raise SystemExit('usercustomize')",
    "json.py": "raise SystemExit('json')",
    "random.py": "raise SystemExit('random')",
    "checks.py": "def test_other(): pass",
    "test_own.py": "def test_own(): assert False",
}


def test_nothing_that_a_submission_brings_configures_the_tests(judged):
    assert judged(submit=make_project(HOSTILE_FILES)).score == 1.0


def test_a_package_is_imported_by_its_name(judged):
    files = {"__init__.py": "from project.inner import double", "inner.py": RIGHT}

    scoring = judged(
        tests="from project import double\ndef test_it(): assert double(1) == 2",
        submit=make_project(files),
    )

    assert scoring.score == 1.0


def test_a_folder_of_tests_brings_its_helpers_and_its_own_conftest(tmp_path):
    hidden = tmp_path / "hidden"
    (hidden / "deep").mkdir(parents=True)
    (hidden / "conftest.py").write_text("import pytest\n@pytest.fixture\ndef number(): return 2\n")
    (hidden / "helper.py").write_text("FOUR = 4")
    test = "from answer import double\nfrom helper import FOUR\n"
    for name in ("test_one.py", "deep/two_test.py", "ignored.py"):
        (hidden / name).write_text(test + "def test_it(number): assert double(number) == FOUR\n")
    (tmp_path / "answer.py").write_text(RIGHT)

    scoring = HiddenTestsJudge(hidden, tmp_path / "answer.py").evaluate(EMPTY)

    assert scoring.metadata["tests"] == {
        "deep/two_test.py::test_it": "passed",
        "test_one.py::test_it": "passed",
    }


def test_tests_that_are_expected_by_name_have_to_come(judged):
    expected = ["checks.py::test_it_doubles[0]", "checks.py::test_gone"]

    scoring = judged(RIGHT, expected=expected)

    assert scoring.score == 0.5
    assert scoring.metadata["tests"]["checks.py::test_gone"] == "missing"
    assert "checks.py::test_it_takes_text" in scoring.metadata["not expected"]


FORGERIES = {
    "outcomes": """
import _pytest.reports
_pytest.reports.TestReport.outcome = property(lambda self: "passed", lambda self, value: None)
""",
    "calls": """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
""",
    "reports": """
import gc, json, os
recorder = next(o for o in gc.get_objects() if type(o).__name__ == "Recorder")
for name in ("checks.py::test_it_doubles[0]", "checks.py::test_it_takes_text"):
    for when in ("setup", "call", "teardown"):
        line = {"token": recorder._token, "id": name, "when": when, "outcome": "passed"}
        os.write(recorder._channel, json.dumps(line).encode() + b"\\n")
os._exit(0)
""",
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_forged_results_are_misbehaviour(judged, forgery):
    with pytest.raises(StudentMisbehaviorError, match="forged"):
        judged(forgery + "\ndef double(x): return None\n")


SNOOPING = """
import os
def test_whats_there():
    print("uid", os.getuid())
    print("cwd", os.getcwd(), os.listdir("."))
    print("variables", sorted(os.environ))
    from answer import double
    tests = os.path.dirname(__file__)
    for path in (tests, os.path.dirname(os.environ["SUBMISSION"])):
        try:
            open(os.path.join(path, "new"), "w")
        except PermissionError:
            print("refused")
    open("/tmp/chalk-left-here", "w").close()
    if os.fork() == 0:
        os.setsid()
        import time
        time.sleep(60)
    assert False
"""


@pytest.mark.skipif(not separates_uids(), reason="the student has our own uid here")
def test_tests_run_as_the_student_on_what_it_cannot_change_and_leave_nothing(judged, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "sk-canary")
    slot = peek_slot()

    output = judged(RIGHT, tests=SNOOPING).metadata["output"]

    assert f"uid {slot.student_uid}" in output
    assert output.count("refused") == 2
    assert " []" in output
    assert "API_KEY" not in output
    assert not Path("/tmp/chalk-left-here").exists()
    assert list(slot.paths.shared_dir.iterdir()) == []
    assert processes_of(slot.student_uid) == []


def processes_of(uid):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and entry.stat().st_uid == uid:
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_floods_of_output_are_bounded(judged):
    scoring = judged("import os\ndef double(x):\n    os.write(2, b'x' * 3_000_000)\n")

    assert scoring.score == 0.0
    assert len(scoring.metadata["output"]) < 40_000
    assert "characters cut" in scoring.metadata["output"]


@pytest.mark.parametrize("tests", ["", "x = 1", "def helper(): pass", "def test_a(:"])
def test_a_file_without_tests_is_the_authors_error(judged, tests):
    with pytest.raises(TaskDefinitionError, match="hidden tests"):
        judged(RIGHT, tests=tests)


def test_tests_that_do_not_exist_are_the_authors_error(tmp_path):
    with pytest.raises(TaskDefinitionError, match="does not exist"):
        HiddenTestsJudge(tmp_path / "none.py", tmp_path).evaluate(EMPTY)


def test_a_python_that_the_student_cannot_run_is_a_machine_error(judged, tmp_path):
    with pytest.raises(MachineError, match=r"can execute no Python .*tried /nowhere/python"):
        judged(RIGHT, python="/nowhere/python")


def test_the_saved_copy_is_not_touched(judged, tmp_path):
    judged(RIGHT)

    copy = tmp_path / "saved" / "answer.py"
    assert copy.read_text() == RIGHT
    assert copy.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "options", [{"timeout_s": 0}, {"timeout_s": None}, {"continue_threshold": float("nan")}]
)
def test_numbers_that_cannot_be_used_are_the_authors_error(tmp_path, options):
    with pytest.raises(TaskDefinitionError, match=f"HiddenTestsJudge: {next(iter(options))} is"):
        HiddenTestsJudge(tests=tmp_path, submission=tmp_path, **options)


def test_the_copy_of_pytest_is_for_everybody_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        for package in ("pluggy", "py"):  # a folder and a module
            interpreter._copy_package(package, tmp_path, sys.implementation.cache_tag)
    finally:
        os.umask(before)

    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert tmp_path / "py.py" in modes
    assert tmp_path / "pluggy" / "__init__.py" in modes
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o755}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o644}

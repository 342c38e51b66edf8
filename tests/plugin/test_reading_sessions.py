"""What a session left, read by `pytest-chalk show`, `junit` and `export`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from plugin.conftest import Project

from pytest_chalk.cli import main

ALL_SORTS = """
import pytest

Good = task("good", step("a", Score(1, why="fine")), step("b", Score(0.5)))
Poor = task("poor", step("a", Score(0, False)), step("b", Score(1)), step("c", Score(1)))
Broken = task("broken", step("a", Raises(RuntimeError("x"))))
Attack = task("attack", step("a", Raises(StudentMisbehaviorError("fifo"))))
Loud = task("loud", step("a", Does(lambda: print("said by the judge") or Scoring(1, {}, True))))
Unsolved = task("unsolved", step("a", Score(1)), step("b", Score(1), solution=None))
Skipped = pytest.mark.skip(reason="no GPU")(task("skipped", step("a", Score(1))))
Expected = pytest.mark.xfail(reason="known")(task("expected", step("a", Score(0))))
Better = pytest.mark.xfail(reason="once", strict=False)(task("better", step("a", Score(1))))
Torn = pytest.mark.torn(task("torn", step("a", Score(1))))
Setup = pytest.mark.bad_setup(task("setup", step("a", Score(1))))
"""
CONFTEST = """
import pytest

@pytest.fixture(autouse=True)
def around(request):
    request.node.user_properties.append(("host", "a1"))
    if request.node.get_closest_marker("bad_setup"):
        raise OSError("no such fixture")
    yield
    if request.node.get_closest_marker("torn"):
        raise RuntimeError("in teardown")
"""


@pytest.fixture
def sorts(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.ini("xfail_strict = false", "markers =", "  torn", "  bad_setup")
    project.task("one", ALL_SORTS)
    project.file("conftest.py", CONFTEST)
    monkeypatch.chdir(project.path)
    return project


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(arguments) == 0
    return capsys.readouterr().out


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(arguments)
    return status, capsys.readouterr().err


def comparable(text: str) -> str:
    """Return a JUnit document without what says when and where it was written."""
    root = ET.fromstring(text)
    for suite in root.iter("testsuite"):
        for attribute in ("time", "timestamp", "hostname"):
            suite.attrib.pop(attribute, None)
    ET.indent(root)
    return ET.canonicalize(ET.tostring(root, encoding="unicode"))


ORDINARY = r"""
import pytest

@pytest.fixture
def broken():
    raise OSError("no such fixture")

@pytest.fixture
def torn():
    yield
    raise RuntimeError("in teardown")

class TestGroup:
    def test_passes(self, record_property):
        record_property("speed", "9\x1b[m")

    @pytest.mark.parametrize("number", [1, 2])
    def test_number(self, number):
        assert number == 1, "said \x1b[31m"

def test_breaks(broken): pass
def test_tears(torn): pass
def test_fails_and_tears(torn): assert 0
def test_skips(): pytest.skip("no GPU")
@pytest.mark.skip(reason="never")
def test_never(): pass
@pytest.mark.xfail(reason="known")
def test_known(): assert 0
@pytest.mark.xfail(reason="once")
def test_better(): pass
@pytest.mark.xfail(strict=True, reason="strict")
def test_too_good(): pass

def test_parts(subtests):
    for number in range(3):
        with subtests.test("part", number=number):
            assert number != 1
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_rebuilt_junit_file_is_the_original_with_the_tests_beside_the_tasks(
    sorts: Project, capsys, workers: str
):
    sorts.file("checks/test_before.py", ORDINARY)
    sorts.file("tests/test_after.py", ORDINARY)
    sorts.run_with(workers, "checks", "tasks", "tests")
    original = (sorts.path / "report.xml").read_text()

    rebuilt = printed(capsys, "junit")

    assert comparable(rebuilt) == comparable(original)
    assert rebuilt.count('.TestGroup" name=') == 6
    assert rebuilt.count("<testcase ") > 40


def test_tests_are_in_no_journal_where_no_task_is_selected(sorts: Project):
    sorts.file("tests/test_after.py", ORDINARY)

    sorts.run("tests")

    assert not (sorts.path / ".chalk").exists()


def test_of_a_resumed_session_the_last_process_tells_of_the_tests(sorts: Project, capsys):
    sorts.file("tests/test_after.py", "def test_one(): pass\n")
    sorts.run("tasks", "tests", "-k", "Poor or test_one")
    sorts.run("tasks", "tests", "-k", "Good or Poor or test_one", "--chalk-resume")

    rebuilt = printed(capsys, "junit")

    assert comparable(rebuilt) == comparable((sorts.path / "report.xml").read_text())
    assert rebuilt.count("test_one") == 1


def test_the_rebuilt_junit_file_has_the_style_of_the_session(sorts: Project, capsys):
    sorts.ini(
        "chalk_junit_steps = false",
        "chalk_junit_properties = false",
        "markers =",
        "  torn",
        "  bad_setup",
    )
    sorts.run("-k", "Good or Poor")

    rebuilt = printed(capsys, "junit")

    assert comparable(rebuilt) == comparable((sorts.path / "report.xml").read_text())


def test_a_file_is_written_where_one_is_named(sorts: Project, capsys):
    sorts.run("-k", "Good")

    assert printed(capsys, "junit", "--output", "again.xml") == ""

    assert comparable((sorts.path / "again.xml").read_text()) == comparable(
        (sorts.path / "report.xml").read_text()
    )


def test_a_session_is_shown_with_its_table_and_what_fell_short(sorts: Project, capsys):
    sorts.run("-k", "Good or Poor or Broken")

    lines = printed(capsys, "show").splitlines()

    session = (sorts.path / ".chalk/latest").readlink().name
    assert lines[0].startswith(f"session {session}, ")
    assert lines[0].endswith("exit status 1")
    assert any(line.split()[:3] == ["good", "oracle", "0.50"] for line in lines)
    assert "mean 0.250 over 2 scored of 3" in lines
    assert any(line.startswith("failed tasks/one/__init__.py::Poor[oracle]: ") for line in lines)
    assert any(line.startswith("error tasks/one/__init__.py::Broken[oracle]: ") for line in lines)
    assert "FAIL chalk: not every task passed: 1 failed, 1 error" in lines


def test_a_killed_session_says_so_and_what_has_no_verdict(sorts: Project, capsys):
    sorts.run("-k", "Good or Poor")
    journal = sorts.path / ".chalk/latest/journal.jsonl"
    kept = [line for line in journal.read_text().splitlines() if "Poor" not in line]
    planned = json.dumps({"type": "planned", "nodeids": ["a::Poor[oracle]"]})
    journal.write_text("\n".join([kept[0], planned, *kept[1:-1], '{"type": "ru']))

    lines = printed(capsys, "show").splitlines()

    assert lines[0].endswith(", killed")
    assert "mean 0.500 over 1 scored of 2" in lines
    assert "no verdict a::Poor[oracle]" in lines


@pytest.mark.parametrize("name", ["poor", "Poor[oracle]", "tasks/one/__init__.py::Poor[oracle]"])
def test_a_run_is_shown_by_task_or_node_id(sorts: Project, capsys, name: str):
    sorts.run("-k", "Good or Poor")

    lines = printed(capsys, "show", name).splitlines()

    assert lines[0].startswith("poor by oracle, isolation ")
    assert any(line.startswith("== step 1/3 ===") for line in lines)
    assert "[user] Do a." in lines
    assert "-> solution true" in lines
    assert "score 0, ends the task" in lines
    assert lines[-1] == "failed"


def test_a_run_is_shown_by_the_beginning_of_its_id_in_a_session_of_that_name(
    sorts: Project, capsys
):
    sorts.run("-k", "Good")
    session = (sorts.path / ".chalk/latest").readlink().name
    sorts.run("-k", "Poor")

    assert "good by oracle" in printed(capsys, "show", session, "good-oracle-")
    assert complaint(capsys, "show", "good")[0] == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nope"), "run 'nope': no run fits"),
        (("show", "2099", "good"), "session '2099': no session of that name"),
        (("junit", "2099"), "Name one of: 2"),
        (("show", "a", "b", "c"), "got 3 names"),
        (("show", "--session-dir", "elsewhere"), "there is no session in"),
        (("junit", "--output", "no/such/file"), "cannot be written"),
    ],
)
def test_what_does_not_exist_is_wrong_usage_and_the_answer_names_what_does(
    sorts: Project, capsys, arguments: tuple[str, ...], said: str
):
    sorts.run("-k", "Good")

    status, text = complaint(capsys, *arguments)

    assert status == 4
    assert said in text
    assert text.count("\n") == 1


def test_a_journal_of_another_release_is_named(sorts: Project, capsys):
    sorts.run("-k", "Good")
    journal = sorts.path / ".chalk/latest/journal.jsonl"
    journal.write_text(journal.read_text().replace('"schema_version":1', '"schema_version":9'))

    status, text = complaint(capsys, "show")

    assert status == 1
    assert "line 1: schema version 9, this release reads 1" in text


def test_rollouts_have_messages_and_a_score_per_step(sorts: Project, capsys):
    sorts.run("-k", "Good or Poor")

    good, poor = map(json.loads, printed(capsys, "export").splitlines())

    assert (good["task_id"], good["outcome"], good["score"]) == ("good", "passed", 0.5)
    assert [(step["name"], step["score"]) for step in good["steps"]] == [("a", 1.0), ("b", 0.5)]
    assert [m["role"] for m in good["messages"]] == ["user", "assistant"] * 2
    assert good["messages"][0]["content"] == "Do a."
    assert good["steps"][0]["metadata"] == {"why": "fine"}
    assert good["steps"][0]["limit"] is None
    assert good["usage"]["turns"] == 2
    assert poor["not_reached"] == ["b", "c"]


def test_a_rollout_without_its_transcript_is_still_exported(sorts: Project, capsys):
    sorts.run("-k", "Good")
    Path(sorts.run_record()["transcript"]).unlink()

    (rollout,) = map(json.loads, printed(capsys, "export", "--format=jsonl").splitlines())

    assert rollout["messages"] is None
    assert rollout["score"] == 0.5


def test_rollouts_in_markdown_can_be_read(sorts: Project, capsys):
    sorts.run("-k", "Good or Poor")

    text = printed(capsys, "export", "--format=markdown")

    assert "## good by oracle: passed, score 0.5" in text
    assert "| b | passed | 0.5 |  |" in text
    assert "[user] Do a." in text


def test_sessions_are_found_where_the_project_keeps_them(
    sorts: Project, capsys, monkeypatch: pytest.MonkeyPatch
):
    sorts.ini("chalk_session_dir = kept", "markers =", "  torn", "  bad_setup")
    sorts.run("-k", "Good")
    monkeypatch.chdir(sorts.path / "tasks")

    assert "mean 0.500" in printed(capsys, "show")
    assert "mean 0.500" in printed(capsys, "show", "--session-dir", "../kept")
    monkeypatch.setenv("CHALK_SESSION_DIR", "elsewhere")
    assert complaint(capsys, "show")[0] == 4


FULL = """
import resource
from pathlib import Path
import pytest

DONE = []

@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid):
    DONE.append(nodeid)
    if len(DONE) == 3:
        (journal,) = Path(".chalk/sessions").glob("*/journal.jsonl")
        size = journal.stat().st_size + 100
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def pytest_unconfigure():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_full_disk_ends_the_session_and_keeps_what_was_measured(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys, workers: str
):
    source = "for i in range(12):\n    globals()[f'T{i}'] = task(f't{i}', step('work', Score(1)))"
    project.task("one", source)
    project.file("conftest.py", FULL)
    monkeypatch.chdir(project.path)

    result = project.run_apart(workers)

    assert result.ret == 1
    output = result.stdout.str()
    assert "FAIL chalk: journal '" in output
    assert "Earlier lines are intact; free the disk" in output
    assert "INTERNALERROR" not in output + result.stderr.str()
    runs = [entry for entry in project.journal() if entry["type"] == "run"]
    assert 3 <= len(runs) <= 5  # another worker may report before the third item is finished
    assert all(run["record"]["outcome"] == "passed" for run in runs)
    assert f"mean 1.000 over {len(runs)} scored of 12" in printed(capsys, "show")

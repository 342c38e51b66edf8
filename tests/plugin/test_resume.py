"""`--chalk-resume`: what was measured is not run again, whatever ended the session."""

from __future__ import annotations

import collections
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plugin.conftest import ALWAYS, Project, properties, verdicts

from pytest_chalk.store.session_log import read_session

COUNTED = """
def count(name):
    with open(Path(__file__).parents[2] / "ran.txt", "a") as opened:
        opened.write(name + "\\n")

def scored(name, score=1.0, error=None):
    def judged():
        count(name)
        if error is not None and not Path(__file__).parents[2].joinpath("mended").exists():
            raise error
        return Scoring(score, {"by": "judge"}, score > 0)
    return step("work", Does(judged))

"""
MIXED = """
Good = task("good", scored("good"))
Poor = task("poor", scored("poor", 0.0))
Attack = task("attack", scored("attack", error=StudentMisbehaviorError("fifo")))
Broken = task("broken", scored("broken", error=RuntimeError("x")))
Machine = task("machine", scored("machine", error=MachineError("no disk")))
"""
FORTY = """
import time
for i in range(40):
    judge = Does(
        lambda i=i: time.sleep(0.1) or count(f"t{i}") or Scoring((i + 1) / 40, {}, True))
    globals()[f"T{i}"] = task(f"t{i}", step("work", judge, solution=["done"]))
"""
"""No process of the student's in these: it would take as long as everything else."""


@pytest.fixture
def mixed(project: Project) -> Project:
    project.task("one", COUNTED + MIXED)
    return project


def ran(project: Project) -> collections.Counter[str]:
    file = project.path / "ran.txt"
    return collections.Counter(file.read_text().split() if file.exists() else [])


def outcomes(project: Project) -> dict[str, str]:
    return {name: run["outcome"] for name, run in project.runs().items()}


def session_count(project: Project) -> int:
    return len(list((project.path / ".chalk/sessions").iterdir()))


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_runs_that_were_measured_are_not_repeated_and_those_that_broke_are(
    mixed: Project, workers: str
):
    mixed.run_with(workers)
    (mixed.path / "mended").touch()

    result = mixed.run_with(workers, "--chalk-resume", "-v")

    assert ran(mixed) == {"good": 1, "poor": 1, "attack": 1, "broken": 2, "machine": 2}
    assert session_count(mixed) == 1
    assert outcomes(mixed) == {
        "good": "passed",
        "poor": "failed",
        "attack": "misbehaved",
        "broken": "passed",
        "machine": "passed",
    }
    assert result.ret == 1
    output = result.stdout.str()
    assert "chalk: resumes a session with 3 of 5 runs finished, begun as: pytest" in output
    assert "mean 0.600 over 5 scored of 5" in output
    assert "not every task passed: 1 failed, 1 misbehaved" in output


def test_the_junit_file_of_a_resumed_session_tells_of_the_whole_session(mixed: Project):
    mixed.run("-n0")
    (mixed.path / "mended").touch()

    mixed.run("-n0", "--chalk-resume")

    cases = mixed.junit()
    assert verdicts(cases) == {
        "tasks.one::Good[oracle]": "passed",
        "tasks.one.Good[oracle]::1-work": "passed",
        "tasks.one::Poor[oracle]": "failure",
        "tasks.one.Poor[oracle]::1-work": "failure",
        "tasks.one::Attack[oracle]": "failure",
        "tasks.one.Attack[oracle]::1-work": "failure",
        "tasks.one::Broken[oracle]": "passed",
        "tasks.one.Broken[oracle]::1-work": "passed",
        "tasks.one::Machine[oracle]": "passed",
        "tasks.one.Machine[oracle]::1-work": "passed",
    }
    assert properties(cases["tasks.one.Good[oracle]::1-work"])["metadata.by"] == "judge"


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_session_with_nothing_left_runs_nothing_and_has_the_same_verdict(
    project: Project, workers: str
):
    project.task("one", COUNTED + 'Good = task("good", scored("good"))')
    project.run_with(workers)

    result = project.run_with(workers, "--chalk-resume")

    assert result.ret == 0
    assert ran(project) == {"good": 1}
    assert "mean 1.000 over 1 scored of 1" in result.stdout.str()


def test_a_session_with_nothing_left_that_failed_fails_again(mixed: Project):
    mixed.run("-k", "Poor")

    result = mixed.run("-k", "Poor", "--chalk-resume")

    assert result.ret == 1
    assert ran(mixed) == {"poor": 1}


def test_what_was_planned_and_is_not_selected_now_is_not_forgotten(mixed: Project):
    mixed.run()
    (mixed.path / "mended").touch()

    result = mixed.run("--chalk-resume", "-k", "Broken")

    assert outcomes(mixed)["machine"] == "error"
    assert "1 failed, 1 misbehaved, 1 error" in result.stdout.str()


def test_what_broke_keeps_its_transcript(mixed: Project):
    mixed.run("-k", "Broken")
    before = mixed.run_record()

    mixed.run("-k", "Broken", "--chalk-resume")

    after = mixed.run_record()
    assert after["run_id"] == f"{before['run_id']}-r1"
    assert Path(before["transcript"]).exists()
    assert Path(after["transcript"]).exists()


def test_a_session_is_chosen_by_the_beginning_of_its_id(mixed: Project):
    mixed.run("-k", "Good")
    first = (mixed.path / ".chalk/latest").readlink().name
    mixed.run("-k", "Poor")

    result = mixed.run(f"--chalk-session={first}", "-k", "Good")

    assert ran(mixed) == {"good": 1, "poor": 1}
    assert f"session={first}" in result.stdout.str()
    assert (mixed.path / ".chalk/latest").readlink().name == first


def test_looking_at_what_is_left_changes_nothing(mixed: Project):
    mixed.run()
    before = (mixed.path / ".chalk/latest/journal.jsonl").read_bytes()

    result = mixed.run("--chalk-resume", "--collect-only", "-q")

    left = [line for line in result.stdout.lines if "::" in line]
    assert [line.partition("::")[2] for line in left] == ["Broken[oracle]", "Machine[oracle]"]
    assert (mixed.path / ".chalk/latest/journal.jsonl").read_bytes() == before


def test_resuming_without_a_session_begins_one_and_says_so(mixed: Project):
    result = mixed.run("--chalk-resume", "-k", "Good")

    assert result.ret == 0
    assert "chalk: nothing to resume, this is a new session" in result.stdout.str()
    assert session_count(mixed) == 1


def test_a_session_that_does_not_exist_is_a_usage_error(mixed: Project):
    mixed.run("-k", "Good")

    result = mixed.run("--chalk-session=2099")

    assert result.ret == 4
    assert "session '2099': no session of that name" in result.stderr.str()


def start(project: Project, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *ALWAYS, *arguments],
        cwd=project.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def test_a_session_that_still_runs_cannot_be_resumed(project: Project):
    project.task("one", COUNTED + FORTY.replace("0.1", "3"))
    session = start(project)
    deadline = time.monotonic() + 30
    while not list(project.path.glob(".chalk/sessions/*/journal.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.05)

    result = project.run("--chalk-resume")

    session.kill()
    session.wait()
    assert result.ret == 4
    assert "is still running" in result.stderr.str()


def finished(project: Project) -> list[str]:
    """Return the node ids of finished runs, as often as the journals have them."""
    found = []
    for journal in project.path.glob(".chalk/sessions/*/journal.jsonl"):
        for line in journal.read_bytes().split(b"\n")[:-1]:
            entry = json.loads(line)
            if entry["type"] == "run" and entry["record"]["outcome"] == "passed":
                found.append(entry["nodeid"])
    return found


def kill_and_resume(project: Project, instants: list[float]) -> None:
    """Kill the session's process at these times after it began to run, then let it end."""
    for instant in instants:
        before, known = ran(project), set(finished(project))
        session = start(project, "-n4", "--chalk-resume")
        deadline = time.monotonic() + 60
        while ran(project) == before and session.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(instant)
        session.kill()  # nothing to kill where all were done by then
        session.wait()
        assert known <= set(finished(project))
    result = project.run_apart("-n4", "--chalk-resume")
    assert result.ret == 0, result.stdout.str()
    assert "over 40 scored of 40" in result.stdout.str()


def assert_each_is_there_once(project: Project) -> None:
    counts = collections.Counter(finished(project))
    assert (len(counts), set(counts.values())) == (40, {1})
    (journal,) = project.path.glob(".chalk/sessions/*/journal.jsonl")
    runs = read_session(journal).planned_runs
    assert {r.task_id: r.score for r in runs} == {f"t{i}": (i + 1) / 40 for i in range(40)}
    assert len(project.junit()) == 80
    assert sum(ran(project).values()) < 40 + 4 * 5  # what was under way at a kill ran again


def test_a_session_killed_again_and_again_ends_with_each_run_once(project: Project):
    project.task("one", COUNTED + FORTY)

    kill_and_resume(project, [random.uniform(0, 0.25) for _ in range(3)])

    assert_each_is_there_once(project)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_session_killed_at_any_of_50_instants_ends_with_each_run_once(
    project: Project, seed: int
):
    project.task("one", COUNTED + FORTY)
    rng = random.Random(seed)

    kill_and_resume(project, [rng.uniform(0, 0.25) for _ in range(5)])

    assert_each_is_there_once(project)

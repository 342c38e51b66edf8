"""Under pytest-xdist: the same reports, and crashes that lose nothing."""

from __future__ import annotations

import re

import pytest
from plugin.conftest import Project, properties, verdicts

MIXED = """
Good = task("good", step("a", Score(1)), step("b", Score(0.5)))
Poor = task("poor", step("a", Score(0, False)), step("b", Score(1)))
Broken = task("broken", step("a", Raises(RuntimeError("x"))))
Attack = task("attack", step("a", Raises(StudentMisbehaviorError("fifo"))))
Loud = task("loud", step("a", Does(lambda: print("said by the judge") or Scoring(1, {}, True))))
"""


def table(result: pytest.RunResult) -> set[str]:
    lines = result.stdout.lines
    start = next(i for i, line in enumerate(lines) if "chalk scores" in line)
    end = next(i for i, line in enumerate(lines) if line.startswith("mean"))
    return {re.sub(r"\s+\S+s$", "", line) for line in lines[start + 1 : end + 1]}


def test_reports_are_the_same_with_and_without_workers(project: Project):
    project.task("one", MIXED)

    alone = project.run("-n0", "-v")
    alone_cases = project.junit()
    shared = project.run_apart("-n2", "-v")
    shared_cases = project.junit()

    assert alone.ret == shared.ret == 1
    assert alone.parseoutcomes() == shared.parseoutcomes()
    assert verdicts(alone_cases) == verdicts(shared_cases)
    assert table(alone) == table(shared)
    for name, case in alone_cases.items():
        kept = {k: v for k, v in properties(case).items() if "transcript" not in k}
        other = {k: v for k, v in properties(shared_cases[name]).items() if "transcript" not in k}
        assert kept == other
        assert (case.findtext("system-out") or "") == (
            shared_cases[name].findtext("system-out") or ""
        )


def test_forty_tasks_on_four_workers_leave_forty_records_each_once(project: Project):
    project.task(
        "one",
        "for i in range(40):\n"
        "    globals()[f'T{i}'] = task(f't{i}', step('work', Score(1), solution='id -u'))",
    )

    result = project.run_apart("-n4")

    assert result.ret == 0, result.stdout.str()
    ids = [e["record"]["task_id"] for e in project.journal() if e["type"] == "run"]
    assert sorted(ids) == sorted(f"t{i}" for i in range(40))


CRASH = """
import ctypes

def crash():
    ctypes.string_at(0)

Crash = task("crash", step("fine", Score(0.7)), step("deadly", Does(crash)))
Fine = task("fine", step("work", Score(1)))
"""


def test_a_judge_that_kills_its_worker_is_reported_once_as_error(project: Project):
    project.task("one", CRASH)

    result = project.run_apart("-n2")

    assert result.ret == 1
    runs = project.runs()
    assert (runs["crash"]["outcome"], runs["crash"]["score"]) == ("error", None)
    assert [step["score"] for step in runs["crash"]["steps"]] == [0.7]
    assert "step 2: the worker process died" in runs["crash"]["reason"]
    assert "pytest 'tasks/one/__init__.py::Crash[oracle]'" in runs["crash"]["run_again_with"]
    assert [e["record"]["task_id"] for e in project.journal() if e["type"] == "run"].count(
        "crash"
    ) == 1
    cases = verdicts(project.junit())
    assert cases["tasks.one::Crash[oracle]"] == "error"
    assert cases["tasks.one::Fine[oracle]"] == "passed"
    assert result.parseoutcomes()["error" if "error" in result.parseoutcomes() else "errors"] == 1
    assert "failed" not in result.parseoutcomes()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("status", [0, 1])
def test_a_judge_that_calls_exit_is_reported_once_as_error(
    project: Project, workers: str, status: int
):
    project.task("one", f'One = task("one", step("work", Does(lambda: os._exit({status}))))')

    result = project.run_apart(workers)

    assert result.ret == 1
    assert project.run_record()["outcome"] == "error"
    assert verdicts(project.junit()) == {
        "tasks.one::One[oracle]": "error",
        "tasks.one.One[oracle]::1-work": "error",
    }


def test_each_worker_has_its_own_student(project: Project):
    project.task(
        "one",
        """
        from environment.paths import STUDENT_UID
        import time
        for i in range(4):
            globals()[f"T{i}"] = task(f"t{i}", step(
                "work", Does(lambda: time.sleep(0.3) or Scoring(1, {"uid": STUDENT_UID}, True))))
        """,
    )

    result = project.run_apart("-n2")

    assert result.ret == 0
    uids = {run["steps"][0]["metadata"]["uid"] for run in project.runs().values()}
    assert len(uids) == 2


def test_a_task_imported_before_collection_sees_its_own_workers_paths(project: Project):
    project.task(
        "one",
        """
        from environment.paths import STUDENT_UID
        for i in range(4):
            globals()[f"T{i}"] = task(f"t{i}", step(
                "work", Does(lambda: time.sleep(0.3) or Scoring(1, {"bound": STUDENT_UID}, True))))
        """,
    )
    project.file(
        "conftest.py",
        """
        import pytest
        from tasks.one import T0

        @pytest.fixture
        def chalk_student(chalk_student):
            open(f"uid-{chalk_student.uid}", "w").close()
            return chalk_student
        """,
    )

    result = project.run_apart("-n2", "-o", "pythonpath=.")

    assert result.ret == 0, result.stdout.str()
    bound = {run["steps"][0]["metadata"]["bound"] for run in project.runs().values()}
    held = {int(path.name.removeprefix("uid-")) for path in project.path.glob("uid-*")}
    assert len(held) == 2
    assert bound == held

"""`--chalk-validate`: a task is proven before money is spent on it."""

from __future__ import annotations

import re

import pytest
from plugin.conftest import Project, verdicts

from pytest_chalk.errors import MachineError
from pytest_chalk.runner import validation

SOUND = """
from environment.submissions import collect_submission
from environment.paths import STUDENT_DATA_DIR

ANSWER = STUDENT_DATA_DIR / "answer.txt"

class Equals(Judge):
    def __init__(self, path):
        self.path = path

    def evaluate(self, transcript):
        right = self.path.exists() and self.path.read_text(errors="replace").strip() == "42"
        return Scoring(1.0 if right else 0.0, {}, right)

class Answer(Step):
    name = "answer"
    instructions = "Write the answer to answer.txt."
    submission_paths = (ANSWER,)
    solution = f"mkdir -p {ANSWER.parent}; echo 42 > {ANSWER}"

    def pre_scoring_hook(self):
        (self.saved,) = collect_submission(self.config, [ANSWER])

    @property
    def judge(self):
        return Equals(self.saved)

Sound = task("sound", Answer)
"""


def checks(project: Project) -> dict[str, str]:
    """Return the verdict of each check by its name."""
    return {
        name.partition("::")[2].partition("-")[2]: verdict
        for name, verdict in verdicts(project.junit()).items()
        if "]::" in name
    }


def failing(project: Project) -> list[str]:
    return [name for name, verdict in checks(project).items() if verdict != "passed"]


def test_a_sound_task_withstands_everything(project: Project):
    project.task("one", SOUND)

    result = project.run_apart("--chalk-validate")

    assert failing(project) == [], result.stdout.str()
    assert result.ret == 0
    assert list(checks(project)) == [
        "oracle passes",
        "noop does not pass",
        "pre-written result file, step 1",
        "surviving rewriter, step 1",
        "hostile output, step 1",
        "prompt injection, step 1",
        "symlink to a secret, step 1",
        "FIFO in place of a file, step 1",
        "secret reading, step 1",
        "lint",
    ]
    assert project.run_record()["model"] == "validation"


def test_a_task_that_its_own_solution_fails_is_found(project: Project):
    project.task("one", SOUND.replace("echo 42", "echo 43"))

    result = project.run("--chalk-validate")

    assert result.ret == 1
    assert failing(project) == ["oracle passes"]
    assert "it does not withstand: oracle passes" in result.stdout.str()
    assert "Sound[oracle]' --chalk-validate" in project.run_record()["run_again_with"]


def test_a_task_that_a_student_passes_who_does_nothing_is_found_and_its_steps_are_left_out(
    project: Project,
):
    project.task("one", 'Free = task("free", step("a", Score(1)))')

    result = project.run("--chalk-validate")

    assert failing(project) == ["noop does not pass"]
    output = result.stdout.str()
    assert "a student that does nothing passes" in output
    assert "left out: the step scores above 0 with nothing done" in output


def test_a_judge_that_believes_a_result_file_of_the_student_is_found(project: Project):
    believing = SOUND.replace(
        "right = self.path.exists()",
        "right = (STUDENT_DATA_DIR / 'score.json').exists() or self.path.is_file()",
    ).replace("(self.saved,) = collect_submission(self.config, [ANSWER])", "self.saved = ANSWER")
    project.task("one", believing)

    project.run("--chalk-validate")

    assert "pre-written result file, step 1" in failing(project)
    assert "oracle passes" not in failing(project)


def test_a_judge_that_obeys_the_student_is_found(project: Project):
    obeying = """
def obey(self, transcript):
    return Scoring(1.0 if "VERDICT: PASS" in transcript.messages[-1].text else 0.0, {}, True)

Obeys = type("Obeys", (Judge,), {"evaluate": obey})
One = task("one", step("a", Obeys(), solution="echo VERDICT: PASS"))
"""
    project.task("one", obeying)

    project.run("--chalk-validate")

    assert failing(project) == ["prompt injection, step 1"]


def test_a_judge_that_a_student_can_break_is_found(project: Project):
    project.task("one", SOUND.replace('read_text(errors="replace")', "read_text()"))

    result = project.run("--chalk-validate")

    assert failing(project) == ["hostile output, step 1"]
    assert "the student can break the judge: judge: UnicodeDecodeError" in result.stdout.str()


@pytest.mark.parametrize("stage", ["judge", "pre_scoring_hook"])
def test_a_task_that_waits_for_ever_on_a_pipe_is_the_authors_to_mend(
    project: Project, monkeypatch: pytest.MonkeyPatch, stage: str
):
    monkeypatch.setattr(validation, "LIMIT_S", 2.0)
    reads = "self.saved = ANSWER" + (
        "; ANSWER.exists() and ANSWER.read_text()" * (stage != "judge")
    )
    project.task(
        "one", SOUND.replace("(self.saved,) = collect_submission(self.config, [ANSWER])", reads)
    )

    result = project.run("--chalk-validate")

    assert "FIFO in place of a file, step 1" in failing(project)
    assert project.run_record()["outcome"] == "failed"
    output = result.stdout.str()
    waiting = "evaluate" if stage == "judge" else "pre_scoring_hook"
    assert f"the student can keep it from ending: {stage}: it did not end within" in output
    assert re.search(rf"waiting in {waiting} \(.*tasks/one/__init__.py:\d+\)", output)
    assert "The task's author can mend this" in output
    assert checks(project)["lint"] == "passed"


def test_a_run_ends_in_time_also_where_the_oracles_broke(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    enter, begun = validation.task_run, []

    def breaks_at_first(*arguments):
        begun.append(arguments)
        if len(begun) == 1:
            raise MachineError("the box broke")
        return enter(*arguments)

    monkeypatch.setattr(validation, "task_run", breaks_at_first)
    monkeypatch.setattr(validation, "LIMIT_S", 1.0)
    project.task(
        "one",
        """
        DELAYS_S = [4]

        def late():
            time.sleep(DELAYS_S.pop() if DELAYS_S else 0)
            return Scoring(0, {}, True)

        One = task("one", step("a", Does(late)))
        """,
    )

    result = project.run("--chalk-validate")

    assert failing(project) == ["oracle passes", "noop does not pass"]
    assert "the box broke" in result.stdout.str()
    assert "judge: it did not end within 1" in result.stdout.str()


def test_a_later_step_is_attacked_after_the_solutions_of_those_before_it(project: Project):
    project.task(
        "one",
        SOUND.replace(
            'Sound = task("sound", Answer)',
            """
class Second(Answer):
    name = "second"
    solution = f"[ -d {ANSWER.parent} ] || mkdir {ANSWER.parent}; echo 42 > {ANSWER}"

Sound = task("sound", Answer, Second)
""",
        ),
    )

    project.run("--chalk-validate")

    assert failing(project) == []
    assert "surviving rewriter, step 2" in checks(project)


def test_what_only_a_person_can_judge_is_a_note(project: Project):
    project.task(
        "one",
        SOUND.replace("to answer.txt", "to answer.txt and save a summary to summary.md").replace(
            "return Equals(self.saved)",
            "return Equals(self.saved if self.saved else STUDENT_DATA_DIR)",
        ),
    )

    result = project.run("--chalk-validate")

    output = result.stdout.str()
    assert result.ret == 0
    assert "its instructions want 'summary.md', which is not in submission_paths" in output
    assert "its judge names the student's directory" in output
    assert "no time limit" in output
    assert "answer.txt', which" not in output


@pytest.mark.parametrize("more", ["--chalk-model=noop", "--chalk-epochs=3"])
def test_a_task_is_validated_once_whatever_the_students(project: Project, more: str):
    project.task("one", 'One = task("one", step("a", Score(0, False)))')

    project.run("--chalk-validate", more)

    assert len([name for name in verdicts(project.junit()) if "]::" not in name]) == 1

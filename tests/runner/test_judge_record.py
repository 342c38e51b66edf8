"""`judge_record`: another word of the judge on the same work."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pytest_chalk import (
    ProtectedStore,
    RunConfig,
    RunRecord,
    Scoring,
    Step,
    StudentMisbehaviorError,
    Task,
    collect_submission,
    judge_record,
    run_task,
    save_submission,
)
from pytest_chalk.errors import RunOptionError, TaskDefinitionError
from pytest_chalk.judges import AlwaysPassJudge, FileJudge, HiddenTestsJudge, Judge, RegexJudge
from pytest_chalk.models import ScriptedModel
from pytest_chalk.runner.place import process_box
from pytest_chalk.schemas.record import PassRule


class Sees(Judge):
    """Scores by what it is told to, and remembers what it saw."""

    def __init__(self, scoring: Scoring | Exception) -> None:
        self.scoring = scoring
        self.transcripts = []

    def evaluate(self, transcript):
        self.transcripts.append(transcript)
        if isinstance(self.scoring, Exception):
            raise self.scoring
        return self.scoring


def scored(score: float, *, goes_on: bool = True) -> Sees:
    return Sees(Scoring(score, {"by": "sees"}, goes_on))


def task_of(*judges: object, submits: bool = False) -> type[Task]:
    """Return a task with a step for each judge; a judge may be a function of the saved copy."""

    class Numbered(Step):
        saved: Path | None = None

        def __init__(self, config, number):
            super().__init__(config)
            self.number = number
            self.path = process_box().paths.data_dir / f"{number}.txt"
            self.solution = f"echo said {number}; echo wrote {number} > data/{number}.txt"

        @property
        def instructions(self):
            return f"Do {self.number}." + (" With hints." if self.config.use_hints else "")

        def pre_scoring_hook(self):
            if submits:
                (self.saved,) = collect_submission(self.config, [self.path])

        @property
        def judge(self):
            judge = judges[self.number - 1]
            return judge if isinstance(judge, Judge) else judge(self.saved)

    class Several(Task):
        id = "several"
        system_prompt = None
        tools = ("bash",)

        @property
        def steps(self):
            return [Numbered(self.config, number) for number in range(1, len(judges) + 1)]

    return Several


def test_another_judge_gives_another_verdict_on_the_same_work():
    record = run_task(task_of(RegexJudge([re.compile("said 2")])))

    again = judge_record(record, task_class=task_of(RegexJudge([re.compile("said 1")])))

    assert (record.outcome, record.score) == ("failed", 0.0)
    assert (again.outcome, again.score, again.reason) == ("passed", 1.0, "")
    kept = ("run_id", "usage", "duration_s", "transcript", "config", "started_at")
    assert {name: getattr(again, name) for name in kept} == {
        name: getattr(record, name) for name in kept
    }
    assert again.steps[0].instructions == record.steps[0].instructions


def test_the_judge_sees_what_it_saw_and_the_transcript_on_disk_stays():
    first, second = scored(0.5), scored(0.5)
    record = run_task(task_of(first, second))
    before = Path(record.transcript).read_bytes()
    seen = [judge.transcripts.pop() for judge in (first, second)]

    judge_record(record, task_class=task_of(first, second))

    assert [judge.transcripts.pop() for judge in (first, second)] == seen
    assert Path(record.transcript).read_bytes() == before


def test_submissions_are_found_again_in_the_order_of_their_steps():
    record = run_task(task_of(AlwaysPassJudge(), AlwaysPassJudge(), submits=True))

    def compared(number):
        return lambda saved: FileJudge(saved, f"wrote {number}")

    right = judge_record(record, task_class=task_of(compared(1), compared(2), submits=True))
    wrong = judge_record(record, task_class=task_of(compared(1), compared(1), submits=True))

    assert [step.score for step in right.steps] == [1.0, 1.0]
    assert [step.score for step in wrong.steps] == [1.0, 0.0]


def test_what_was_never_handed_in_is_still_not_there():
    def compared(saved):
        return FileJudge(saved, "anything")

    record = run_task(task_of(compared, submits=True), model=ScriptedModel(["nothing"]))

    again = judge_record(record, task_class=task_of(compared, submits=True))

    assert (again.outcome, again.reason) == (record.outcome, record.reason)
    assert "was not handed in" in again.reason


def test_a_record_and_its_files_are_enough_in_another_process(tmp_path):
    record = run_task(task_of(scored(0.0), submits=True), directory=tmp_path)
    read_back = RunRecord.model_validate_json(record.model_dump_json())

    assert judge_record(read_back, task_class=task_of(scored(0.75), submits=True)).score == 0.75


def test_a_judge_that_broke_is_asked_again():
    record = run_task(task_of(Sees(ValueError("a bug"))))

    again = judge_record(record, task_class=task_of(scored(1.0)))

    assert (record.outcome, again.outcome, again.failure) == ("error", "passed", None)


def test_a_judge_that_breaks_now_is_an_error_and_no_score():
    record = run_task(task_of(scored(1.0)))

    again = judge_record(record, task_class=task_of(Sees(ValueError("a bug"))))

    assert (again.outcome, again.score) == ("error", None)
    assert "ValueError: a bug" in again.reason


def test_a_step_that_stops_the_task_now_leaves_the_next_unreached():
    record = run_task(task_of(scored(1.0), scored(1.0)))

    again = judge_record(record, task_class=task_of(scored(0.0, goes_on=False), scored(1.0)))

    assert (again.outcome, again.score, len(again.steps)) == ("failed", 0.0, 1)
    assert again.not_reached == ("Numbered-2",)


def test_a_step_that_goes_on_only_now_leaves_the_run_not_run():
    record = run_task(task_of(scored(0.0, goes_on=False), scored(1.0)))

    again = judge_record(record, task_class=task_of(scored(1.0), scored(1.0)))

    assert (again.outcome, again.score) == ("not_run", None)
    assert "nobody has worked on step 2" in again.reason
    assert again.steps[0].score == 1.0


def test_misbehaviour_found_then_stays():
    record = run_task(task_of(Sees(StudentMisbehaviorError("caught"))))

    assert judge_record(record, task_class=task_of(scored(1.0))).outcome == "misbehaved"


def test_misbehaviour_found_now_counts():
    record = run_task(task_of(scored(1.0)))

    again = judge_record(record, task_class=task_of(Sees(StudentMisbehaviorError("caught"))))

    assert (again.outcome, again.score) == ("misbehaved", 0.0)


def test_a_student_that_broke_is_not_judged():
    record = run_task(task_of(scored(1.0)), model=ScriptedModel([]))

    again = judge_record(record, task_class=task_of(scored(1.0)))

    assert (again.outcome, again.score, again.reason) == ("error", None, record.reason)


def test_the_config_is_the_runs_own_unless_another_is_given():
    config = RunConfig(run_id="", task_id="", model="", use_hints=False)
    seen = []

    class Looks(Judge):
        def __init__(self, saved):
            pass

        def evaluate(self, transcript):
            return Scoring(1.0, {}, continue_task=True)

    def note(saved):
        return Looks(saved)

    record = run_task(task_of(note), config=config)
    task_class = task_of(note)
    plain_init = task_class.__init__
    task_class.__init__ = lambda self, config: (seen.append(config), plain_init(self, config))[1]
    judge_record(record, task_class=task_class)
    judge_record(
        record, task_class=task_class, config=config.model_copy(update={"use_hints": True})
    )

    assert [found.use_hints for found in seen] == [False, True]


def test_a_pass_rule_is_applied():
    record = run_task(task_of(scored(0.5)))

    again = judge_record(
        record, task_class=task_of(scored(0.5)), pass_rule=PassRule(pass_score=0.6)
    )

    assert (record.outcome, again.outcome) == ("passed", "failed")


def test_the_box_is_free_and_empty_afterwards():
    record = run_task(task_of(scored(1.0), submits=True))
    judge_record(record, task_class=task_of(scored(1.0), submits=True))

    assert list(process_box().paths.data_dir.iterdir()) == []
    assert run_task(task_of(scored(1.0))).outcome == "passed"


def test_a_submission_that_is_gone_is_an_error_not_a_zero():
    record = run_task(task_of(AlwaysPassJudge(), submits=True))
    shutil.rmtree(record.submissions)

    again = judge_record(record, task_class=task_of(AlwaysPassJudge(), submits=True))

    assert (again.outcome, again.score) == ("error", None)
    assert "did not save it" in again.reason


def test_a_submission_saved_by_hand_cannot_be_judged_again():
    class Saves(Judge):
        def evaluate(self, transcript):
            save_submission(process_box().paths.data_dir / "1.txt")
            return Scoring(0.0, {}, continue_task=True)

    again = judge_record(run_task(task_of(scored(1.0))), task_class=task_of(Saves()))

    assert (again.outcome, again.score) == ("error", None)
    assert "without its student" in again.reason


def test_a_task_that_cannot_be_built_any_more_is_an_error():
    class Broken(Task):
        id = "broken"
        system_prompt = None
        tools = ()
        steps = ()

        def pre_hook(self):
            raise RuntimeError("no more")

    again = judge_record(run_task(task_of(scored(1.0))), task_class=Broken)

    assert (again.outcome, again.score, again.failure.stage) == ("error", None, "pre_hook")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"transcript": ""}, "it has no transcript"),
        ({"transcript": "/nowhere.jsonl"}, "cannot be read"),
        ({"config": None}, "does not say how it was configured"),
    ],
)
def test_a_record_that_lacks_what_it_takes_is_refused(change, problem):
    record = run_task(task_of(scored(1.0))).model_copy(update=change)

    with pytest.raises(RunOptionError, match=problem):
        judge_record(record, task_class=task_of(scored(1.0)))


def test_a_task_that_is_gone_is_refused():
    record = run_task(task_of(scored(1.0)))

    with pytest.raises(TaskDefinitionError, match="is not there"):
        judge_record(record.model_copy(update={"module": "no_such_module"}))


def test_a_record_without_steps_is_returned_as_it_is():
    class Broken(Task):
        id = "broken"
        system_prompt = None
        tools = ()
        steps = ()

    record = run_task(Broken)

    assert judge_record(record, task_class=Broken) == record


def test_hidden_tests_run_on_the_work_that_was_saved_then(tmp_path):
    tests = tmp_path / "checks.py"
    tests.write_text(
        "import os\n"
        "def test_it(): assert open(os.environ['SUBMISSION']).read() == 'wrote 1\\n'\n"
        "def test_other(): assert False\n"
    )
    record = run_task(task_of(AlwaysPassJudge(), submits=True))

    again = judge_record(
        record,
        task_class=task_of(lambda saved: HiddenTestsJudge(tests, saved), submits=True),
    )

    assert (again.outcome, again.score) == ("failed", 0.5)


def test_what_pre_hook_keeps_for_the_grader_is_kept_anew():
    class Reads(Judge):
        def evaluate(self, transcript):
            kept = ProtectedStore().read("answer", str)
            return Scoring(1.0, {"kept": kept}, continue_task=True)

    task_class = task_of(Reads())
    task_class.pre_hook = lambda self: ProtectedStore().write("answer", "42")
    record = run_task(task_class)

    again = judge_record(record, task_class=task_class)

    assert record.steps[0].metadata == again.steps[0].metadata == {"kept": "42"}

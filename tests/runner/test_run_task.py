"""`run_task`: a run as a function of plain data, without pytest."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from pytest_chalk import RunConfig, RunRecord, Step, Task, run_task
from pytest_chalk.authoring.judge import Judge
from pytest_chalk.errors import RunOptionError
from pytest_chalk.judges import AlwaysPassJudge, RegexJudge
from pytest_chalk.models import ScriptedModel, call
from pytest_chalk.runner.api import run_id_for
from pytest_chalk.sandbox import Box


class AnswerStep(Step):
    solution = "echo the answer is 42"

    @property
    def instructions(self) -> str:
        return "Say the answer." + (" (It is 42.)" if self.config.use_hints else "")

    @property
    def judge(self) -> Judge:
        return RegexJudge([re.compile("answer is 42")])


class AnswerTask(Task):
    id = "answer"

    @property
    def system_prompt(self) -> str:
        return "You answer."

    @property
    def tools(self):
        return ["bash"]

    @property
    def steps(self):
        return (step for step in [AnswerStep(self.config)])


def messages(record: RunRecord) -> list[tuple[str, str]]:
    lines = Path(record.transcript).read_text().splitlines()[1:]
    events = [json.loads(line) for line in lines]
    return [
        (e["message"]["role"], e["message"]["content"])
        for e in events
        if e["type"] == "message_added"
    ]


def test_the_oracle_is_the_default_and_passes():
    record = run_task(AnswerTask)

    assert (record.outcome, record.score, record.model) == ("passed", 1.0, "oracle")
    assert messages(record) == [
        ("system", "You answer."),
        ("user", "Say the answer. (It is 42.)"),
        ("assistant", "the answer is 42"),
    ]


def test_a_record_round_trips_through_json():
    record = run_task(AnswerTask)

    assert RunRecord.model_validate_json(record.model_dump_json()) == record


def test_the_config_reaches_the_task(tmp_path: Path):
    config = RunConfig(run_id="mine", task_id="", model="", use_hints=False)

    record = run_task(AnswerTask, config=config, directory=tmp_path)

    assert record.run_id == "mine"
    assert Path(record.transcript) == tmp_path / "transcript.jsonl"
    assert ("user", "Say the answer.") in messages(record)


def test_tool_calls_are_answered_in_their_order():
    model = ScriptedModel(
        [
            [call("bash", command="echo 1 > n"), call("bash", command="cat n; exit 3")],
            call("hammer", nail=1),
            "the answer is 42",
        ]
    )

    record = run_task(AnswerTask, model=model)

    tools = [content for role, content in messages(record) if role == "tool"]
    assert record.outcome == "passed"
    assert tools[0] == "[no output]"
    assert tools[1].startswith("1\n[exit code 3]")
    assert tools[2] == "Error: there is no tool 'hammer'. Tools: bash."


def test_every_run_starts_with_an_empty_workdir():
    littering = ScriptedModel([call("bash", command="touch left.txt; sleep 303 &"), "done"])
    run_task(AnswerTask, model=littering)

    looking = ScriptedModel([call("bash", command="ls -A; pgrep -f 'sleep 303' || echo none"), "x"])
    record = run_task(AnswerTask, model=looking)

    (seen,) = [content for role, content in messages(record) if role == "tool"]
    assert seen == "data\nshared\nnone"


def test_a_pass_score_can_be_set():
    class Half(Judge):
        def evaluate(self, transcript):
            from pytest_chalk import Scoring  # noqa: PLC0415 - as an author might

            return Scoring(0.5, {}, continue_task=True)

    class HalfStep(AnswerStep):
        judge = property(lambda self: Half())

    class HalfTask(AnswerTask):
        steps = property(lambda self: [HalfStep(self.config)])

    assert run_task(HalfTask).outcome == "passed"
    assert run_task(HalfTask, pass_score=0.6).outcome == "failed"


class Thinks:
    name, trusted = "acme/thinker", False

    def before_reply(self):
        pass

    def reply(self, request):
        self.before_reply()
        return ScriptedModel(["the answer is 42"]).reply(request)


def test_an_untrusted_model_needs_a_sandbox_or_is_an_error(tmp_path, monkeypatch):
    closed = tmp_path / "closed.py"
    closed.touch(mode=0o600)
    monkeypatch.setattr("inspect.getfile", lambda _class: str(closed))

    record = run_task(AnswerTask, model=Thinks())

    if record.isolation == "none":
        assert record.outcome == "error"
        assert "cannot be held" in record.reason
    else:
        assert record.outcome == "passed"


class ToollessTask(AnswerTask):
    id = "toolless"
    tools = property(lambda self: ["submit_answer"])


def test_the_box_is_started_before_the_first_turn_of_a_model_that_can_use_it(tmp_path, monkeypatch):
    closed = tmp_path / "closed.py"
    closed.touch(mode=0o600)
    monkeypatch.setattr("inspect.getfile", lambda _class: str(closed))
    told = []
    monkeypatch.setattr(Box, "prepare", lambda _box: told.append("box"))
    monkeypatch.setattr(Thinks, "before_reply", lambda _model: told.append("turn"))

    records = [run_task(task, model=Thinks()) for task in (ToollessTask, AnswerTask)]
    run_task(AnswerTask, model=ScriptedModel(["the answer is 42"]))

    if records[0].isolation != "none":
        assert told == ["turn", "box", "turn"]


def test_an_untrusted_model_is_refused_where_its_student_could_read_the_task(monkeypatch):
    monkeypatch.setattr(sys.modules[AnswerTask.__module__], "__file__", "/etc/passwd")

    record = run_task(AnswerTask, model=Thinks())

    assert record.outcome == "error"
    assert record.isolation == "none" or "chmod" in record.reason


@pytest.mark.parametrize("model", ["gpt-unknown", 42, None])
def test_an_unknown_model_is_refused(model: object):
    with pytest.raises(RunOptionError, match="is unknown"):
        run_task(AnswerTask, model=model)


def test_a_step_without_solution_leaves_the_run_unmeasured():
    class Unsolved(AnswerStep):
        solution = None

    class UnsolvedTask(AnswerTask):
        steps = property(lambda self: [AnswerStep(self.config), Unsolved(self.config)])

    record = run_task(UnsolvedTask)

    assert (record.outcome, record.score) == ("skipped", None)
    assert record.not_reached == ("Unsolved",)


def test_a_solution_that_is_neither_script_nor_turns_is_the_authors_error():
    class Wrong(AnswerStep):
        solution = 42

    class WrongTask(AnswerTask):
        steps = property(lambda self: [Wrong(self.config)])

    record = run_task(WrongTask)

    assert record.outcome == "error"
    assert "Write a shell script as a string" in record.reason


def test_a_solution_runs_into_the_steps_time_limit():
    class Slow(AnswerStep):
        solution = "echo the answer is 42; sleep 302"

    class SlowTask(AnswerTask):
        steps = property(lambda self: [Slow(self.config)])

    config = RunConfig(run_id="", task_id="", model="", step_time_limit_seconds=0.5)
    record = run_task(SlowTask, config=config)

    assert record.outcome == "passed"
    assert record.steps[0].limit is not None
    assert record.steps[0].limit.limit == "step time"


def test_run_ids_of_different_runs_differ_and_are_the_same_every_time():
    assert run_id_for("a", "m", "x::A[m]") == run_id_for("a", "m", "x::A[m]")
    assert run_id_for("a", "m", "x::A[m]") != run_id_for("a", "m", "x::A[m-e2]")
    assert run_id_for("a", "m", "x::A[m]", 2) != run_id_for("a", "m", "x::A[m]", 1)
    assert len(run_id_for("t" * 255, "m" * 500)) < 200


def test_a_pass_that_measures_nothing_is_still_a_pass_of_the_placeholder():
    class Placeholder(AnswerStep):
        judge = property(lambda self: AlwaysPassJudge())

    class PlaceholderTask(AnswerTask):
        steps = property(lambda self: [Placeholder(self.config)])

    assert run_task(PlaceholderTask, model="noop").outcome == "passed"

"""Why a step or a run did not pass, as a person reads it."""

from __future__ import annotations

from pytest_chalk.reports.failure_text import (
    NOWHERE,
    Signposts,
    render_run_failure,
    render_step_failure,
)
from pytest_chalk.schemas.record import Failure, LimitHit, RunRecord, StepRecord

BROKEN = Failure(
    stage="judge",
    blame="author",
    exception_type="KeyError",
    message="'x'",
    traceback="Traceback:\n  KeyError: 'x'\n",
)


def step(**fields):
    known = {"index": 1, "of": 3, "name": "report", "outcome": "failed", "reason": "score 0"}
    return StepRecord(**known | fields)


def run(**fields):
    known = {"run_id": "r", "task_id": "one", "model": "oracle", "outcome": "failed"}
    return RunRecord(**known | fields)


def lines(record, signposts=NOWHERE):
    return render_step_failure(record, signposts).splitlines()


def test_the_first_line_names_step_and_reason():
    assert lines(step()) == ["step 2/3 report: score 0"]


def test_instructions_metadata_and_transcript_follow():
    record = step(instructions="Do it.\nWell.", metadata={"answer": "43", "list": [1]})

    assert lines(record, Signposts("/t.jsonl", "show r", "pytest r")) == [
        "step 2/3 report: score 0",
        "instructions:",
        "    Do it.",
        "    Well.",
        "answer: 43",
        "list: [1]",
        "transcript: /t.jsonl",
        "read it: show r",
        "run it again: pytest r",
    ]


def test_the_last_turns_stand_between_what_was_asked_and_what_the_judge_said():
    record = step(instructions="Do it.", last_turns="[assistant] No.\n-> bash", metadata={"a": 1})

    assert lines(record)[2:] == [
        "    Do it.",
        "last turns:",
        "    [assistant] No.",
        "    -> bash",
        "a: 1",
    ]


def test_a_run_names_the_commands_that_lead_on():
    text = render_run_failure(run(reason="x", read_with="show r", run_again_with="pytest r"))

    assert text.splitlines()[1:] == ["read it: show r", "run it again: pytest r"]


def test_metadata_of_several_lines_is_indented():
    assert lines(step(metadata={"stdout": "a\nb"}))[1:] == ["stdout: ", "    a", "    b"]


def test_empty_metadata_is_left_out_but_0_and_false_are_not():
    record = step(metadata={"a": "", "b": None, "c": [], "d": {}, "e": 0, "f": False})

    assert lines(record)[1:] == ["e: 0", "f: False"]


def test_the_tree_of_a_composite_judge_is_shown_and_not_its_structure_too():
    record = step(metadata={"judges": "And\n└─ Good", "children": [{"judge": "Good"}]})

    assert lines(record)[1:] == ["judges: ", "    And", "    └─ Good"]


def test_children_of_anything_else_are_shown():
    assert lines(step(metadata={"children": ["Max"]}))[1:] == ["children: ['Max']"]


def test_a_limit_is_named():
    limit = LimitHit(limit="step time", value=30, used=31.2, unit="s")

    assert lines(step(limit=limit))[1] == "limit: step time limit of 30 s reached after 31.2 s"


def test_a_traceback_is_shown_with_its_stage():
    assert lines(step(failure=BROKEN))[1:] == [
        "traceback (judge):",
        "Traceback:",
        "  KeyError: 'x'",
    ]


def test_long_values_are_cut():
    text = render_step_failure(step(instructions="i" * 50_000, metadata={"a": "m" * 50_000}))

    assert len(text) < 5_000
    assert text.count("characters cut") == 2


def test_a_run_tells_outcome_score_and_reason():
    text = render_run_failure(run(score=0.25, reason="step 1: score 0.25", transcript="/t"))

    assert text == "one by oracle failed (score 0.25): step 1: score 0.25\ntranscript: /t"


def test_a_run_without_a_score_says_so():
    text = render_run_failure(run(outcome="not_run", reason="the session ended"))

    assert text == "one by oracle not run (no score): the session ended"


def test_a_broken_run_shows_what_was_raised():
    text = render_run_failure(run(outcome="error", reason="judge: KeyError", failure=BROKEN))

    assert "traceback (judge):\nTraceback:" in text


def test_what_the_student_wrote_cannot_reach_the_terminal_as_control_characters():
    text = render_step_failure(step(metadata={"said": "\x1b[31m\udcff\x00"}))

    assert text.endswith(r"said: \x1b[31m\udcff\x00")

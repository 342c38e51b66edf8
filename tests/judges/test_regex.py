"""Judges that look at nothing but the transcript: regular expressions, and none."""

from __future__ import annotations

import re
import signal
import threading
import time

import pytest

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.judges import AlwaysPassJudge, RegexJudge
from pytest_chalk.judges.regex import NO_MATCH
from pytest_chalk.schemas.chat import Function, Message, ToolCall
from pytest_chalk.schemas.scoring import Scoring
from pytest_chalk.schemas.transcript import (
    MessageAddedEvent,
    StepStartedEvent,
    ToolCallCompletedEvent,
    Transcript,
)

PASS = Scoring(1.0, {}, continue_task=True)
CALL = ToolCall(id="1", function=Function(name="answer", arguments="42"))


def transcript(*messages):
    events = [MessageAddedEvent(message=message) for message in messages]
    return Transcript(run_id="r", events=events)


def missed(*patterns):
    return Scoring(0.0, dict.fromkeys(patterns, NO_MATCH), continue_task=False)


def judged(messages, *patterns):
    return RegexJudge([re.compile(p) for p in patterns]).evaluate(transcript(*messages))


def said(text):
    return Message(content=text)


@pytest.mark.parametrize("given", [transcript(), transcript(said("I give up."))])
def test_always_pass_passes_whatever_happened(given):
    assert AlwaysPassJudge().evaluate(given) == PASS


def test_a_pattern_found_in_what_the_student_said_passes():
    assert judged([said("The answer: 42.")], r"answer: \d+") == PASS


def test_a_pattern_that_is_not_found_is_named():
    assert judged([said("no idea")], "42") == missed("42")


def test_every_pattern_must_be_found_and_only_the_others_are_named():
    assert judged([said("one two")], "one", "three", "two", "four") == missed("three", "four")


def test_no_pattern_at_all_passes():
    assert judged([]) == PASS


def test_flags_of_a_pattern_are_honoured():
    judge = RegexJudge([re.compile("a.b", re.DOTALL | re.IGNORECASE)])

    assert judge.evaluate(transcript(said("A\nB"))) == PASS


def test_messages_are_joined_by_blank_lines_earlier_steps_included():
    events = [
        StepStartedEvent(step=0),
        MessageAddedEvent(message=said("first")),
        StepStartedEvent(step=1),
        MessageAddedEvent(message=said("second")),
    ]

    scoring = RegexJudge([re.compile("^first\n\nsecond$")]).evaluate(
        Transcript(run_id="r", events=events)
    )

    assert scoring == PASS


def test_text_parts_of_a_message_are_joined_by_blank_lines():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]

    assert judged([said(parts)], "^a\n\nb$") == PASS


def test_messages_without_text_leave_no_gap():
    silent = Message(content=None, tool_calls=(CALL,))

    assert judged([said("a"), silent, said(""), said("b")], "^a\n\nb$") == PASS


@pytest.mark.parametrize(
    "message",
    [
        Message(content="42", role="user"),
        Message(content="42", role="system"),
        Message(content="42", role="tool", tool_call_id="1"),
        Message(content="no", reasoning_content="42"),
        Message(content=None, tool_calls=(CALL,)),
        Message(content=[{"type": "thinking", "text": "42"}]),
    ],
)
def test_what_is_no_text_of_the_student_does_not_count(message):
    assert judged([message], "42") == missed("42")


def test_what_a_tool_answered_does_not_count():
    event = ToolCallCompletedEvent(tool_call_id="1", text="42")

    scoring = RegexJudge([re.compile("42")]).evaluate(Transcript(run_id="r", events=[event]))

    assert scoring == missed("42")


def test_patterns_of_equal_text_are_told_apart():
    judge = RegexJudge([re.compile("x"), re.compile("x", re.IGNORECASE), re.compile("x (2)")])

    assert set(judge.evaluate(transcript()).metadata) == {"x", "x (2)", "x (2) (2)"}


@pytest.mark.parametrize("given", [["answer: 42"], "answer", [None]])
def test_what_is_no_compiled_pattern_is_refused_with_the_fix(given):
    with pytest.raises(TypeError, match=r"compiled patterns: re\.compile\("):
        RegexJudge(given)


def test_patterns_may_come_from_a_generator_and_be_used_twice():
    judge = RegexJudge(re.compile(p) for p in ["a"])

    assert judge.evaluate(transcript()) == judge.evaluate(transcript()) == missed("a")


# Patterns that a text makes endless.

CATASTROPHE = re.compile(r"(a+)+$")
BAIT = "a" * 40 + "b"


def in_main_thread(call):
    return call()


def in_another_thread(call):
    came = []
    thread = threading.Thread(target=lambda: came.append(call()))
    thread.start()
    thread.join()
    return came[0]


@pytest.mark.parametrize("where", [in_main_thread, in_another_thread])
def test_a_catastrophic_pattern_ends_at_its_time_limit_and_fails(where):
    judge = RegexJudge([re.compile("b$"), CATASTROPHE, re.compile("c")], timeout_s=0.5)
    started = time.monotonic()

    scoring = where(lambda: judge.evaluate(transcript(said(BAIT))))

    assert time.monotonic() - started < 6
    assert (scoring.score, scoring.continue_task, scoring.void) == (0.0, False, None)
    assert scoring.metadata == {
        "(a+)+$": "Given up after 0.5 s of CPU time for all patterns.",
        "c": "Given up after 0.5 s of CPU time for all patterns.",
        "error": "the search for '(a+)+$' took too long",
    }


@pytest.mark.parametrize("where", [in_main_thread, in_another_thread])
def test_flags_text_and_misses_are_the_same_in_any_thread(where):
    judge = RegexJudge(
        [
            re.compile("ADA", re.IGNORECASE),
            re.compile("x"),
            re.compile("^b.c$", re.MULTILINE | re.DOTALL),
        ]
    )

    scoring = where(lambda: judge.evaluate(transcript(said("ada \ud800\n\u2028"), said("b\nc"))))

    assert scoring == missed("x")


def test_the_timer_and_its_signal_are_as_before():
    before = signal.getsignal(signal.SIGVTALRM)

    RegexJudge([CATASTROPHE], timeout_s=0.05).evaluate(transcript(said(BAIT)))

    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_a_timer_that_somebody_else_has_set_is_left_alone():
    rang = []
    before = signal.signal(signal.SIGVTALRM, lambda *_: rang.append(1))
    signal.setitimer(signal.ITIMER_VIRTUAL, 100)
    try:
        scoring = RegexJudge([CATASTROPHE], timeout_s=0.2).evaluate(transcript(said(BAIT)))

        assert "error" in scoring.metadata
        assert 0 < signal.getitimer(signal.ITIMER_VIRTUAL)[0] < 101
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_other_threads_do_not_use_up_the_time():
    stop = threading.Event()

    def burn():
        while not stop.is_set():
            pass

    burning = threading.Thread(target=burn)
    burning.start()

    class Slow:
        pattern = "slow"

        def search(self, said):
            end = time.thread_time() + 0.15
            while time.thread_time() < end:
                pass
            return True

    scoring = RegexJudge([Slow()], timeout_s=0.25).evaluate(transcript(said("x")))

    stop.set()
    burning.join()
    assert scoring == PASS


def test_only_the_last_message_counts_where_that_is_wanted():
    every_answer = [said(f"answer: {n}") for n in range(50)]
    judge = RegexJudge([re.compile("answer: 42")], last_message=True)

    assert judge.evaluate(transcript(*every_answer)).score == 0.0
    assert judge.evaluate(transcript(*every_answer, said("answer: 42"))) == PASS
    assert judge.evaluate(transcript(said("answer: 42"), Message(tool_calls=(CALL,)))) == PASS
    assert judge.evaluate(transcript()).score == 0.0


def test_a_pattern_of_bytes_is_refused_at_once():
    with pytest.raises(TypeError, match="patterns of text"):
        RegexJudge([re.compile(b"42")])


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf"), None])
def test_a_search_without_a_time_limit_is_refused(timeout_s):
    # A timer that is set to 0 never rings.
    with pytest.raises(TaskDefinitionError, match="RegexJudge: timeout_s is"):
        RegexJudge([re.compile("x")], timeout_s=timeout_s)

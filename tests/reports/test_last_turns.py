"""The last turns of a step, as a failure shows them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.reports.transcript_text import (
    LAST_TURNS,
    MAX_LAST_CHARS,
    MAX_LAST_TURN_CHARS,
    render_last_turns,
)
from pytest_chalk.schemas.chat import Function, Message, ToolCall
from pytest_chalk.schemas.scoring import Scoring
from pytest_chalk.schemas.transcript import (
    Event,
    MessageAddedEvent,
    ScoringEvent,
    StepStartedEvent,
    TokenUsageEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
)

CUT = "[... earlier turns are in the transcript ...]"


def said(text: str, role: str = "assistant") -> Event:
    return MessageAddedEvent(message=Message(role=role, content=text))


def called(command: str) -> Event:
    call = ToolCall(id="1", function=Function(name="bash", arguments=command))
    return ToolCallStartedEvent(tool_call=call)


def answered(text: str) -> Event:
    return ToolCallCompletedEvent(tool_call_id="1", text=text)


def step(*events: Event, instructions: str = "Do it.") -> list[Event]:
    return [StepStartedEvent(step=0, of=1), said(instructions, "user"), *events]


def test_what_was_said_and_done_is_shown_in_order():
    events = step(said("I look."), called("ls"), answered("a.txt"), said("Done."))

    assert render_last_turns(events).splitlines() == [
        "[assistant] I look.",
        "-> bash ls",
        "<- a.txt",
        "[assistant] Done.",
    ]


def test_instructions_usage_and_the_judges_word_are_left_out():
    usage = TokenUsageEvent(input_tokens=1, output_tokens=1)
    events = step(
        said("Done."),
        usage,
        ScoringEvent(scoring=Scoring(score=0.0, metadata={"why": "no"}, continue_task=True)),
    )

    assert render_last_turns(events) == "[assistant] Done."


def test_a_nudge_of_the_harness_is_shown():
    events = step(said("hm"), said("Go on.", "user"), said("No."))

    assert "[user] Go on." in render_last_turns(events)


def test_only_the_last_step_is_shown():
    events = [*step(said("first")), *step(said("second"))]

    assert render_last_turns(events) == "[assistant] second"


def test_of_many_turns_the_last_ones_are_shown_and_the_cut_is_said():
    events = step(*(said(f"turn {number}") for number in range(9)))

    assert render_last_turns(events).splitlines() == [
        CUT,
        *(f"[assistant] turn {number}" for number in range(9 - LAST_TURNS, 9)),
    ]


def test_as_many_turns_as_are_shown_are_no_cut():
    events = step(*(said(f"turn {number}") for number in range(LAST_TURNS)))

    assert CUT not in render_last_turns(events)


def test_what_a_solution_printed_is_shown_once():
    events = step(called("echo 43"), answered("43\n"), said("43"))

    assert render_last_turns(events).splitlines() == ["-> bash echo 43", "<- 43"]


def test_a_step_in_which_nothing_was_said_has_no_last_turns():
    assert render_last_turns(step()) == ""
    assert render_last_turns([]) == ""


def test_long_texts_lose_their_middle():
    text = render_last_turns(step(said("a" * 100_000 + "end")))

    assert len(text) <= MAX_LAST_TURN_CHARS
    assert "characters cut" in text
    assert text.endswith("end")


@given(st.lists(st.text(max_size=3_000), max_size=8))
def test_whatever_is_said_it_is_bounded_and_harmless(texts: list[str]):
    events = step(*(event for text in texts for event in (said(text), called(text))))

    text = render_last_turns(events)

    assert len(text) <= MAX_LAST_CHARS
    assert not set(text) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))


def test_control_characters_and_surrogates_are_shown_as_escapes():
    text = render_last_turns(step(answered("\x1b[31m\udcff\x00")))

    assert text == r"<- \x1b[31m\udcff\x00"

"""Events and transcripts: that they survive being written, and what a reader refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_chalk.schemas.chat import Function, Message, ToolCall
from pytest_chalk.schemas.scoring import Scoring
from pytest_chalk.schemas.transcript import (
    EVENT_ADAPTER,
    SCHEMA_VERSION,
    AnswersSubmittedEvent,
    ErrorEvent,
    Event,
    MessageAddedEvent,
    ScoringEvent,
    StepCompletedEvent,
    StepStartedEvent,
    TaskPreHookCompletedEvent,
    ToolCallCompletedEvent,
    Transcript,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(ANY_TEXT, VALUES, max_size=3)
CALLS = st.builds(
    ToolCall, id=ANY_TEXT, function=st.builds(Function, name=ANY_TEXT, arguments=ANY_TEXT)
)
MESSAGES = st.builds(
    Message,
    content=st.none() | ANY_TEXT | st.lists(OBJECTS, max_size=2),
    role=st.sampled_from(["assistant", "user", "system", "tool", "function"]),
    tool_calls=st.none() | st.lists(CALLS, max_size=2).map(tuple),
    reasoning_content=st.none() | ANY_TEXT,
    thinking_blocks=st.none() | st.lists(OBJECTS, max_size=2),
    tool_call_id=st.none() | ANY_TEXT,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
SCORINGS = st.builds(
    Scoring,
    score=FLOATS,
    metadata=st.dictionaries(st.text(max_size=20), JSON, max_size=3),
    continue_task=st.booleans(),
    void=st.none() | st.text(),
)
MOMENTS = st.datetimes(timezones=st.timezones()).filter(lambda moment: 1 < moment.year < 9999)
KINDS = get_args(get_args(Event)[0])

PARTS = {
    "timestamp": MOMENTS,
    "message": MESSAGES,
    "tool_call": CALLS,
    "metadata": OBJECTS,
    "details": OBJECTS,
    "value": FLOATS,
    "used": FLOATS,
    "wait_s": FLOATS,
    "answers": st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=3),
    "scoring": SCORINGS,
}


def events_of(kind):
    """Return a strategy for events of one kind, texts with lone surrogates included."""
    if kind is ErrorEvent:
        texts = {"message": ANY_TEXT, "traceback": st.none() | ANY_TEXT}
        return st.builds(kind, timestamp=MOMENTS, **texts)
    if kind is ToolCallCompletedEvent:
        return st.builds(kind, timestamp=MOMENTS, text=ANY_TEXT, details=OBJECTS)
    known = {name: PARTS[name] for name in kind.model_fields if name in PARTS}
    return st.builds(kind, **known)


EVENTS = st.one_of([events_of(kind) for kind in KINDS])


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.builds(Transcript, run_id=st.text(), events=st.lists(EVENTS, max_size=4)))
def test_a_transcript_read_back_from_json_is_the_same(transcript):
    text = transcript.model_dump_json()

    assert Transcript.model_validate_json(text) == transcript
    assert json.loads(text) == json.loads(Transcript.model_validate_json(text).model_dump_json())


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_of_every_kind_comes_back_as_its_own_class(kind):
    @settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
    @given(events_of(kind))
    def comes_back(event):
        found = EVENT_ADAPTER.validate_json(event.model_dump_json())

        assert type(found) is kind
        assert found == event

    comes_back()


def test_every_kind_of_event_has_a_type_of_its_own():
    types = [kind.model_fields["type"].default for kind in KINDS]

    assert len(set(types)) == len(types)


def test_a_pre_hooks_dict_comes_back_as_one():
    event = TaskPreHookCompletedEvent(metadata={"seed": 7})

    assert EVENT_ADAPTER.validate_json(event.model_dump_json()) == event


@pytest.mark.parametrize(
    "line",
    ['{"type": "nope"}', "{}", '{"type": "step_completed", "step": 1, "more": 2}', "[]", "1"],
)
def test_what_is_no_known_event_is_refused(line):
    with pytest.raises(ValidationError):
        EVENT_ADAPTER.validate_json(line)


def test_a_transcript_of_a_newer_schema_is_refused():
    newer = {"schema_version": SCHEMA_VERSION + 1, "run_id": "r", "events": []}

    with pytest.raises(ValidationError, match="schema_version"):
        Transcript.model_validate(newer)


def test_a_time_is_kept_in_utc_to_the_microsecond():
    here = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, here)

    event = StepCompletedEvent(timestamp=moment, step=0)

    assert event.timestamp == moment
    assert event.timestamp.tzinfo is UTC


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValidationError, match="timezone"):
        StepCompletedEvent(timestamp=datetime(2026, 1, 2), step=0)  # noqa: DTZ001 - what is tested


def test_an_event_is_stamped_when_it_is_made():
    before = datetime.now(UTC)

    event = StepStartedEvent(step=0)

    assert before <= event.timestamp <= datetime.now(UTC)


def test_messages_are_those_of_all_steps_in_order():
    first, second = Message(content="one", role="user"), Message(content="two")
    events = [
        StepStartedEvent(step=0),
        MessageAddedEvent(message=first),
        StepStartedEvent(step=1),
        MessageAddedEvent(message=second),
    ]

    assert Transcript(run_id="r", events=events).messages == (first, second)


def test_a_later_answer_replaces_an_earlier_one_of_its_name():
    events = [
        AnswersSubmittedEvent(answers={"a": "1", "b": "2"}),
        AnswersSubmittedEvent(answers={"a": "3"}),
    ]

    assert Transcript(run_id="r", events=events).answers == {"a": "3", "b": "2"}


def test_an_empty_transcript_has_no_messages_and_no_answers():
    transcript = Transcript(run_id="r")

    assert (transcript.messages, transcript.answers) == ((), {})


def test_a_scoring_inside_an_event_is_checked_like_any_other():
    with pytest.raises(ValidationError, match="a score is a number"):
        ScoringEvent.model_validate_json(
            '{"scoring": {"score": "1", "metadata": {}, "continue_task": true}}'
        )

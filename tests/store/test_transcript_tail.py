"""How far a run is, from a transcript that grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.progress import RunProgress
from pytest_chalk.schemas.transcript import (
    JudgeUsageEvent,
    MessageAddedEvent,
    StepStartedEvent,
    TokenUsageEvent,
    ToolCallCompletedEvent,
)
from pytest_chalk.store import transcript_tail
from pytest_chalk.store.transcript_file import TranscriptFile
from pytest_chalk.store.transcript_tail import TranscriptTail


@pytest.fixture
def transcript(tmp_path: Path) -> TranscriptFile:
    return TranscriptFile(tmp_path / "t.jsonl", "run")


@pytest.fixture
def tail(tmp_path: Path) -> TranscriptTail:
    return TranscriptTail(tmp_path / "t.jsonl", "a::B")


def said(role: str, text: str = "x") -> MessageAddedEvent:
    return MessageAddedEvent(message=Message(role=role, content=text))


def test_steps_turns_tokens_and_cost_are_counted_as_they_come(
    transcript: TranscriptFile, tail: TranscriptTail
):
    transcript.add(StepStartedEvent(step=0, of=3))
    transcript.add(said("user"))
    transcript.add(said("assistant"))
    transcript.add(TokenUsageEvent(input_tokens=100, output_tokens=20, usd=0.01))
    assert tail.progress(5.0) == RunProgress("a::B", 5.0, 1, 3, 1, 120, 0.01)

    transcript.add(StepStartedEvent(step=1, of=3))
    transcript.add(said("assistant"))
    transcript.add(JudgeUsageEvent(model="m", input_tokens=7, output_tokens=1, usd=0.02))

    assert tail.progress(9.0) == RunProgress("a::B", 9.0, 2, 3, 2, 128, 0.03)


def test_without_a_price_there_is_no_cost(transcript: TranscriptFile, tail: TranscriptTail):
    transcript.add(TokenUsageEvent(input_tokens=1, output_tokens=1))

    assert tail.progress(0.0).usd is None


def test_half_a_line_is_read_once_it_is_whole(
    transcript: TranscriptFile, tail: TranscriptTail, tmp_path: Path
):
    line = said("assistant").model_dump_json().encode() + b"\n"
    with (tmp_path / "t.jsonl").open("ab") as opened:
        opened.write(line[:30])
        opened.flush()
        assert tail.progress(0.0).turns == 0

        opened.write(line[30:])
        opened.flush()
        assert tail.progress(0.0).turns == 1


def test_what_a_tool_says_counts_for_nothing(transcript: TranscriptFile, tail: TranscriptTail):
    text = said("assistant").model_dump_json() + "\n" + said("assistant").model_dump_json()
    details = {"type": "message_added", "message": {"role": "assistant"}}
    transcript.add(ToolCallCompletedEvent(tool_call_id="1", text=text, details=details))

    assert tail.progress(0.0).turns == 0


def test_a_line_longer_than_one_look_does_not_stop_it(
    transcript: TranscriptFile, tail: TranscriptTail, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(transcript_tail, "MAX_READ_BYTES", 500)
    transcript.add(said("tool", "x" * 2_000))
    transcript.add(said("assistant"))

    assert [tail.progress(0.0).turns for _ in range(8)][-1] == 1


def test_without_a_transcript_nothing_is_known(tail: TranscriptTail):
    assert tail.progress(1.0) == RunProgress("a::B", 1.0)

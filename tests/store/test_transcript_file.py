"""A run's transcript on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_chalk.errors import MachineError
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.transcript import (
    MessageAddedEvent,
    StepStartedEvent,
    ToolCallCompletedEvent,
)
from pytest_chalk.store.transcript_file import TranscriptFile, read_transcript


class Odd:
    def __str__(self) -> str:
        return "odd"


def completed(**details):
    return ToolCallCompletedEvent(tool_call_id="1", text="", details=details)


def test_what_was_added_can_be_read_back_at_once(tmp_path):
    file = TranscriptFile(tmp_path / "t", "run-1")

    file.add(StepStartedEvent(step=0, of=1))
    file.add(MessageAddedEvent(message=Message(content="Do it.", role="user")))

    assert read_transcript(tmp_path / "t") == file.transcript()
    assert read_transcript(tmp_path / "t").run_id == "run-1"
    assert len(file.events) == 2


def test_the_first_line_says_which_schema_and_run(tmp_path):
    TranscriptFile(tmp_path / "t", "run-1")

    first, *_ = (tmp_path / "t").read_text().splitlines()

    assert json.loads(first) == {"schema_version": 1, "run_id": "run-1"}


def test_a_transcript_handed_out_does_not_grow_afterwards(tmp_path):
    file = TranscriptFile(tmp_path / "t", "r")
    before = file.transcript()

    file.add(StepStartedEvent(step=0))

    assert len(before.events) == 0


def test_a_torn_last_line_is_left_out(tmp_path):
    file = TranscriptFile(tmp_path / "t", "r")
    file.add(StepStartedEvent(step=0))
    with (tmp_path / "t").open("ab") as opened:
        opened.write(b'{"type":"step_st')

    assert read_transcript(tmp_path / "t") == file.transcript()


def test_text_that_is_no_utf_8_is_the_same_in_memory_and_on_disk(tmp_path):
    file = TranscriptFile(tmp_path / "t", "r")

    file.add(MessageAddedEvent(message=Message(content="a\udcff")))

    assert file.transcript().messages[0].text == r"a\udcff"
    assert read_transcript(tmp_path / "t") == file.transcript()


@pytest.mark.parametrize(
    "found", [Odd(), {"deep": [Odd()]}, {1, 2}, float("nan"), b"\xff", 1j, Path("/x")]
)
def test_details_that_json_does_not_know_do_not_break_the_run(tmp_path, found):
    file = TranscriptFile(tmp_path / "t", "r")

    file.add(completed(found=found))

    (event,) = read_transcript(tmp_path / "t").events
    assert event.details["found"]


def test_an_odd_object_is_kept_as_its_text(tmp_path):
    file = TranscriptFile(tmp_path / "t", "r")

    file.add(completed(found=Odd()))

    assert file.events[0].details == {"found": "odd"}


def test_opening_a_transcript_anew_starts_it_anew(tmp_path):
    (tmp_path / "t").write_text("of an earlier attempt\n")

    TranscriptFile(tmp_path / "t", "r")

    assert read_transcript(tmp_path / "t").events == ()


def test_a_full_disk_is_a_machine_error_and_what_was_written_stays(tmp_path, full_disk):
    file = TranscriptFile(tmp_path / "t", "r")
    file.add(StepStartedEvent(step=0))

    with full_disk(400), pytest.raises(MachineError, match=r"transcript .* cannot be written"):
        file.add(MessageAddedEvent(message=Message(content="x" * 1_000)))
    file.add(StepStartedEvent(step=1))
    file.close()

    events = read_transcript(tmp_path / "t").events
    assert [event.step for event in events] == [0, 1]


def test_a_place_that_cannot_be_written_is_a_machine_error(tmp_path):
    with pytest.raises(MachineError, match="cannot be written"):
        TranscriptFile(tmp_path / "missing" / "t", "r")
    with pytest.raises(MachineError, match="No space left on device"):
        TranscriptFile(Path("/dev/full"), "r")


def test_syncing_and_closing_twice_are_fine(tmp_path):
    file = TranscriptFile(tmp_path / "t", "r")

    file.sync()
    file.close()
    file.close()

    assert read_transcript(tmp_path / "t").run_id == "r"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "schema version None"),
        ("[]\n", "schema version None"),
        ('{"schema_version": 2, "run_id": "r"}\n', "schema version 2, this release reads 1"),
        ('{"run_id": "r"}\n', "schema version None"),
        ('{"schema_version": 1, "run_id": "r"', "schema version None"),
        ("not JSON\n", "Expecting value"),
        ('{"schema_version": 1, "run_id": "r"}\n{"type": "nope"}\n', "does not match"),
        ('{"schema_version": 1, "run_id": "r"}\nnot JSON\n', "Invalid JSON"),
        ('{"schema_version": 1, "run_id": 7}\n', "run_id"),
    ],
)
def test_what_is_no_transcript_of_this_schema_is_refused(tmp_path, text, found):
    (tmp_path / "t").write_text(text)

    with pytest.raises(ValueError, match=found):
        read_transcript(tmp_path / "t")

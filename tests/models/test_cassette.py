"""Cassettes: what was said once is said again, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_chalk.authoring.ports import ModelReply, ModelRequest, ToolSchema
from pytest_chalk.errors import CassetteMissError
from pytest_chalk.models import ScriptedModel, call
from pytest_chalk.models.cassette import Cassette
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.secret_text import secrets_of

BASH = ToolSchema("bash", "Run.", {"type": "object"})


def converse(model, *told: str) -> list[Message]:
    """Play a conversation: each text is told to the model, and each tool call is answered."""
    messages: list[Message] = [Message(role="system", content="You work.")]
    for text in told:
        messages.append(Message(role="user", content=text))
        while True:
            reply = model.reply(ModelRequest(messages, (BASH,)))
            messages.append(reply.message)
            if not reply.message.tool_calls:
                break
            messages += [
                Message(role="tool", content="Time remaining: 9 seconds", tool_call_id=made.id)
                for made in reply.message.tool_calls
            ]
    return messages


class MustNotBeAsked:
    name, trusted = "acme/model", False

    def reply(self, request: ModelRequest) -> ModelReply:
        raise AssertionError("the network was used")


def student() -> ScriptedModel:
    return ScriptedModel([call("bash", command="ls /work/slot-3"), "done in /work/slot-3"])


def recorded(tmp_path: Path, **options) -> Path:
    path = tmp_path / "task.json"
    model = Cassette(path, "record", **options).wrap(student())
    converse(model, "Look into /work/slot-3.")
    return path


PATHS = {"/work/slot-3": "{WORKDIR}"}


def test_a_recording_replays_without_the_model(tmp_path: Path):
    path = recorded(tmp_path)

    replayed = converse(Cassette(path, "replay").wrap(MustNotBeAsked()), "Look into /work/slot-3.")

    assert replayed[-1].content == "done in /work/slot-3"


def test_paths_of_another_machine_fit(tmp_path: Path):
    path = recorded(tmp_path, paths=PATHS)
    here = Cassette(path, "replay", paths={"/home/me/box": "{WORKDIR}"})

    replayed = converse(here.wrap(MustNotBeAsked()), "Look into /home/me/box.")

    assert "slot-3" not in path.read_text()
    assert replayed[-1].content == "done in /home/me/box"


def test_a_request_that_is_another_one_is_shown_as_a_difference(tmp_path: Path):
    path = recorded(tmp_path)
    model = Cassette(path, "replay").wrap(MustNotBeAsked())

    with pytest.raises(CassetteMissError) as caught:
        converse(model, "Look into /tmp.")

    assert '-  "content": "Look into /work/slot-3."' in str(caught.value)
    assert '+  "content": "Look into /tmp."' in str(caught.value)


def test_a_turn_too_many_is_a_miss(tmp_path: Path):
    model = Cassette(recorded(tmp_path), "replay").wrap(MustNotBeAsked())

    with pytest.raises(CassetteMissError, match="it has no turn 3"):
        converse(model, "Look into /work/slot-3.", "And again.")


def test_a_missing_recording_is_a_miss_in_replay_and_recorded_in_auto(tmp_path: Path):
    path = tmp_path / "deep" / "task.json"
    with pytest.raises(CassetteMissError, match="no such recording"):
        Cassette(path, "replay")

    converse(Cassette(path, "auto").wrap(student()), "Go.")

    assert converse(Cassette(path, "auto").wrap(MustNotBeAsked()), "Go.")[-1].content


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 99, "turns": []}'])
def test_a_file_that_is_no_recording_says_so(tmp_path: Path, content: str):
    path = tmp_path / "task.json"
    path.write_text(content)

    with pytest.raises(CassetteMissError, match="the recording"):
        Cassette(path, "replay")


def test_secrets_are_never_written(tmp_path: Path):
    secrets = secrets_of({"ACME_API_KEY": "sk-canary-1234", "HOME": "/root", "TOKEN": "short"})
    path = tmp_path / "task.json"
    model = Cassette(path, "record", secrets=secrets).wrap(
        ScriptedModel(["the key is sk-canary-1234"])
    )

    converse(model, "Tell sk-canary-1234.")

    assert "canary" not in path.read_text()
    assert "[ACME_API_KEY redacted]" in path.read_text()
    assert list(secrets) == ["sk-canary-1234"]


def test_the_student_and_the_judge_have_their_own_turns(tmp_path: Path):
    path = tmp_path / "task.json"
    cassette = Cassette(path, "record")
    converse(cassette.wrap(ScriptedModel(["as student"])), "Work.")
    converse(cassette.wrap(ScriptedModel(["as judge"]), "judge"), "Judge.")

    again = Cassette(path, "replay")

    assert converse(again.wrap(MustNotBeAsked(), "judge"), "Judge.")[-1].content == "as judge"
    assert converse(again.wrap(MustNotBeAsked()), "Work.")[-1].content == "as student"


def test_whoever_replies_first_the_students_turns_come_first_then_the_judges_by_number(
    tmp_path: Path,
):
    cassette = Cassette(tmp_path / "task.json", "record")
    names = ["judge: step 1, criterion 10, vote 1", "judge: step 1, criterion 2, vote 1"]
    for name in names:
        converse(cassette.wrap(ScriptedModel(["as judge"]), name), "Judge.")
    converse(cassette.wrap(ScriptedModel(["as student"])), "Work.")

    turns = json.loads((tmp_path / "task.json").read_text())["turns"]

    assert [turn["border"] for turn in turns] == ["student", *reversed(names)]


def test_a_recording_can_be_read_and_reviewed(tmp_path: Path):
    turns = json.loads(recorded(tmp_path).read_text())["turns"]

    assert [turn["turn"] for turn in turns] == [0, 1]
    assert turns[1]["added"][-1] == {
        "content": "Time remaining: {SECONDS} seconds",
        "role": "tool",
        "tool_call_id": "call_0_0",
    }
    assert turns[1]["reply"]["message"] == {"content": "done in /work/slot-3"}


def test_a_turn_of_another_step_is_a_miss(tmp_path: Path):
    path = tmp_path / "task.json"
    told = [Message(role="user", content="Go.")]
    recording = Cassette(path, "record").wrap(ScriptedModel(["a"]))
    recording.reply(ModelRequest(told, (BASH,), step=1))
    replaying = Cassette(path, "replay")

    assert json.loads(path.read_text())["turns"][0]["step"] == 1
    assert replaying.wrap(MustNotBeAsked()).reply(ModelRequest(told, (BASH,), step=1))
    with pytest.raises(CassetteMissError, match=r"step 1, turn 1: .* belongs to step 2"):
        replaying.wrap(MustNotBeAsked()).reply(ModelRequest(told, (BASH,), step=0))


def test_what_may_wait_is_written_by_flush_and_the_first_turn_at_once(tmp_path: Path):
    path = tmp_path / "task.json"
    cassette = Cassette(path, "record", write_every_s=600.0)

    converse(cassette.wrap(ScriptedModel(["one"]), "first"), "Go.")
    written_at_once = path.read_text()
    converse(cassette.wrap(ScriptedModel(["two"]), "second"), "Go.")
    unchanged = path.read_text()
    cassette.flush()

    assert '"one"' in written_at_once
    assert unchanged == written_at_once
    assert '"two"' in path.read_text()
    before = path.stat().st_mtime_ns
    cassette.flush()
    assert path.stat().st_mtime_ns == before

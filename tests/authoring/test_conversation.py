"""The conversation of a run."""

from __future__ import annotations

from pytest_chalk.authoring.conversation import Conversation
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.transcript import MessageAddedEvent, StepStartedEvent


def test_each_message_is_written_down_as_it_is_added():
    written = []
    conversation = Conversation(written.append)

    conversation.add(Message(content="Do it.", role="user"))
    conversation.add(Message(content="Done."), finish_reason="stop")

    assert [type(event) for event in written] == [MessageAddedEvent, MessageAddedEvent]
    assert [event.message.text for event in written] == ["Do it.", "Done."]
    assert written[1].finish_reason == "stop"


def test_events_that_are_no_messages_are_only_written_down():
    written = []
    conversation = Conversation(written.append)

    conversation.emit(StepStartedEvent(step=0))

    assert len(written) == 1
    assert not conversation.messages


def test_only_what_the_student_said_is_a_turn():
    conversation = Conversation(lambda _: None)

    for role in ("system", "user", "assistant", "tool", "assistant"):
        conversation.add(Message(content="x", role=role))

    assert conversation.assistant_turns == 2

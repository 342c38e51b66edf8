"""What passes for a model."""

from __future__ import annotations

from pytest_chalk.authoring.ports import Model, ModelReply
from pytest_chalk.schemas.chat import Message


class Mine:
    name = "mine"
    trusted = False

    def reply(self, _request):
        return ModelReply(Message(content="hello"))


class Mute:
    name = "mute"
    trusted = False


def test_whatever_has_a_name_and_replies_is_a_model():
    assert isinstance(Mine(), Model)


def test_what_does_not_reply_is_no_model():
    assert not isinstance(Mute(), Model)
    assert not isinstance("openai/gpt-5", Model)


def test_a_reply_without_counts_used_no_tokens():
    reply = Mine().reply(None)

    assert (reply.input_tokens, reply.output_tokens, reply.finish_reason) == (0, 0, None)

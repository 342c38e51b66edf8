"""Messages: what counts as their text."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_chalk.schemas.chat import ChatCompletionMessageToolCall, Function, Message, ToolCall

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_a_message_is_the_assistants_unless_it_says_otherwise():
    assert Message(content="hello").role == "assistant"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\n\nb"),
        ([{"type": "text", "text": "a"}, IMAGE], "a"),
        ([{"type": "thinking", "text": "secret"}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "text"}, {"type": "text", "text": None}, {"text": "untyped"}], ""),
    ],
)
def test_the_text_of_a_message_is_its_text_parts(content, text):
    assert Message(content=content).text == text


def test_an_unknown_role_is_refused():
    with pytest.raises(ValidationError, match="role"):
        Message(content="hello", role="narrator")


def test_text_that_is_no_utf_8_is_kept_as_escapes():
    message = Message(content=[{"type": "text", "text": "a\udcff"}])

    assert message.text == r"a\udcff"


def test_arguments_of_a_call_are_the_models_own_text():
    call = ToolCall(id="1", function=Function(name="bash", arguments="{not json"))

    assert call.function.arguments == "{not json"
    assert call.type == "function"


def test_the_long_name_of_a_tool_call_is_the_same_class():
    assert ChatCompletionMessageToolCall is ToolCall

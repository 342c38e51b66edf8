"""Any conversation that a run can have becomes one that the provider's format accepts."""

from __future__ import annotations

import itertools
import json
import re

from hypothesis import given
from hypothesis import strategies as st
from models.conftest import SAID, Played

from pytest_chalk.authoring.ports import ModelRequest
from pytest_chalk.schemas.chat import Function, Message, ToolCall

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
TEXTS = st.sampled_from(["", " ", "text", "two\nlines", "é \ud800 \x00"])
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
CONTENTS = st.one_of(
    TEXTS,
    st.lists(st.sampled_from([IMAGE, *({"type": "text", "text": text} for text in ("see", ""))])),
)
THOUGHTS = st.sampled_from([None, [{"type": "thinking", "thinking": "hm", "signature": "s"}]])
ARGUMENTS = st.sampled_from(["", "{}", '{"a": 1}', "[1]", "null", '{"a": ', "7"])
NAMES = st.sampled_from(["bash", "", None, "no such tool!", "x" * 80])


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A system prompt or none; then steps, each with its turns, in which limits may cut calls."""
    messages = [Message(role="system", content="Work.")] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(Message(role="user", content=draw(TEXTS)))
        for _ in range(draw(st.integers(0, 3))):
            ids = [f"c{number + n}" for n in range(draw(st.integers(0, 3)))]
            number += len(ids)
            calls = tuple(
                ToolCall(id=i, function=Function(name=draw(NAMES), arguments=draw(ARGUMENTS)))
                for i in ids
            )
            said, thoughts = draw(st.one_of(st.none(), TEXTS)), draw(THOUGHTS)
            messages.append(
                Message(content=said, tool_calls=calls or None, thinking_blocks=thoughts)
            )
            answered = ids[: draw(st.integers(0, len(ids)))]
            messages += [
                Message(role="tool", content=draw(CONTENTS), tool_call_id=i) for i in answered
            ]
            if not ids:
                messages.append(Message(role="user", content="Go on."))
    return messages


def sent(prefix: str, messages: list[Message]) -> dict:
    """Return the body of the last request, the conversation told turn by turn."""
    played = Played(SAID[prefix])
    model = played.model(prefix)
    for end, message in enumerate(messages, 1):
        if message.role != "assistant" and end > 1:
            model.reply(ModelRequest(messages[:end], ()))
    model.reply(ModelRequest(messages, ()))
    return played.body()


@given(conversations())
def test_chat_completions_accept_it(messages: list[Message]):
    open_calls: list[str] = []
    for message in sent("openai", messages)["messages"]:
        assert message["role"] in {"system", "user", "assistant", "tool"}
        if message["role"] == "tool":
            assert isinstance(message["content"], str)  # text is all a tool's message may hold
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls
        if message["role"] != "user":
            assert isinstance(message["content"], str)
        for made in message.get("tool_calls", ()):
            assert isinstance(json.loads(made["function"]["arguments"]), dict)
            assert NAME.fullmatch(made["function"]["name"])
            open_calls.append(made["id"])
        if isinstance(message["content"], list):
            assert message["content"]
            assert {part["type"] for part in message["content"]} <= {"text", "image_url"}
    assert not open_calls


@given(conversations())
def test_messages_accept_it(messages: list[Message]):
    turns = sent("anthropic", messages)["messages"]

    assert turns[0]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in itertools.pairwise(turns))
    open_calls: list[str] = []
    for turn in turns:
        assert turn["content"]
        kinds = [block["type"] for block in turn["content"]]
        if turn["role"] == "user":
            answers = [b["tool_use_id"] for b in turn["content"] if b["type"] == "tool_result"]
            assert sorted(answers) == sorted(open_calls)
            assert kinds[: len(answers)] == ["tool_result"] * len(answers)
        open_calls = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        assert "thinking" not in kinds[1:]
        for block in turn["content"]:
            check_block(block)
    assert not open_calls


def check_block(block: dict) -> None:
    if block["type"] == "text":
        assert block["text"].strip()
    if block["type"] == "tool_use":
        assert isinstance(block["input"], dict)
        assert NAME.fullmatch(block["name"])
    if block["type"] == "image":
        assert block["source"] == {"type": "base64", "media_type": "image/png", "data": "AA=="}
    for part in block.get("content", ()):
        assert part["type"] in {"text", "image"}
        check_block(part)


@given(conversations())
def test_every_image_reaches_the_model_once_in_the_order_of_the_answers(messages: list[Message]):
    shown = sum(
        part == IMAGE for m in messages if isinstance(m.content, list) for part in m.content
    )

    assert json.dumps(sent("openai", messages)).count("data:image/png") == shown
    assert json.dumps(sent("anthropic", messages)).count('"media_type": "image/png"') == shown

"""The Messages format: what is sent, and what is made of what comes back."""

from __future__ import annotations

import httpx
import pytest
from models.conftest import BASH, SAID, Played, ask, sse

from pytest_chalk.authoring.ports import Model, ModelRequest
from pytest_chalk.errors import ProviderError, RunOptionError
from pytest_chalk.schemas.chat import Function, Message, ToolCall

CACHED = {"cache_control": {"type": "ephemeral"}}


def block(index, start, *deltas):
    """The events of one block."""
    kinds = {
        "text": "text_delta",
        "thinking": "thinking_delta",
        "signature": "signature_delta",
        "partial_json": "input_json_delta",
    }
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        named = {"type": kinds[next(iter(delta))], **delta}
        yield {"type": "content_block_delta", "index": index, "delta": named}
    yield {"type": "content_block_stop", "index": index}


def streamed(*blocks, stop="end_turn", usage=None):
    return sse(
        {"type": "message_start", "message": {"usage": usage or {"input_tokens": 1}}},
        {"type": "ping"},
        *[event for events in blocks for event in events],
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
        done=False,
    )


def replied(*blocks, **rest):
    return Played(streamed(*blocks, **rest)).model("anthropic").reply(ask())


def sent(*messages, tools=(), **settings):
    provider = Played(SAID["anthropic"])
    provider.model("anthropic", **settings).reply(ModelRequest(messages, tools))
    return provider.body()


def made(call_id="a", arguments="{}"):
    return ToolCall(id=call_id, function=Function(name="bash", arguments=arguments))


USER = Message(role="user", content="go")


def test_it_is_a_model_that_is_not_trusted():
    model = Played(SAID["anthropic"]).model("anthropic", "claude")

    assert isinstance(model, Model)
    assert (model.name, model.trusted) == ("anthropic/claude", False)


def test_a_request_has_version_key_system_tools_and_a_mark_for_the_cache():
    provider = Played(SAID["anthropic"])
    messages = [Message(role="system", content="Be brief."), Message(role="user", content="go")]

    provider.model("anthropic", base_url="https://a.test").reply(ModelRequest(messages, (BASH,)))

    request = provider.requests[0]
    assert str(request.url) == "https://a.test/v1/messages"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["x-api-key"].startswith("sk-")
    assert provider.body() == {
        "model": "m",
        "stream": True,
        "max_tokens": 8192,
        "tools": [
            {"name": "bash", "description": "Run a command.", "input_schema": BASH.parameters}
        ],
        "system": [{"type": "text", "text": "Be brief.", **CACHED}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "go", **CACHED}]}],
    }


def test_thinking_has_its_budget_beside_what_may_be_said():
    body = sent(USER, reasoning_effort="low", max_tokens=1000)

    assert body["thinking"] == {"type": "enabled", "budget_tokens": 4096}
    assert body["max_tokens"] == 5096


@pytest.mark.parametrize(
    "settings",
    [{"seed": 1}, {"reasoning_effort": "high", "temperature": 0.0}, {"reasoning_effort": "very"}],
)
def test_what_the_format_cannot_do_is_refused_when_the_model_is_made(settings):
    with pytest.raises(RunOptionError, match="anthropic/m"):
        Played(SAID["anthropic"]).model("anthropic", **settings)


def test_text_and_usage_are_gathered_what_the_cache_gave_and_took_included():
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
        "output_tokens": 1,
    }

    reply = replied(
        block(0, {"type": "text", "text": ""}, {"text": "Hel"}, {"text": "lo"}), usage=usage
    )

    assert (reply.message.content, reply.finish_reason) == ("Hello", "stop")
    assert (reply.input_tokens, reply.output_tokens) == (123, 7)
    assert (reply.cache_read_tokens, reply.cache_write_tokens) == (100, 20)


def test_several_calls_beside_text():
    reply = replied(
        block(0, {"type": "text", "text": ""}, {"text": "Look:"}),
        block(
            1,
            {"type": "tool_use", "id": "a", "name": "bash", "input": {}},
            {"partial_json": '{"comm'},
            {"partial_json": 'and": "ls"}'},
        ),
        block(2, {"type": "tool_use", "id": "b", "name": "view", "input": {}}),
        stop="tool_use",
    )

    assert (reply.message.content, reply.finish_reason) == ("Look:", "tool_calls")
    assert [(c.id, c.function.name, c.function.arguments) for c in reply.message.tool_calls] == [
        ("a", "bash", '{"command": "ls"}'),
        ("b", "view", "{}"),
    ]


@pytest.mark.parametrize("whole", [{"command": "ls"}, '{"command": "ls"}'])
def test_the_input_of_a_call_may_come_in_one_piece(whole):
    reply = replied(block(0, {"type": "tool_use", "id": "a", "name": "bash", "input": whole}))

    (call,) = reply.message.tool_calls
    assert call.function.arguments == '{"command": "ls"}'


@pytest.mark.parametrize("base_url", ["https://a.test", "https://a.test/", "https://a.test/v1"])
def test_a_base_url_may_have_its_version(base_url):
    provider = Played(SAID["anthropic"])

    provider.model("anthropic", base_url=base_url).reply(ask())

    assert str(provider.requests[0].url) == "https://a.test/v1/messages"


def test_a_model_that_thinks_may_have_the_only_temperature_it_can():
    assert sent(USER, reasoning_effort="low", temperature=1)["thinking"]["type"] == "enabled"


def test_thoughts_are_kept_with_their_signature_and_sent_back_unchanged():
    hidden = {"type": "redacted_thinking", "data": "xyz"}
    reply = replied(
        block(0, {"type": "thinking", "thinking": ""}, {"thinking": "Hm."}, {"signature": "s1"}),
        block(1, hidden),
        block(2, {"type": "tool_use", "id": "a", "name": "bash", "input": {}}),
        stop="tool_use",
    )
    thoughts = [{"type": "thinking", "thinking": "Hm.", "signature": "s1"}, hidden]

    body = sent(USER, reply.message, Message(role="tool", content="out", tool_call_id="a"))

    assert reply.message.reasoning_content == "Hm."
    assert reply.message.thinking_blocks == thoughts
    assert body["messages"][1]["content"] == [
        *thoughts,
        {"type": "tool_use", "id": "a", "name": "bash", "input": {}},
    ]


def test_thoughts_alone_are_not_sent_back():
    only_thoughts = Message(
        content="", thinking_blocks=[{"type": "thinking", "thinking": "x", "signature": "s"}]
    )

    body = sent(USER, only_thoughts, Message(role="user", content="go on"))

    assert [m["role"] for m in body["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("new_reason", "new_reason"),
    ],
)
def test_stop_reasons(theirs, ours):
    text = block(0, {"type": "text", "text": "x"})

    assert replied(text, stop=theirs).finish_reason == ours


def test_answers_in_a_row_and_the_next_instructions_are_one_users_message():
    body = sent(
        USER,
        Message(tool_calls=(made("a"), made("b"))),
        Message(role="tool", content="one", tool_call_id="a"),
        Message(role="tool", content="", tool_call_id="b"),
        Message(role="user", content="next"),
    )

    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one"}]},
        {"type": "tool_result", "tool_use_id": "b"},
        {"type": "text", "text": "next", **CACHED},
    ]


@pytest.mark.parametrize("then", [(), (Message(role="user", content="next"),)])
def test_a_call_that_was_never_answered_is_answered(then):
    body = sent(USER, Message(tool_calls=(made("a"),)), *then)

    answer = body["messages"][2]["content"][0]
    assert (answer["type"], answer["tool_use_id"]) == ("tool_result", "a")


def test_malformed_arguments_are_sent_back_as_an_object():
    body = sent(
        USER,
        Message(tool_calls=(made("a", '{"command": "ech'),)),
        Message(role="tool", content="bad", tool_call_id="a"),
    )

    assert body["messages"][1]["content"][0]["input"] == {"_malformed": '{"command": "ech'}


def test_an_image_is_sent_in_the_formats_own_shape():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}

    body = sent(Message(role="user", content=[{"type": "text", "text": "see"}, image]))

    assert body["messages"][0]["content"][1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
        **CACHED,
    }


def test_a_server_that_does_not_stream_is_understood():
    whole = {
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "ls"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }

    reply = Played(httpx.Response(200, json=whole)).model("anthropic").reply(ask())

    assert (reply.message.content, reply.output_tokens) == ("hi", 2)
    assert reply.message.tool_calls[0].function.arguments == '{"command": "ls"}'


@pytest.mark.parametrize(
    "events",
    [
        [{"type": "content_block_delta", "index": 4, "delta": {"text": "x"}}],
        list(block(0, {"type": "text", "text": 5})),
        list(block(0, {"type": "tool_use", "id": "a"})),
        list(block(0, {"type": "text", "text": ""}, {"text": 5})),
    ],
)
def test_a_reply_of_odd_shape_is_useless_and_not_a_crash(events):
    with pytest.raises(ProviderError) as caught:
        replied(events)

    assert (caught.value.kind, caught.value.attempts) == ("useless", 4)


@pytest.mark.parametrize(
    ("error", "kind", "attempts"),
    [("overloaded_error", "server", 10), ("invalid_request_error", "refused", 1)],
)
def test_an_error_in_the_middle_of_a_reply(error, kind, attempts):
    event = {"type": "error", "error": {"type": error, "message": "Sorry"}}

    with pytest.raises(ProviderError, match="Sorry") as caught:
        replied([event])

    assert (caught.value.kind, caught.value.attempts) == (kind, attempts)


def test_the_first_message_is_the_same_in_every_turn_and_both_ends_carry_a_mark():
    mark = {"type": "ephemeral"}
    told = [Message(role="user", content="Work."), Message(content="Yes."),
            Message(role="user", content="Go on."), Message(content="Done."),
            Message(role="user", content="And more.")]  # fmt: skip

    first, last = sent(told[0])["messages"], sent(*told)["messages"]

    assert last[0] == first[0]
    assert first[0]["content"][-1]["cache_control"] == mark
    marks = [turn["content"][-1].get("cache_control") for turn in last]
    assert marks == [mark, None, None, None, mark]

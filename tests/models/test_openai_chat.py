"""The chat completions format: what is sent, and what is made of what comes back."""

from __future__ import annotations

import json

import httpx
import pytest
from models.conftest import BASH, SAID, Played, ask, chunk, sse

from pytest_chalk.authoring.ports import Model, ModelRequest
from pytest_chalk.errors import ProviderError
from pytest_chalk.schemas.chat import Function, Message, ToolCall


def piece(index=None, **fields):
    """A piece of a tool call; `name` and `arguments` belong to its function."""
    function = {name: fields.pop(name) for name in ("name", "arguments") if name in fields}
    return {**({} if index is None else {"index": index}), **fields, "function": function}


def replied(*events, **settings):
    return Played(sse(*events)).model(**settings).reply(ask())


def calls_of(reply):
    return [(c.id, c.function.name, c.function.arguments) for c in reply.message.tool_calls]


def test_it_is_a_model_that_is_not_trusted():
    model = Played(SAID["openai"]).model(model_id="gpt-5")

    assert isinstance(model, Model)
    assert (model.name, model.trusted) == ("openai/gpt-5", False)


def test_a_request_has_the_model_the_settings_the_tools_and_the_conversation():
    provider = Played(SAID["openai"])
    model = provider.model(temperature=0.5, max_tokens=99, seed=7, reasoning_effort="max")

    model.reply(ask("hello"))

    assert str(provider.requests[0].url) == "https://provider.test/v1/chat/completions"
    assert provider.body() == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 99,
        "seed": 7,
        "reasoning_effort": "high",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "bash",
                    "description": "Run a command.",
                    "parameters": BASH.parameters,
                },
            }
        ],
        "messages": [{"role": "user", "content": "hello"}],
    }


def test_nothing_that_was_not_set_is_sent():
    provider = Played(SAID["openai"])

    provider.model().reply(ask(tools=()))

    assert provider.body().keys() == {"model", "stream", "stream_options", "messages"}


def test_openai_itself_is_sent_the_name_that_its_models_take():
    provider = Played(SAID["openai"])

    provider.model(base_url="https://api.openai.com/v1", max_tokens=5).reply(ask())

    assert provider.body()["max_completion_tokens"] == 5
    assert "max_tokens" not in provider.body()


@pytest.mark.parametrize(
    ("refused", "gone", "instead"),
    [
        ("max_tokens", "max_tokens", "max_completion_tokens"),
        ("stream_options", "stream_options", None),
    ],
)
def test_a_field_that_the_server_refuses_is_spelt_otherwise_from_then_on(refused, gone, instead):
    refusal = httpx.Response(400, json={"error": {"message": f"Unknown parameter: '{refused}'."}})
    provider = Played(refusal, SAID["openai"])
    model = provider.model(max_tokens=5)

    model.reply(ask())
    model.reply(ask("more"))

    assert len(provider.requests) == 3
    assert gone not in provider.body()
    assert instead is None or provider.body()[instead] == 5


def test_text_reasoning_and_usage_are_gathered():
    usage = {
        "prompt_tokens": 11,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    reply = replied(
        chunk(role="assistant", content=""),
        chunk(reasoning_content="Let me "),
        chunk(reasoning_content="see."),
        chunk(content="Hel"),
        chunk(content="lo"),
        chunk(finish="stop"),
        {"choices": [], "usage": usage},
    )

    assert (reply.message.content, reply.message.reasoning_content) == ("Hello", "Let me see.")
    assert (reply.finish_reason, reply.message.tool_calls) == ("stop", None)
    assert (reply.input_tokens, reply.output_tokens, reply.cache_read_tokens) == (11, 5, 8)


def test_a_provider_that_counts_nothing_used_no_tokens():
    reply = replied(chunk(content="hi"), chunk(finish="stop"))

    assert (reply.input_tokens, reply.output_tokens, reply.cache_read_tokens) == (0, 0, None)


TWO = [("a", "bash", '{"command": "ls"}'), ("b", "view", "{}")]
CALLS = {
    "in pieces": (
        [
            chunk(content="Look:"),
            chunk(tool_calls=[piece(0, id="a", name="bash", arguments="")]),
            chunk(tool_calls=[piece(0, arguments='{"comm')]),
            chunk(tool_calls=[piece(0, arguments='and": "ls"}')]),
            chunk(tool_calls=[piece(1, id="b", name="view", arguments="{}")]),
        ],
        TWO,
    ),
    "name and id repeated in every chunk": (
        [
            chunk(tool_calls=[piece(0, id="a", name="bash", arguments='{"comm')]),
            chunk(tool_calls=[piece(0, id="a", name="bash", arguments='and": "ls"}')]),
        ],
        TWO[:1],
    ),
    "no index": (
        [
            chunk(tool_calls=[piece(id="a", name="bash", arguments='{"comm')]),
            chunk(tool_calls=[piece(arguments='and": "ls"}')]),
            chunk(tool_calls=[piece(id="b", name="view", arguments="{}")]),
        ],
        TWO,
    ),
    "no index, all at once": (
        [
            chunk(
                tool_calls=[
                    piece(id="a", name="bash", arguments='{"command": "ls"}'),
                    piece(id="b", name="view", arguments="{}"),
                ]
            )
        ],
        TWO,
    ),
    "index 0 for all": (
        [
            chunk(tool_calls=[piece(0, id="a", name="bash", arguments='{"command": "ls"}')]),
            chunk(tool_calls=[piece(0, id="b", name="view", arguments="{}")]),
        ],
        TWO,
    ),
    "no ids": (
        [
            chunk(tool_calls=[piece(0, name="bash", arguments="{}")]),
            chunk(tool_calls=[piece(1, name="bash", arguments="{}")]),
        ],
        [("call_1_0", "bash", "{}"), ("call_1_1", "bash", "{}")],
    ),
    "one id for two": (
        [
            chunk(tool_calls=[piece(0, id="a", name="bash", arguments="{}")]),
            chunk(tool_calls=[piece(1, id="a", name="bash", arguments="{}")]),
        ],
        [("a", "bash", "{}"), ("call_1_1", "bash", "{}")],
    ),
    "arguments as an object": (
        [chunk(tool_calls=[piece(0, id="a", name="bash", arguments={"command": "ls"})])],
        TWO[:1],
    ),
    "no arguments": ([chunk(tool_calls=[piece(0, id="a", name="bash")])], [("a", "bash", "")]),
}


@pytest.mark.parametrize("case", CALLS)
@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call"])
def test_calls_are_put_together_whatever_the_servers_habits(case, finish):
    events, wanted = CALLS[case]

    reply = replied(*events, chunk(finish=finish))

    assert calls_of(reply) == wanted
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("eos", "stop")],
)
def test_finish_reasons(theirs, ours):
    assert replied(chunk(content="x"), chunk(finish=theirs)).finish_reason == ours


def test_a_server_that_does_not_stream_is_understood():
    whole = {
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"content": "hi", "tool_calls": [piece(id="a", name="bash")]},
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }

    reply = Played(httpx.Response(200, json=whole)).model().reply(ask())

    assert (reply.message.content, reply.input_tokens) == ("hi", 3)
    assert calls_of(reply) == [("a", "bash", "")]


def test_a_stream_without_its_last_line_end_is_whole():
    provider = Played(httpx.Response(200, text=SAID["openai"].text.rstrip("\n")))

    assert provider.model().reply(ask()).message.content == "done"


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": "none"},
        {"choices": [{"delta": 5}]},
        chunk(content=["no", "text"]),
        chunk(tool_calls=[{"index": "x", "function": {}}]),
        {"choices": [{"index": 0, "delta": {}}], "usage": "much"},
        [],
    ],
)
def test_a_reply_of_odd_shape_is_useless_and_not_a_crash(odd):
    provider = Played(sse(odd, chunk(finish="stop")))

    with pytest.raises(ProviderError) as caught:
        provider.model().reply(ask())

    assert (caught.value.kind, caught.value.attempts) == ("useless", 4)


def messages_sent(*messages):
    provider = Played(SAID["openai"])
    provider.model().reply(ModelRequest(messages, ()))
    return provider.body()["messages"]


def made(call_id="a", name="bash", arguments="{}"):
    return ToolCall(id=call_id, function=Function(name=name, arguments=arguments))


def test_calls_and_answers_are_sent_back_and_no_content_is_empty_text():
    sent = messages_sent(
        Message(role="user", content="go"),
        Message(tool_calls=(made(),), reasoning_content="hm"),
        Message(role="tool", content="out", tool_call_id="a"),
    )

    assert sent[1:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "out"},
    ]


@pytest.mark.parametrize("arguments", ['{"command": "ech', "[1]", "nonsense"])
def test_malformed_arguments_are_sent_back_as_an_object(arguments):
    sent = messages_sent(Message(tool_calls=(made(arguments=arguments),)))

    assert json.loads(sent[0]["tool_calls"][0]["function"]["arguments"]) == {
        "_malformed": arguments
    }


@pytest.mark.parametrize(("name", "usable"), [("a.b c", "a_b_c"), (None, "unnamed")])
def test_names_that_models_make_up_are_sent_back_in_a_form_providers_take(name, usable):
    sent = messages_sent(Message(tool_calls=(made(name=name),)))

    assert sent[0]["tool_calls"][0]["function"]["name"] == usable


def test_a_call_that_was_never_answered_is_answered():
    sent = messages_sent(
        Message(tool_calls=(made("a"), made("b"))),
        Message(role="tool", content="out", tool_call_id="a"),
        Message(role="user", content="next step"),
    )

    assert [m.get("tool_call_id") for m in sent] == [None, "a", "b", None]


def test_an_image_of_a_tool_follows_its_answer_as_a_users_message():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    answer = [{"type": "text", "text": "Here."}, image]

    sent = messages_sent(
        Message(tool_calls=(made(),)), Message(role="tool", content=answer, tool_call_id="a")
    )

    assert sent[1]["content"] == "Here."
    assert sent[2] == {"role": "user", "content": [image]}

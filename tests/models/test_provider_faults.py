"""Every fault that a provider is known for, over real connections, in both formats."""

from __future__ import annotations

import threading
import time

import pytest
from models.conftest import BASH, KEY, ask

from pytest_chalk.authoring.ports import ModelRequest
from pytest_chalk.errors import ProviderError
from pytest_chalk.schemas.chat import Message

BOTH = pytest.mark.parametrize("prefix", ["openai", "anthropic"])

PASSING = {
    "429": "HTTP 429",
    "500": "HTTP 500",
    "503": "HTTP 503",
    "529": "HTTP 529",
    "badjson": "no JSON",
    "empty": "empty body",
    "html": "a web page",
    "nochoices": "a reply",
    "truncate": "incomplete chunked read",
    "reset": "Error",
    "hang": "ReadTimeout",
}
"""A fault that is over when asked again, and what the retry's reason says."""

FOR_EVER = {
    "429": ("rate_limit", 10),
    "500": ("server", 10),
    "529": ("server", 10),
    "truncate": ("truncated", 6),
    "reset": ("reset", 6),
    "badjson": ("useless", 4),
    "empty": ("useless", 4),
    "html": ("useless", 4),
    "nochoices": ("useless", 4),
    "hang": ("timeout", 3),
}
"""A fault that stays: its kind, and how often the provider is asked."""


@BOTH
@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_is_asked_again_and_told(loopback, prefix, fault):
    told = []
    model = loopback.model(prefix, f"faults={fault}&retry_after=0.1", idle_limit_s=0.2)

    reply = model.reply(ask(on_retry=told.append))

    assert (reply.message.text, reply.finish_reason) == ("done", "stop")
    assert [retry.attempt for retry in told] == [1]
    assert PASSING[fault] in told[0].reason
    stats = loopback.stats()
    assert (stats["requests"], stats["too_early"]) == (2, 0)


@BOTH
@pytest.mark.parametrize("fault", FOR_EVER)
def test_a_fault_that_stays_ends_in_an_error_after_a_bounded_number_of_calls(
    loopback, prefix, fault
):
    kind, attempts = FOR_EVER[fault]
    faults = ",".join([fault] * 10)
    model = loopback.model(prefix, f"faults={faults}&retry_after=0.01", idle_limit_s=0.1)

    with pytest.raises(ProviderError) as caught:
        model.reply(ask())

    assert (caught.value.kind, caught.value.attempts) == (kind, attempts)
    assert f"model '{prefix}/mock" in str(caught.value)
    stats = loopback.stats()
    assert (stats["requests"], stats["too_early"]) == (attempts, 0)


@BOTH
def test_an_overloaded_provider_is_given_the_time_it_asks_for(loopback, prefix):
    model = loopback.model(prefix, "faults=429,503,429&retry_after=0.3")

    started = time.monotonic()
    model.reply(ask())

    assert time.monotonic() - started >= 0.9
    assert loopback.stats()["too_early"] == 0


@BOTH
def test_malformed_arguments_reach_the_loop_as_the_model_wrote_them(loopback, prefix):
    reply = loopback.model(prefix, "faults=badargs").reply(ask())

    assert reply.finish_reason == "tool_calls"
    assert reply.message.tool_calls[0].function.arguments == '{"command": "ech'


@BOTH
def test_an_unknown_tool_reaches_the_loop_by_its_name(loopback, prefix):
    reply = loopback.model(prefix, "faults=badtool").reply(ask())

    assert reply.message.tool_calls[0].function.name == "no_such_tool"


@BOTH
def test_a_conversation_with_several_calls_in_a_turn_comes_to_its_end(loopback, prefix):
    model = loopback.model(prefix, "tools=2&parallel=2&cmd=ls")
    messages = [Message(role="system", content="Be brief."), Message(role="user", content="go")]

    while True:
        reply = model.reply(ModelRequest(messages, (BASH,), 10.0))
        messages.append(reply.message)
        if not reply.message.tool_calls:
            break
        messages += [
            Message(role="tool", content="out", tool_call_id=made.id)
            for made in reply.message.tool_calls
        ]

    assert [len(m.tool_calls or ()) for m in messages if m.role == "assistant"] == [2, 2, 0]
    assert reply.message.text == "done"
    assert reply.input_tokens > 0
    assert reply.output_tokens > 0
    assert loopback.stats()["connections"] <= 3


@BOTH
@pytest.mark.parametrize("fault", ["trickle&trickle_ms=1000", "hang&hang_s=60"])
def test_a_time_limit_holds_from_outside(loopback, prefix, fault):
    model = loopback.model(prefix, f"faults={fault}&pad=2000")

    started = time.monotonic()
    reply = model.reply(ask(time_limit_s=0.4))
    took_s = time.monotonic() - started

    assert 0.4 <= took_s < 1.0
    assert (reply.finish_reason, reply.message.tool_calls) == ("time_limit", None)


@BOTH
def test_a_time_limit_keeps_what_has_arrived_without_half_a_call(loopback, prefix):
    model = loopback.model(prefix, "faults=trickle&trickle_ms=10&chunk=100&pad=3000&tools=9")

    reply = model.reply(ask(time_limit_s=0.4))

    assert reply.finish_reason == "time_limit"
    assert reply.message.text.startswith("call 1")
    assert reply.message.tool_calls is None


def test_a_wait_that_outlasts_the_time_limit_is_the_providers_error_at_once(loopback):
    model = loopback.model("openai", "faults=429&retry_after=30")

    started = time.monotonic()
    with pytest.raises(ProviderError, match="left of the step are too few") as caught:
        model.reply(ask(time_limit_s=2.0))

    assert caught.value.kind == "rate_limit"
    assert time.monotonic() - started < 1.0


def test_an_attempt_has_an_end_where_the_step_has_no_time_limit(loopback):
    model = loopback.model("openai", "faults=hang,hang,hang", reply_limit_s=0.1)

    with pytest.raises(ProviderError, match=r"no end of the reply in 0\.1 s") as caught:
        model.reply(ask())

    assert (caught.value.kind, caught.value.attempts) == ("timeout", 3)


def test_no_time_left_sends_nothing(loopback):
    assert loopback.model("openai").reply(ask(time_limit_s=0.0)).finish_reason == "time_limit"
    assert "requests" not in loopback.stats()


def test_a_connection_is_used_for_many_turns(loopback):
    model = loopback.model("openai")

    for number in range(10):
        model.reply(ask(f"turn {number}"))

    assert loopback.stats()["connections"] <= 3  # two are those that read and clear the counters


def test_one_model_serves_several_threads(loopback):
    model = loopback.model("openai", "latency_ms=50&text=yes")
    said = []
    threads = [
        threading.Thread(target=lambda n=n: said.append(model.reply(ask(f"{n}")).message.text))
        for n in range(8)
    ]

    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert said == ["yes"] * 8
    assert time.monotonic() - started < 0.4


@BOTH
def test_nobody_listening_is_told_with_the_base_url(loopback, prefix):
    loopback.url = "http://127.0.0.1:9"

    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9") as caught:
        loopback.model(prefix).reply(ask())

    assert (caught.value.kind, caught.value.attempts) == ("connect", 4)
    assert KEY not in str(caught.value)

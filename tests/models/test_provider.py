"""Keys, base URLs, and what is asked again: the part that both formats share."""

from __future__ import annotations

import logging
import pickle
import traceback

import httpx
import pytest
from models.conftest import KEY, KINDS, SAID, Played, ask

from pytest_chalk.errors import ProviderError, RunOptionError
from pytest_chalk.models.http import REPLY_MAX_BYTES
from pytest_chalk.models.settings import ModelSettings

BOTH = pytest.mark.parametrize("prefix", ["openai", "anthropic"])


def refusal(status, message="no", **headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=names, json={"error": {"message": message}})


def error_of(*answers, prefix="openai", **settings):
    provider = Played(*answers)
    with pytest.raises(ProviderError) as caught:
        provider.model(prefix, **settings).reply(ask())
    return caught.value, provider


# --- keys


@BOTH
def test_a_missing_key_is_told_with_the_variable_to_set_before_anything_is_sent(
    prefix, monkeypatch
):
    monkeypatch.delenv(f"{prefix.upper()}_API_KEY", raising=False)
    provider = Played(SAID[prefix])
    model = provider.model(prefix, api_key=None)

    for action in (model.check_access, lambda: model.reply(ask())):
        with pytest.raises(RunOptionError, match=f"Set {prefix.upper()}_API_KEY"):
            action()
    assert provider.requests == []


@pytest.mark.parametrize("given", ["$MY_KEY", "${MY_KEY}"])
def test_a_key_can_be_named_by_its_variable(given, monkeypatch):
    monkeypatch.setenv("MY_KEY", " from-mine \n")
    provider = Played(SAID["openai"])

    provider.model(api_key=given).reply(ask())

    assert provider.requests[0].headers["authorization"] == "Bearer from-mine"


def test_the_variable_that_was_named_is_the_one_to_set(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)

    with pytest.raises(RunOptionError, match="Set MY_KEY"):
        Played(SAID["openai"]).model(api_key="$MY_KEY").check_access()


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1:1", "[::1]:1"])
def test_a_server_on_this_machine_needs_no_key(host, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    provider = Played(SAID["openai"])

    provider.model(api_key=None, base_url=f"http://{host}/v1").reply(ask())

    assert "authorization" not in provider.requests[0].headers


def test_a_key_that_no_header_can_carry_is_told_without_it():
    with pytest.raises(RunOptionError, match="characters") as caught:
        Played(SAID["openai"]).model(api_key=f"{KEY}\nx").check_access()

    assert KEY not in everything(caught.value)


def everything(error):
    """What could be shown of an error: message, repr, traceback with every frame's variables."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [f for f in shown.stack if "/pytest_chalk/" in f.filename]
    frames = [f"{frame.line} {frame.locals}" for frame in ours]
    return "\n".join([str(error), repr(error), repr(vars(error)), str(error.__cause__), *frames])


def echo(request):
    """A server that says what it was sent, headers first."""
    said = {"headers": dict(request.headers), "padding": "x" * 400}
    return httpx.Response(418, text=f"{said}")


def echo_across_the_cut(request):
    """Its message is cut where the key stands."""
    sent = request.headers.get("authorization") or request.headers["x-api-key"]
    return refusal(400, "x" * 285 + sent)


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        echo,
        echo_across_the_cut,
        httpx.ConnectError(f"no route for {KEY}"),
        refusal(401, f"Incorrect API key provided: {KEY}"),
        httpx.Response(200, text=f'data: {{"error": {{"message": "bad {KEY}"}}}}\n\n'),
    ],
)
def test_a_key_is_in_no_error_log_or_event(prefix, answer, caplog):
    caplog.set_level(logging.DEBUG)
    told = []
    provider = Played(answer)
    model = provider.model(prefix)

    with pytest.raises(ProviderError) as caught:
        model.reply(ask(on_retry=told.append))

    shown = [everything(caught.value), caplog.text, repr(told), repr(model), repr(vars(model))]
    assert KEY[:12] not in "\n".join(shown)


def test_settings_do_not_show_their_key():
    assert KEY not in repr(ModelSettings(api_key=KEY))


# --- base URLs


@BOTH
def test_the_environment_says_where_the_provider_is(prefix, monkeypatch):
    monkeypatch.setenv(f"{prefix.upper()}_BASE_URL", "https://mine.test/v1/")
    provider = Played(SAID[prefix])

    provider.model(prefix, base_url=None).reply(ask())

    assert str(provider.requests[0].url).startswith("https://mine.test/v1/")
    assert "/v1/v1" not in str(provider.requests[0].url)


@pytest.mark.parametrize(
    "base_url",
    ["mine.test/v1", "ftp://mine.test", "https://", "https://[x", "https://me:pw1234@mine.test",
     "https://mine.test/?key=pw1234"],
)  # fmt: skip
@BOTH
def test_a_base_url_that_cannot_be_used_is_refused_when_the_model_is_made(prefix, base_url):
    with pytest.raises(RunOptionError, match=f"{prefix.upper()}_BASE_URL") as caught:
        KINDS[prefix]("m", ModelSettings(base_url=base_url))

    assert "pw1234" not in str(caught.value)


# --- what is not asked again


@BOTH
@pytest.mark.parametrize(
    ("answer", "kind", "fix"),
    [
        (refusal(400, "bad temperature"), "refused", "bad temperature"),
        (refusal(401, "who?"), "auth", "Set {}_API_KEY to a key that this server accepts for 'm'"),
        (
            refusal(403, "not you"),
            "auth",
            "Set {}_API_KEY to a key that this server accepts for 'm'",
        ),
        (
            refusal(404, "no such model"),
            "not_found",
            "Check the model id 'm' and the base URL ({}_BASE_URL",
        ),
        (refusal(402, "pay"), "quota", "Add credit to the account that {}_API_KEY belongs to"),
        (refusal(429, "insufficient_quota"), "quota", "Add credit to the account that {}_API_KEY"),
        (refusal(301, "moved"), "refused", "{}_BASE_URL, now https://provider.test/v1"),
        (refusal(413, "too long"), "refused", "too long"),
    ],
)
def test_what_asking_again_cannot_mend_is_told_at_once_with_what_to_do(
    prefix, answer, kind, fix, monkeypatch
):
    monkeypatch.setenv(f"{prefix.upper()}_API_KEY", KEY)

    error, provider = error_of(answer, prefix=prefix, api_key=None)

    assert (error.kind, error.attempts, len(provider.requests)) == (kind, 1, 1)
    assert fix.format(prefix.upper()) in str(error)


@pytest.mark.parametrize("deep", [b"data: " + b"[" * 60_000 + b"\n\n", b"[" * 60_000])
@pytest.mark.parametrize("status", [200, 400])
def test_a_body_that_no_parser_can_hold_is_the_providers_trouble(deep, status):
    error, _ = error_of(httpx.Response(status, content=deep))

    assert error.kind == ("useless" if status == 200 else "refused")


def test_an_endless_reply_is_cut_off():
    endless = httpx.Response(200, content=b"data: " + b"x" * (REPLY_MAX_BYTES + 1))

    error, _ = error_of(endless)

    assert (error.kind, error.attempts) == ("too_large", 1)


# --- what is asked again


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (httpx.ConnectError("x"), "connect"),
        (httpx.ConnectTimeout("x"), "connect"),
        (httpx.ProxyError("x"), "connect"),
        (httpx.ReadTimeout("x"), "timeout"),
        (httpx.ReadError("x"), "reset"),
        (httpx.RemoteProtocolError("x"), "reset"),
        *((refusal(status), "server") for status in (408, 409, 500, 502, 503, 504, 529)),
        (refusal(429), "rate_limit"),
    ],
)
def test_trouble_that_passes_is_asked_again(trouble, kind):
    provider = Played(trouble, SAID["openai"])
    told = []

    reply = provider.model().reply(ask(on_retry=told.append))

    assert reply.message.content == "done"
    assert [(retry.attempt, retry.wait_s) for retry in told] == [(1, 1.0)]
    assert provider.waits == [1.0]
    assert error_of(trouble)[0].kind == kind


def test_waits_double_up_to_a_minute():
    _, provider = error_of(refusal(500))

    assert provider.waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry_after": "10"}, 11.0),
        ({"retry_after": "0.5"}, 0.55),
        ({"retry_after": "86400"}, 60.0),
        ({"retry_after_ms": "2000", "retry_after": "9"}, 2.2),
        ({"retry_after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry_after": "Fri, 01 Jan 2999 00:00:00 GMT"}, 60.0),
        ({"retry_after": "soon"}, 1.0),
        ({"retry_after": "nan"}, 1.0),
        ({"retry_after": "-5"}, 1.0),
    ],
)
def test_a_provider_says_when_to_come_back_within_a_minute(headers, wait_s):
    provider = Played(refusal(429, **headers), SAID["openai"])

    provider.model().reply(ask())

    assert provider.waits == [pytest.approx(wait_s)]


def test_the_settings_can_lower_the_number_of_attempts():
    error, provider = error_of(refusal(500), max_attempts=2)

    assert (error.attempts, len(provider.requests)) == (2, 2)
    assert "asked 2 times" in str(error)


def test_a_provider_error_crosses_process_borders_unchanged():
    error, _ = error_of(refusal(500), max_attempts=2)

    carried = pickle.loads(pickle.dumps(error))

    assert (str(carried), carried.kind, carried.attempts) == (str(error), "server", 2)


def test_a_mistake_of_ours_is_not_taken_for_the_providers():
    with pytest.raises(ZeroDivisionError):
        Played(lambda request: 1 / 0).model().reply(ask())

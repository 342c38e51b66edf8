"""What a provider's trouble is taken for, and how long to wait for it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pytest_chalk.models.fault import Fault, fault_of_event, fault_of_status, retry_after_s

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def of_status(status: int, body: bytes = b"", **headers: str) -> Fault:
    return fault_of_status(status, headers, body, NOW)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "refused"),
        (401, "auth"),
        (402, "quota"),
        (403, "auth"),
        (404, "not_found"),
        (408, "server"),
        (409, "server"),
        (422, "refused"),
        (429, "rate_limit"),
        (499, "refused"),
        (500, "server"),
        (529, "server"),
    ],
)
def test_a_status_is_trouble_of_a_kind(status: int, kind: str):
    assert of_status(status).kind == kind


@pytest.mark.parametrize("status", [400, 429])
def test_an_account_without_credit_is_told_from_a_limit_of_rate(status: int):
    body = b'{"error": {"message": "Your credit balance is too low", "code": "x"}}'

    assert of_status(status, body).kind == "quota"
    assert of_status(500, body).kind == "server"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", ""),
        (b"bad  gate\nway.", ": bad gate way"),
        (b'{"error": {"message": "no such model", "code": "m404"}}', ": no such model (m404)"),
        (b'{"error": {"message": "no m404", "code": "m404"}}', ": no m404"),
        (b'{"error": {"detail": "too long"}}', ": too long"),
        (b'{"detail": "too long"}', ": too long"),
        (b'{"error": "plain"}', ": plain"),
        (b'["odd"]', ": ['odd']"),
        (b"[" * 100_000, ": " + "[" * 300 + "..."),
        (b"x" * 300, ": " + "x" * 300),
    ],
)
def test_what_a_provider_says_is_told_in_one_short_line(body: bytes, words: str):
    assert of_status(418, body).reason == f"HTTP 418{words}"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "busy"}, "server"),
        ({"type": "rate_limit_error", "message": "slowly"}, "rate_limit"),
        ({"type": "x", "code": "rate_limit_exceeded", "message": "slowly"}, "rate_limit"),
        ({"type": "authentication_error", "message": "who"}, "auth"),
        ({"code": 401, "message": "who"}, "auth"),
        ({"code": "404", "message": "where"}, "not_found"),
        ({"code": 429, "message": "check your billing"}, "quota"),
        ("out of order", "server"),
    ],
)
def test_an_error_inside_of_a_reply_is_trouble_of_a_kind_too(error: object, kind: str):
    fault = fault_of_event({"error": error})

    assert fault is not None
    assert fault.kind == kind
    said = error["message"] if isinstance(error, dict) else error
    assert fault.reason == f"an error in the reply: {said}"


@pytest.mark.parametrize("event", [{}, {"error": None}, {"error": {}}, {"error": ""}])
def test_an_event_without_an_error_is_no_fault(event: dict):
    assert fault_of_event(event) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after-ms": "0"}, 0.0),
    ],
)
def test_a_wait_that_is_asked_for_is_read(headers: dict, seconds: float | None):
    assert retry_after_s(headers, NOW) == seconds


def test_waits_double_and_are_bounded():
    waits = [Fault("server", "").wait_s(n, lambda _low, high: high) for n in (1, 2, 3, 7, 8, 99)]

    assert waits == [1, 2, 4, 60, 60, 60]


def test_a_wait_that_is_asked_for_is_a_least_within_a_minute():
    def wait(asked: float) -> tuple[float, float]:
        fault = Fault("rate_limit", "", retry_after_s=asked)
        return fault.wait_s(1, lambda low, _high: low), fault.wait_s(1, lambda _low, high: high)

    assert wait(10) == (10, 11)
    assert wait(3600) == (60, 60)


def test_asking_again_has_an_end_that_can_be_nearer():
    assert [Fault("server", "").attempts(most) for most in (None, 3, 99)] == [10, 3, 10]
    assert Fault("auth", "").attempts(None) == 1

"""What goes wrong with a provider, sorted by whether asking again can help, and when. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_chalk.schemas.plain import parse_finite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

FaultKind: TypeAlias = Literal[
    "connect",
    "timeout",
    "reset",
    "truncated",
    "useless",
    "rate_limit",
    "quota",
    "server",
    "auth",
    "not_found",
    "refused",
    "too_large",
]

ATTEMPTS: Mapping[FaultKind, int] = {
    "rate_limit": 10,
    "server": 10,
    "reset": 6,
    "truncated": 6,
    "connect": 4,
    "useless": 4,
    "timeout": 3,
}
"""Attempts before a turn is given up, by the kind of the last failure; 1 where none is named. An
overloaded provider comes back within minutes (10 attempts wait two on average). A wrong host name
or base URL, which fails to connect or answers with a web page, does not: 4 tell it within seconds.
Each time-out has already cost the idle limit."""

BACKOFF_FIRST_S = 1.0
BACKOFF_MAX_S = 60.0
"""Most that a wait doubles to. Longer ones outlast the tasks that wait."""

RETRY_AFTER_MAX_S = 60.0
"""Most that a provider can make us wait at a time: a header of a day would hang the session."""

SHOWN_MAX = 300
"""Characters of a provider's own words in a message; its error pages have thousands."""

_CREDIT = ("insufficient_quota", "billing", "credit balance")
_ERROR_KINDS: Mapping[str, FaultKind] = {
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "authentication_error": "auth",
    "permission_error": "auth",
    "not_found_error": "not_found",
    "invalid_request_error": "refused",
    "request_too_large": "refused",
}


@dataclass(frozen=True)
class Fault:
    """Why an attempt failed. `reason` is one line without a full stop, not yet redacted."""

    kind: FaultKind
    reason: str
    status: int | None = None
    retry_after_s: float | None = None

    def attempts(self, most: int | None) -> int:
        """Return how many attempts this kind of failure deserves, `most` at most."""
        deserved = ATTEMPTS.get(self.kind, 1)
        return deserved if most is None else min(deserved, most)

    def wait_s(self, attempt: int, uniform: Callable[[float, float], float]) -> float:
        """Return the seconds to wait after the attempt of that number (from 1).

        Full jitter: many workers that failed at once must not come back at once. A Retry-After is a
        least, so its jitter comes on top.
        """
        if self.retry_after_s is None:
            doubled = BACKOFF_FIRST_S * 2.0 ** min(attempt - 1, 10)
            return uniform(0.0, min(BACKOFF_MAX_S, doubled))
        asked = self.retry_after_s + uniform(0.0, 0.1 * self.retry_after_s)
        return min(RETRY_AFTER_MAX_S, asked)


def fault_of_status(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> Fault:
    """Return the fault that an HTTP status other than 200 stands for."""
    said = words_of(body)
    reason = f"HTTP {status}" + (f": {said}" if said else "")
    return Fault(_kind_of_status(status, said), reason, status, retry_after_s(headers, now))


def fault_of_event(event: Mapping[str, Any]) -> Fault | None:
    """Return the fault that a provider reports inside a reply that began well, if it does.

    Both formats hold it under `error`. An unknown one counts as the provider's own trouble.
    """
    error = event.get("error")
    if not error:
        return None
    words = error if isinstance(error, dict) else {"message": str(error)}
    names = [str(words.get(key)) for key in ("type", "code")]
    kinds = [_ERROR_KINDS[name] for name in names if name in _ERROR_KINDS]
    kinds += [_kind_of_status(int(name), "") for name in names if name.isdigit()]
    said = _one_line(str(words.get("message") or names[0]))
    kind: FaultKind = kinds[0] if kinds else "server"
    return Fault("quota" if _is_about_credit(said) else kind, f"an error in the reply: {said}")


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the headers ask to wait, given as milliseconds, seconds or a date."""
    value = headers.get("retry-after", "").strip()
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def words_of(body: bytes) -> str:
    """Return what an error body says, as one short line."""
    text = body.decode("utf-8", "replace")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return _one_line(text)
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    if not isinstance(error, dict):
        return _one_line(str(error))
    message = str(error.get("message") or error.get("detail") or text)
    code = error.get("code")
    return _one_line(message if code is None or str(code) in message else f"{message} ({code})")


def _kind_of_status(status: int, said: str) -> FaultKind:
    if status in (401, 403):
        return "auth"
    if status == 404:
        return "not_found"
    if status == 402 or (status in (400, 429) and _is_about_credit(said)):
        return "quota"
    if status == 429:
        return "rate_limit"
    return "server" if status in (408, 409) or status >= 500 else "refused"


def _is_about_credit(said: str) -> bool:
    return any(word in said.lower() for word in _CREDIT)


def _number(text: str) -> float | None:
    number = parse_finite(text)
    return number if number is not None and number >= 0 else None


def _one_line(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= SHOWN_MAX else f"{line[:SHOWN_MAX]}..."

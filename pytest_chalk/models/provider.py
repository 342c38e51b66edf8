"""A provider as a wire format sees it: where it is, its key, and a turn asked until answered."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from pytest_chalk.authoring.ports import Retry
from pytest_chalk.errors import ProviderError, RunOptionError
from pytest_chalk.models.fault import Fault
from pytest_chalk.models.http import DOOR, Assembly, Attempt, Door, Post

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_chalk.authoring.ports import ModelReply, ModelRequest
    from pytest_chalk.models.settings import ModelSettings


SECRET_MIN = 4
"""Shorter keys (`x`, `no`) are made up for servers that want any; hiding them would garble text."""

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class ReplyAssembly(Assembly, Protocol):
    """An assembly that can be turned into the reply."""

    def reply(self, *, is_cut: bool = False) -> ModelReply:
        """Return the reply; cut off, it is what arrived, without tool calls."""
        ...


@dataclass(frozen=True)
class Vendor:
    """What differs between the providers but for the format: names, and where the key goes.

    Attributes:
        key_header: Of a request; holds `key_prefix` and the key.
    """

    prefix: str
    base_variable: str
    key_variable: str
    default_base_url: str
    key_header: str
    key_prefix: str = ""

    def base_url(self, settings: ModelSettings) -> str:
        """Return the base URL without its last slash: argument, environment, the vendor's own."""
        chosen = settings.base_url or os.environ.get(self.base_variable) or self.default_base_url
        return chosen.strip().rstrip("/")


OPENAI = Vendor(
    "openai",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
    "https://api.openai.com/v1",
    key_header="authorization",
    key_prefix="Bearer ",
)
ANTHROPIC = Vendor(
    "anthropic",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "https://api.anthropic.com",
    key_header="x-api-key",
)
VENDORS = (OPENAI, ANTHROPIC)


class Provider:
    """One model at one provider."""

    def __init__(
        self, vendor: Vendor, model_id: str, settings: ModelSettings, door: Door | None = None
    ) -> None:
        self.name = f"{vendor.prefix}/{model_id}"
        self.base_url = vendor.base_url(settings)
        self._vendor, self._model_id, self._settings = vendor, model_id, settings
        self._door = DOOR if door is None else door
        check_base_url(self.name, self.base_url, vendor.base_variable)

    def key(self) -> str | None:
        """Return the key; None where a server on this machine needs none.

        Raises:
            RunOptionError: There is none, or it is no key. Names the variable to set.
        """
        variable = self._key_variable()
        given = os.environ.get(variable) if variable else self._settings.api_key
        key = (given or "").strip()
        if not key and is_loopback(self.base_url):
            return None
        if key and key.isascii() and key.isprintable():
            return key
        where = f"model {self.name!r}"
        problem = "its API key has characters that no key has" if key else "it has no API key"
        del key, given  # a traceback may show this frame's variables
        raise RunOptionError(
            where,
            problem,
            fix=f"Set {variable}" if variable else "Give another api_key, or `$NAME` of a variable",
        )

    def post(self, path: str, body: str, headers: Mapping[str, str] = NO_HEADERS) -> Post:
        """Return a request that holds the key, and hides it in what the server says.

        The key stays in this frame, which is gone before anything is sent: a traceback that shows
        variables cannot show it.

        Raises:
            RunOptionError: There is no key.
        """
        content = body.encode()
        key = self.key()
        vendor = self._vendor
        signed = {} if key is None else {vendor.key_header: f"{vendor.key_prefix}{key}"}
        return Post(
            url=f"{self.base_url}{path}",
            headers={"content-type": "application/json", **headers, **signed},
            body=content,
            redact=redactor(key),
            idle_limit_s=self._settings.idle_limit_s,
        )

    def ask(
        self, post: Post, assembly: Callable[[], ReplyAssembly], request: ModelRequest
    ) -> ModelReply:
        """Return the reply, asking as often as it takes and the failures deserve.

        When the request's time is over, what arrived is returned with finish reason `time_limit`.

        Raises:
            ProviderError: It could not be had; that a wait would outlast the time limit included.
        """
        limit_s = float("inf") if request.time_limit_s is None else request.time_limit_s
        ends_s = self._door.clock_s() + limit_s
        client = self._door.client(self.base_url)
        attempt = 0
        while True:
            attempt += 1
            left_s = ends_s - self._door.clock_s()
            parts = assembly()
            made = Attempt(client, post, parts)
            whole_limit_s = self._settings.reply_limit_s
            in_time = left_s > 0 and made.run(min(left_s, whole_limit_s))
            if not in_time and left_s <= whole_limit_s:
                return parts.reply(is_cut=True)
            reply = _find_reply(parts) if in_time and made.fault is None else None
            if reply is not None:
                return reply
            fault = made.fault or (_ODD if in_time else _overdue(whole_limit_s))
            wait_s = self._wait_s(fault, attempt, ends_s)
            if request.on_retry is not None:
                request.on_retry(Retry(attempt, wait_s, self._hide(fault.reason)))
            self._door.sleep(wait_s)

    def _wait_s(self, fault: Fault, attempt: int, ends_s: float) -> float:
        """Return the seconds until the next attempt.

        Raises:
            ProviderError: There is none.
        """
        if attempt >= fault.attempts(self._settings.max_attempts):
            raise self._error(fault, attempt)
        wait_s = fault.wait_s(attempt, self._door.uniform)
        left_s = ends_s - self._door.clock_s()
        if wait_s >= left_s:
            # No limit of the student's: it could not work. A score would be the provider's.
            left = f", and the {max(0.0, left_s):.1f} s left of the step are too few to ask again"
            raise self._error(fault, attempt, but=left)
        return wait_s

    def _error(self, fault: Fault, attempts: int, *, but: str = "") -> ProviderError:
        return ProviderError(
            f"model {self.name!r} at {self.base_url}",
            self._hide(fault.reason) + but,
            fix=self._fix(fault),
            kind=fault.kind,
            attempts=attempts,
        )

    def _fix(self, fault: Fault) -> str:
        base = f"the base URL ({self._vendor.base_variable}, now {self.base_url})"
        key = self._key_variable() or "the api_key"
        match fault.kind:
            case "auth":
                fix = f"Set {key} to a key that this server accepts for {self._model_id!r}"
            case "not_found":
                fix = f"Check the model id {self._model_id!r} and {base}"
            case "quota":
                fix = f"Add credit to the account that {key} belongs to"
            case "refused" | "too_large":
                fix = f"Change what it names, or check {base}"
            case "connect" | "useless":
                fix = f"Check {base}, proxies, and that the server is up"
            case _:
                fix = "The provider is in trouble: try later, or with fewer runs at once"
        return fix

    def _key_variable(self) -> str | None:
        """Return the environment variable that holds the key, unless the key itself was given."""
        given = self._settings.api_key
        if given is None:
            return self._vendor.key_variable
        return given[1:].strip("{}") if given.startswith("$") else None

    def _hide(self, text: str) -> str:
        return redactor(self.key())(text.encode()).decode("utf-8", "replace")


_ODD = Fault("useless", "a reply of unknown shape")


def _overdue(limit_s: float) -> Fault:
    return Fault("timeout", f"no end of the reply in {limit_s:g} s")


def _find_reply(parts: ReplyAssembly) -> ModelReply | None:
    """Return the reply, or None if its parts make no sense together."""
    try:
        return parts.reply()
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def redactor(key: str | None) -> Callable[[bytes], bytes]:
    """Return what takes the key out of a provider's words."""
    if key is None or len(key) < SECRET_MIN:
        return bytes
    secret = key.encode()
    return lambda words: words.replace(secret, b"[key]")


def check_base_url(name: str, base_url: str, variable: str) -> None:
    """Raise unless it is a URL that can be asked and shown.

    Raises:
        RunOptionError: It is none, or it holds a password, which messages would show.
    """
    where = f"model {name!r}"
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise RunOptionError(
            where, f"the base URL {base_url!r} is no URL", fix=f"Change {variable}"
        ) from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise RunOptionError(
            where,
            "the base URL holds a user name, password or query, which messages would show",
            fix=f"Give the secret as the API key and take it out of {variable}",
        )
    if not valid:
        raise RunOptionError(
            where,
            f"the base URL {base_url!r} does not start with http:// or https:// and a host",
            fix=f"Change {variable}",
        )


def is_loopback(base_url: str) -> bool:
    """Tell whether the server is on this machine: it costs nothing and may need no key."""
    host = (urlsplit(base_url).hostname or "").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

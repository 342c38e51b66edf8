"""The one place that opens connections: sends a request, reads its reply as it arrives.

An attempt runs in a thread of its own, so that its time limit holds from outside: name look-up,
connecting and a drip of bytes have no other bound that is one. A thread that was left alone ends
with its next byte or its idle limit; none holds up the end of the process.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import random
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from pytest_chalk.models.event_stream import DONE, EventStream
from pytest_chalk.models.fault import Fault, FaultKind, fault_of_event, fault_of_status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

CONNECT_LIMIT_S = 15.0
"""For each address of a host. A SYN that is dropped is retried by the kernel for two minutes."""

REPLY_MAX_BYTES = 32 * 1024 * 1024
"""One reply as it arrives. The longest (64,000 tokens, each its own event of ~300 bytes) take
20 MiB; a broken server that never stops would fill the memory."""

ERROR_MAX_BYTES = 64 * 1024
"""Of an error's body. What it says is in the first line."""

KEEP_ALIVE_S = 45.0
"""An idle connection is used again. Longer than most tool calls, shorter than the 60 s after which
common load balancers hang up."""

ABANDONED_S = 1.0
"""What a read may outlast the time limit: the caller has left by then, and learns no time-out."""


class Assembly(Protocol):
    """Puts a reply together from the events of its stream, or from one whole object.

    Attributes:
        begun: Something of a reply has arrived.
        complete: The provider said that it is over.
    """

    begun: bool
    complete: bool

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in an event. An odd shape raises LookupError, TypeError, ValueError or the like."""
        ...

    def add_whole(self, body: Mapping[str, Any]) -> None:
        """Take in the reply of a server that does not stream."""
        ...


@dataclass(frozen=True)
class Post:
    """A request. Its headers hold the key and its body the conversation: neither is in its repr."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    redact: Callable[[bytes], bytes] = field(repr=False)
    idle_limit_s: float = 120.0


class _BadReplyError(Exception):
    """Ends an attempt; carries its fault."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        self.fault = Fault(kind, reason)
        super().__init__(reason)


class _AbandonedError(Exception):
    """Ends the thread of an attempt whose caller has left."""


class Attempt:
    """One request and its reply. `fault` is None when it went well."""

    def __init__(self, client: httpx.Client, post: Post, assembly: Assembly) -> None:
        self.fault: Fault | None = None
        self._client, self._post, self._assembly = client, post, assembly
        self._left_alone = False
        self._adding = threading.Lock()
        self._working = threading.Lock()  # an Event is a page of Python in every turn
        self._crash: BaseException | None = None
        self._received = 0

    def run(self, limit_s: float) -> bool:
        """Return whether it came to an end in time. After False nothing more is added.

        Raises:
            Exception: A mistake of ours in the thread, raised again here.
        """
        try:
            self._working.acquire()
            _submit(lambda: self._work(limit_s), self._working)
            in_time = self._working.acquire(timeout=min(limit_s, threading.TIMEOUT_MAX))
        finally:
            with self._adding:
                self._left_alone = True
        if in_time and self._crash is not None:
            raise self._crash
        return in_time

    def _work(self, limit_s: float) -> None:
        try:
            self._converse(limit_s)
            self._judge_end()
        except _AbandonedError:
            pass
        except _BadReplyError as bad:
            self.fault = bad.fault
        except BaseException as error:  # noqa: BLE001 - it belongs to the thread that waits
            self._take_error(error)

    def _take_error(self, error: BaseException) -> None:
        kind = _kind_of_error(error, begun=self._received > 0)
        if kind is None:
            self._crash = error
        elif not self._assembly.complete:  # else only the connection's end went wrong
            said = self._post.redact(str(error).encode()).decode("utf-8", "replace")
            self.fault = Fault(kind, f"{type(error).__name__}: {said}" if said else kind)

    def _converse(self, limit_s: float) -> None:
        import httpx  # noqa: PLC0415 - 140 ms that only a run with a provider shall pay

        idle_s = min(self._post.idle_limit_s, limit_s + ABANDONED_S)
        connect_s = min(CONNECT_LIMIT_S, limit_s + ABANDONED_S)
        # The client itself would take three times as long over it, with cookies to look through.
        request = httpx.Request(
            "POST",
            _parsed_url(self._post.url),
            content=self._post.body,
            headers=httpx.Headers([*self._client.headers.raw, *_raw(self._post.headers)]),
            extensions={"timeout": httpx.Timeout(idle_s, connect=connect_s).as_dict()},
        )
        response = self._client.send(request, stream=True)
        try:
            if response.status_code == 200:
                self._read(response)
            else:
                self._read_error(response)
        finally:
            response.close()

    def _read(self, response: httpx.Response) -> None:
        stream = EventStream()
        for chunk in response.iter_bytes():
            self._received += len(chunk)
            if self._received > REPLY_MAX_BYTES:
                raise _BadReplyError("too_large", f"a reply of more than {REPLY_MAX_BYTES} bytes")
            for payload in stream.feed(chunk):
                self._add(payload)
            if self._left_alone:
                raise _AbandonedError
        self._add(stream.last())
        whole = stream.whole()
        if whole is not None:
            self._add(whole, whole=True)
        elif not self._assembly.begun:
            first = {b"": "an empty body", b"<": "a web page"}.get(stream.first, "no events")
            raise _BadReplyError("useless", f"{first} instead of a reply")

    def _read_error(self, response: httpx.Response) -> None:
        body = b""
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > ERROR_MAX_BYTES or self._left_alone:
                break
        self.fault = fault_of_status(
            response.status_code, response.headers, self._post.redact(body), datetime.now(UTC)
        )

    def _add(self, payload: bytes, *, whole: bool = False) -> None:
        if payload in (b"", DONE):
            self._assembly.complete |= payload == DONE and self._assembly.begun
            return
        try:
            event = json.loads(self._post.redact(payload).decode())
        except (ValueError, RecursionError):
            raise _BadReplyError("useless", "a reply that is no JSON") from None
        fault = fault_of_event(event) if isinstance(event, dict) else None
        if fault is not None:
            bad = _BadReplyError(fault.kind, fault.reason)
            raise bad
        with self._adding:
            if self._left_alone:
                raise _AbandonedError
            try:
                (self._assembly.add_whole if whole else self._assembly.add)(event)
            except (LookupError, TypeError, ValueError, AttributeError) as odd:
                reason = f"a reply of unknown shape ({type(odd).__name__})"
                raise _BadReplyError("useless", reason) from None

    def _judge_end(self) -> None:
        if self.fault is None and not self._assembly.begun:
            self.fault = Fault("useless", "a reply without any choices or content")
        elif self.fault is None and not self._assembly.complete:
            self.fault = Fault("truncated", "the reply broke off")


@functools.lru_cache(maxsize=16)
def _parsed_url(url: str) -> httpx.URL:
    import httpx  # noqa: PLC0415 - see Attempt

    return httpx.URL(url)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


@dataclass
class Door:
    """How attempts are made: the clients, one per process and base URL, and the time between.

    A test gives its own transport, sleep and jitter.
    """

    transport: httpx.BaseTransport | None = None
    sleep: Callable[[float], None] = time.sleep
    uniform: Callable[[float, float], float] = random.uniform
    clock_s: Callable[[], float] = time.monotonic
    _clients: dict[str, httpx.Client] = field(default_factory=dict, repr=False)

    def client(self, base_url: str) -> httpx.Client:
        """Return the client for that server: its connections stay open between turns."""
        client = self._clients.get(base_url)
        if client is None:
            with _MAKING:
                client = self._clients.get(base_url) or self._make_client()
                self._clients[base_url] = client
        return client

    def _make_client(self) -> httpx.Client:
        import httpx  # noqa: PLC0415 - see Attempt

        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=64, keepalive_expiry=KEEP_ALIVE_S
        )
        headers = {"accept-encoding": "identity"}  # a stream gains nothing, and bounds stay true
        return httpx.Client(transport=self.transport, limits=limits, headers=headers)

    def close(self) -> None:
        """Close every connection that is not in use."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def forget(self) -> None:
        """Start anew, in a child process whose parent goes on using the connections."""
        self._clients = {}


_MAKING = threading.Lock()
DOOR = Door()
"""Of this process."""


class _Worker:
    """A thread that makes one attempt after another."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], None], threading.Lock]] = SimpleQueue()
        threading.Thread(target=self._run, name="chalk-model", daemon=True).start()

    def submit(self, job: Callable[[], None], working: threading.Lock) -> None:
        """Do the job in the thread and release `working`."""
        self._jobs.put((job, working))

    def _run(self) -> None:
        while True:
            job, working = self._jobs.get()
            job()
            _IDLE.append(self)  # before the release: the next turn finds it waiting
            working.release()
            del job, working  # a finished attempt is not kept until the next one


_IDLE: list[_Worker] = []


def _submit(job: Callable[[], None], working: threading.Lock) -> None:
    try:
        worker = _IDLE.pop()
    except IndexError:
        worker = _Worker()
    worker.submit(job, working)


def _forget_after_fork() -> None:
    _IDLE.clear()
    DOOR.forget()


os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(DOOR.close)


def _kind_of_error(error: BaseException, *, begun: bool) -> FaultKind | None:
    """Return what went wrong on the wire; None for what is no trouble of the wire."""
    import httpx  # noqa: PLC0415 - see Attempt

    kinds: tuple[tuple[type[Exception] | tuple[type[Exception], ...], FaultKind], ...] = (
        ((httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError), "connect"),
        (httpx.TimeoutException, "timeout"),
        ((httpx.DecodingError, httpx.TooManyRedirects), "useless"),
        ((httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL), "refused"),
        (httpx.TransportError, "truncated" if begun else "reset"),
    )
    return next((kind for types, kind in kinds if isinstance(error, types)), None)

"""What a command wrote, as far as it is kept: the head and the tail, within a limit."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

READ_BYTES = 262_144
"""Taken from a pipe at a time; four times what a pipe holds by default."""

POLL_INTERVAL_S = 0.02
"""How often to look whether a command has ended whose output somebody else still holds open."""

MAX_WAIT_S = 60.0
"""At a time, where the command's end wakes us. `poll` takes no more than some weeks."""

SHARED_WAIT_S = 0.5
"""At a time, where another thread may have read what would have woken us."""

ORPHAN_GRACE_S = 0.2
"""How long output is still read after the command has ended. What the command itself wrote is in
the pipe by then; only processes it left behind can add to it, and they may do so for ever."""


@dataclass(frozen=True)
class Completed:
    """How a command ended."""

    exit_code: int
    """Negative: the signal that ended it, as in subprocess."""

    stdout: bytes
    stderr: bytes
    timed_out: bool
    """It was killed at its time limit."""

    truncated: bool
    """A stream was longer than the limit; a note in its middle says how much is missing."""

    survivors: int = 0
    """Processes it left behind that could not be killed in time; only scoring scripts are asked."""


class BoundedOutput:
    """Keeps the first and the last half of `max_bytes` of a stream."""

    def __init__(self, max_bytes: int) -> None:
        self._head_limit = max_bytes - max_bytes // 2
        self._tail_limit = max_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total_bytes = 0

    @property
    def is_truncated(self) -> bool:
        """Whether there was more than is kept."""
        return self._total_bytes > self._head_limit + self._tail_limit

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self._total_bytes += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Cut now and then only: to move the tail for each chunk would cost more than reading it.
        if len(self._tail) > self._tail_limit + READ_BYTES:
            self._cut_tail()

    def rendered(self) -> bytes:
        """Return what is kept, with a note in its middle when bytes are missing there."""
        self._cut_tail()
        if not self.is_truncated:
            return bytes(self._head + self._tail)
        cut = self._total_bytes - len(self._head) - len(self._tail)
        return bytes(self._head) + b"\n[... %d bytes cut ...]\n" % cut + bytes(self._tail)

    def _cut_tail(self) -> None:
        excess = len(self._tail) - self._tail_limit
        if excess > 0:
            del self._tail[:excess]


def completed(
    exit_code: int, stdout: BoundedOutput, stderr: BoundedOutput, *, timed_out: bool
) -> Completed:
    """Return how a command ended, with what is kept of its output."""
    return Completed(
        exit_code=exit_code,
        stdout=stdout.rendered(),
        stderr=stderr.rendered(),
        timed_out=timed_out,
        truncated=stdout.is_truncated or stderr.is_truncated,
    )


class Feed:
    """Bytes that go into a pipe as fast as its reader takes them; owns the descriptor."""

    def __init__(self, fd: int, content: bytes) -> None:
        os.set_blocking(fd, False)
        self.fd: int | None = fd
        self._left = memoryview(content)

    def write(self) -> None:
        """Write what fits, and close when all is written or nobody reads any more."""
        if self.fd is None:
            return
        try:
            self._left = self._left[os.write(self.fd, self._left[:READ_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:
            self._left = self._left[:0]
        if not self._left:
            self.close()

    def is_at(self, fd: int) -> bool:
        """Tell whether the pipe is open and has that descriptor."""
        return self.fd == fd

    def close(self) -> None:
        """Close the pipe, whatever is left."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class News(NamedTuple):
    """A descriptor that is readable when a command has ended, or at other news."""

    fd: int
    is_shared: bool = False
    """Others read it too, and may have read the end before it is seen here."""


def read_until_exit(
    streams: Mapping[int, BoundedOutput],
    has_ended: Callable[[], bool],
    *,
    time_limit_s: float,
    feed: Feed | None = None,
    news: News | None = None,
) -> bool:
    """Read pipes until the command has ended; return False when the time limit came first.

    Whoever still holds the pipes then is not waited for longer than `ORPHAN_GRACE_S`. `has_ended`
    is asked at `news`; without, or where others read them too, also now and then.
    """
    open_streams = dict(streams)
    poll = _poll_for(streams, feed, news)
    deadline, grace_end = time.monotonic() + time_limit_s, None
    has_news = True  # the end may have been told before anybody looked
    while (now := time.monotonic()) < deadline:
        if grace_end is None and has_news and has_ended():
            grace_end = now + ORPHAN_GRACE_S
            if news is not None:  # it may stay readable for ever
                poll.unregister(news.fd)
        if grace_end is not None and (not open_streams or now >= grace_end):
            return True
        wait_s = (deadline if grace_end is None else grace_end) - now
        if grace_end is None and news is None:
            # Both pipes at their end mostly means that the command ends this very millisecond.
            wait_s = POLL_INTERVAL_S if open_streams else POLL_INTERVAL_S / 20
        elif grace_end is None and news is not None and news.is_shared:
            wait_s = min(wait_s, SHARED_WAIT_S if open_streams else POLL_INTERVAL_S)
        ready = [fd for fd, _ in poll.poll(min(wait_s, MAX_WAIT_S) * 1000)]
        for fd in ready:
            _transfer(poll, fd, open_streams, feed)
        has_news = news is None or news.fd in ready or not ready or not open_streams
    return grace_end is not None or has_ended()


def _poll_for(streams: Iterable[int], feed: Feed | None, news: News | None) -> select.poll:
    # Not a selector: with three descriptors its bookkeeping takes longer than the reading.
    poll = select.poll()
    for fd in streams:
        os.set_blocking(fd, False)
        poll.register(fd, select.POLLIN)
    if feed is not None and feed.fd is not None:
        poll.register(feed.fd, select.POLLOUT)
    if news is not None:
        poll.register(news.fd, select.POLLIN)
    return poll


def _transfer(
    poll: select.poll, fd: int, open_streams: dict[int, BoundedOutput], feed: Feed | None
) -> None:
    if fd in open_streams:
        with suppress(BlockingIOError):
            chunk = os.read(fd, READ_BYTES)
            if chunk:
                open_streams[fd].add(chunk)
            else:
                poll.unregister(fd)
                del open_streams[fd]
    elif feed is not None and feed.is_at(fd):
        feed.write()
        if not feed.is_at(fd):
            poll.unregister(fd)

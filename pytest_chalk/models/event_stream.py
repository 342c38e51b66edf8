"""The body of a reply, read as it arrives: server-sent events, or one JSON object. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE = b"[DONE]"
"""What ends a stream of OpenAI's format."""


class EventStream:
    """Turns chunks of bytes into the payloads of `data:` lines.

    Both formats write an event's JSON on one line, so a line is an event; its name is repeated in
    the JSON. A server that does not stream sends one object instead, seen by its first character.
    """

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self.first = b""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the payloads that are complete with this chunk."""
        self._pending.append(chunk)
        if not self.first:
            self.first = b"".join(self._pending).lstrip()[:1]
        if b"\n" not in chunk or self.first in (b"{", b"[", b"<"):
            return
        *lines, rest = b"".join(self._pending).split(b"\n")
        self._pending = [rest]
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()

    def last(self) -> bytes:
        """Return the payload that the end of the body left without its line end, else b""."""
        rest = b"".join(self._pending).strip()
        return rest[5:].strip() if rest.startswith(b"data:") else b""

    def whole(self) -> bytes | None:
        """Return the body if it is no stream but one JSON value."""
        return b"".join(self._pending) if self.first in (b"{", b"[") else None

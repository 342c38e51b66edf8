"""A conversation in a provider's words, written down once and continued turn by turn. Pure.

A turn sends the whole conversation again. Only what is new since the turn before is put into words.
"""

from __future__ import annotations

import json
import operator
import re
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_chalk.schemas.chat import Message

DRAFTS_KEPT = 4
"""Conversations at once per model and process. There is one student run at a time in a process; a
judge may hold a few more. One more than this is written anew each turn, which costs time only."""

NOT_CARRIED_OUT = "This call was not carried out."
"""Answers a call that a limit or a content filter left open: both formats refuse a conversation in
which a call has no answer."""

_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")


class Draft(Protocol):
    """A conversation being put into a provider's words."""

    seen: list[Message]

    def add(self, message: Message) -> None:
        """Write down the next message."""
        ...


D = TypeVar("D", bound=Draft)


class Drafts(Generic[D]):
    """The drafts of the last few conversations. Safe to use from several threads."""

    def __init__(self, make: Callable[[], D]) -> None:
        self._make = make
        self._kept: deque[D] = deque(maxlen=DRAFTS_KEPT)

    def take(self, messages: Sequence[Message]) -> D:
        """Return a draft of exactly these messages; give it back with `keep`."""
        draft = self._find(messages)
        for message in messages[len(draft.seen) :]:
            draft.add(message)
            draft.seen.append(message)
        return draft

    def keep(self, draft: D) -> None:
        """Keep a draft for the next turn of its conversation."""
        self._kept.append(draft)

    def _find(self, messages: Sequence[Message]) -> D:
        for draft in tuple(self._kept):
            if len(draft.seen) <= len(messages) and all(map(operator.is_, draft.seen, messages)):
                try:
                    self._kept.remove(draft)
                except ValueError:
                    continue  # another thread was quicker
                return draft
        return self._make()


def usable_arguments(arguments: str) -> dict[str, Any]:
    """Return a call's arguments as an object. What is none is kept as text under a name.

    Providers refuse their own model's malformed JSON when it comes back in the conversation.
    """
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {"_malformed": arguments}
    return parsed if isinstance(parsed, dict) else {"_malformed": arguments}


def usable_name(name: str | None) -> str:
    """Return a tool's name as providers take it back; models make up others."""
    return _NO_NAME.sub("_", name or "")[:64] or "unnamed"


def usable_ids(ids: Sequence[str], turn: int) -> list[str]:
    """Return the ids of one turn's calls, missing and repeated ones replaced by `call_TURN_N`."""
    used: set[str] = set()
    usable = []
    for position, given in enumerate(ids):
        chosen = given if given and given not in used else f"call_{turn}_{position}"
        used.add(chosen)
        usable.append(chosen)
    return usable

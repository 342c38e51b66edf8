"""What a task or scorer can learn about the call it serves."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterator

EVALUATION_HEADER = "x-chalk-evaluation-id"
RUN_HEADER = "x-chalk-evaluation-run-id"
SESSION_HEADER = "x-chalk-session-id"
SOURCE_RUN_HEADER = "x-chalk-source-run-id"


class CallContext(Mapping[str, str]):
    """Headers of a call. Read-only; names are found in any case."""

    __slots__ = ("_headers",)

    def __init__(self, headers: Mapping[str, str]) -> None:
        """Take headers whose names are in lower case."""
        self._headers = headers

    @override
    def __getitem__(self, name: str) -> str:
        return self._headers[name.lower()]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    @override
    def __len__(self) -> int:
        return len(self._headers)

    @override
    def __repr__(self) -> str:
        return f"CallContext({self._headers!r})"


class RowContext(CallContext):
    """Headers of the calls of one row; its session is put together where somebody asks for it."""

    __slots__ = ("_row", "_run_id")

    def __init__(self, headers: Mapping[str, str], run_id: str, row: int) -> None:
        """Take the headers that all rows have, in lower case."""
        self._headers, self._run_id, self._row = headers, run_id, row

    @override
    def __getitem__(self, name: str) -> str:
        if name.lower() == SESSION_HEADER:
            return f"{self._run_id}:{self._row}"
        return super().__getitem__(name)

    @override
    def __iter__(self) -> Iterator[str]:
        yield from self._headers
        yield SESSION_HEADER

    @override
    def __len__(self) -> int:
        return len(self._headers) + 1

    @override
    def __repr__(self) -> str:
        return f"CallContext({dict(self)!r})"


_NONE = CallContext({})
_CURRENT: ContextVar[CallContext] = ContextVar("chalk_call_context", default=_NONE)


def get_call_context() -> CallContext:
    """Return the headers of the call that is being made; empty outside of one.

    During a run: `x-chalk-evaluation-id`, `x-chalk-evaluation-run-id` and `x-chalk-session-id`. In
    a rescore the run is the new one, and `x-chalk-source-run-id` the one that is rescored.
    """
    return _CURRENT.get()


def set_call_context(context: CallContext) -> Token[CallContext]:
    """Set the context of the calls that this thread makes from now on."""
    return _CURRENT.set(context)


def reset_call_context(token: Token[CallContext]) -> None:
    """Set back what `set_call_context` had set."""
    _CURRENT.reset(token)

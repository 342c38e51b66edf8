"""What a task or scorer can learn about the call it serves."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
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

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = {name.lower(): value for name, value in headers.items()}

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


_NONE = CallContext({})
_CURRENT: ContextVar[CallContext] = ContextVar("chalk_call_context", default=_NONE)


def get_call_context() -> CallContext:
    """Return the headers of the call that is being made; empty outside of one.

    During a run: `x-chalk-evaluation-id`, `x-chalk-evaluation-run-id` and `x-chalk-session-id`. In
    a rescore the run is the new one, and `x-chalk-source-run-id` the one that is rescored.
    """
    return _CURRENT.get()


@contextmanager
def call_context(headers: Mapping[str, str]) -> Iterator[None]:
    """Set the headers for the calls made within; threads have their own."""
    token = _CURRENT.set(CallContext(headers))
    try:
        yield
    finally:
        _CURRENT.reset(token)

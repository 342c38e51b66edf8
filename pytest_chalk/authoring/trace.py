"""What was recorded while a row's task ran, for scorers that take `trace`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_ATTRIBUTES = (
    ("llm.token_count.total",),
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    ("llm.token_count.prompt", "llm.token_count.completion"),
)
"""Where instrumentations put what a call of a model used; of a span the first that it has."""


@dataclass(frozen=True)
class Span:
    """One operation.

    Attributes:
        parent_id: None for the first of its trace.
        start_s: Seconds since 1970; `end_s` too.
        status: `unset`, `ok` or `error`.
        kind: `internal`, `client`, `server`, `producer` or `consumer`.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_s: float
    end_s: float
    status: str
    kind: str
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def duration_s(self) -> float:
        """How long it took."""
        return self.end_s - self.start_s

    def number(self, name: str) -> float | None:
        """Return an attribute as a number; None if it is none."""
        with suppress(TypeError, ValueError):
            return float(self.attributes[name]) if name in self.attributes else None
        return None


@dataclass(frozen=True)
class Trace:
    """The spans of one row's task call, in the order they began.

    Attributes:
        session_id: `<run>:<row>` of the run that called the task: in a rescore with copied outputs
            the source's.
    """

    session_id: str
    spans: tuple[Span, ...]

    def get_spans(
        self,
        operation_name: str | None = None,
        attribute_filters: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> list[Span]:
        """Return the spans of that name whose attributes have these values.

        A filter of None wants the attribute to be there, with any value.
        """
        wanted = attribute_filters or {}
        found = [
            span
            for span in self.spans
            if operation_name in {None, span.name}
            and all(
                name in span.attributes and value in {None, span.attributes[name]}
                for name, value in wanted.items()
            )
        ]
        return found[:limit]

    def summary(self) -> dict[str, float]:
        """Return spans, errors, tokens, and the seconds from the first begin to the last end."""
        begun = min((span.start_s for span in self.spans), default=0.0)
        ended = max((span.end_s for span in self.spans), default=0.0)
        return {
            "spans": len(self.spans),
            "errors": sum(span.status == "error" for span in self.spans),
            "tokens": sum(tokens_of(span) for span in self.spans),
            "seconds": ended - begun,
        }


def tokens_of(span: Span) -> float:
    """Return the tokens that a span says it used."""
    for names in TOKEN_ATTRIBUTES:
        found = [number for name in names if (number := span.number(name)) is not None]
        if found:
            return sum(found)
    return 0.0

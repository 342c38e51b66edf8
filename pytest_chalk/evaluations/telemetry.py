"""Records OpenTelemetry spans of tasks, each with the session of the call that it was made in."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.call_context import SESSION_HEADER, get_call_context
from pytest_chalk.authoring.trace import Span, Trace
from pytest_chalk.errors import EvaluationError
from pytest_chalk.schemas.plain import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SESSION_ATTRIBUTE = "session.id"

MAX_SPANS = 10_000
"""Of one call. An agent makes hundreds; a loop that makes millions would fill the memory."""


class Recorder:
    """Keeps the spans of sessions until they are taken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: dict[str, list[dict[str, Any]]] = {}

    def begin(self, session_id: str) -> None:
        """Keep the spans of a session from now on."""
        with self._lock:
            self._spans[session_id] = []

    def add(self, session_id: str, span: Callable[[], dict[str, Any]]) -> None:
        """Keep a span, if its session is one that is kept."""
        with self._lock:
            kept = self._spans.get(session_id)
            if kept is not None and len(kept) < MAX_SPANS:
                kept.append(span())

    def take(self, session_id: str) -> str | None:
        """Return the spans of a session as JSON text and keep none any more; None of none."""
        with self._lock:
            spans = self._spans.pop(session_id, [])
        spans.sort(key=lambda span: span["start_s"])
        return json.dumps(spans) if spans else None


_RECORDERS: list[Recorder] = []
_LOCK = threading.Lock()


def find_recorder(*, wanted: bool) -> Recorder | None:
    """Return the recorder of this process.

    None where nothing can be recorded: OpenTelemetry's SDK is not installed, or neither wanted by a
    scorer nor loaded by anybody.

    Raises:
        EvaluationError: A scorer wants it and it is not installed.
    """
    if not wanted and "opentelemetry.sdk.trace" not in sys.modules:
        return None
    with _LOCK:
        if not _RECORDERS:
            recorder = Recorder()
            _install(recorder)
            _RECORDERS.append(recorder)
        return _RECORDERS[0]


def check_installed(scorer: str) -> None:
    """Check that there is something to record with.

    Raises:
        EvaluationError: OpenTelemetry's SDK is not installed; names the extra.
    """
    try:
        import opentelemetry.sdk.trace  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        where, problem = (
            f"scorer {scorer!r}",
            "it takes `trace`, and OpenTelemetry is not installed",
        )
        fix = "Install the extra: pip install 'pytest-chalk[otel]'"
        raise EvaluationError(where, problem, fix=fix) from error


def read_trace(session_id: str, spans: str | None) -> Trace | None:
    """Return the trace that `take` gave as text; None where nothing was recorded."""
    if spans is None:
        return None
    return Trace(session_id, tuple(Span(**span) for span in json.loads(spans)))


def totals(recorded: Iterable[str]) -> dict[str, float]:
    """Return rows, spans, errors, tokens and seconds of what `take` gave for several rows."""
    found = {"rows": 0.0, "spans": 0.0, "errors": 0.0, "tokens": 0.0, "seconds": 0.0}
    for spans in recorded:
        trace = read_trace("", spans)
        found["rows"] += 1
        for name, figure in trace.summary().items() if trace else ():
            found[name] += figure
    return found


def _install(recorder: Recorder) -> None:
    """Listen to the process's provider of tracers; make one where there is only the stand-in."""
    from opentelemetry import trace  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # noqa: PLC0415 - an extra

    class Listener(SpanProcessor):  # type: ignore[misc]
        """Marks each span with its session when it begins, and hands it over when it ends."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ANN401
            session = get_call_context().get(SESSION_HEADER)
            if session is None:  # made in a thread of the task's own
                parent = trace.get_current_span(parent_context)
                session = (getattr(parent, "attributes", None) or {}).get(SESSION_ATTRIBUTE)
            if session is not None:
                span.set_attribute(SESSION_ATTRIBUTE, session)

        def on_end(self, span: Any) -> None:  # noqa: ANN401
            session = (span.attributes or {}).get(SESSION_ATTRIBUTE)
            if session is not None:
                recorder.add(session, lambda: _as_plain(span))

    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(Listener())


def _as_plain(span: Any) -> dict[str, Any]:  # noqa: ANN401 - a span of the SDK
    context, parent = span.context, span.parent
    return {
        "trace_id": f"{context.trace_id:032x}",
        "span_id": f"{context.span_id:016x}",
        "parent_id": f"{parent.span_id:016x}" if parent else None,
        "name": plain(span.name),
        "start_s": (span.start_time or 0) / 1e9,
        "end_s": (span.end_time or 0) / 1e9,
        "status": span.status.status_code.name.lower(),
        "kind": span.kind.name.lower(),
        "attributes": plain(dict(span.attributes or {})),
    }

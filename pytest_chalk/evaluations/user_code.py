"""The one place that calls tasks and scorers. What they raise comes back as a value.

The twin of `runner.user_code`: nothing here knows a row, a store or a thread pool.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import threading
import traceback
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_chalk.authoring.scorer import EvaluationScorerResult, Unscored
from pytest_chalk.schemas.plain import as_finite, encodable
from pytest_chalk.schemas.secret_text import secrets_of, without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from concurrent.futures import Future

MAX_ERROR_CHARS = 2_000
"""Of what is kept of one failed call: enough for a message, too little for a page of HTML."""


Called: TypeAlias = "tuple[Any, str | None]"
"""What a call gave: a value, or why it failed."""


def call_user_code(
    code: Callable[..., Any],
    values: Sequence[object],
    named: Mapping[str, object],
    retries: int = 0,
) -> Called:
    """Call `code` with columns by position and by name, up to `retries` times again if it fails.

    Everything it raises counts as a failure, SystemExit too: the process is not its own. (Threads
    of a pool get no KeyboardInterrupt.)
    """
    error = ""
    for _ in range(retries + 1):
        try:
            value = code(*values, **named)
            if isinstance(value, CoroutineType):
                value = _loop().run(value)
        except BaseException as raised:  # noqa: BLE001 - the one place that may
            error = _shown(raised)
        else:
            return value, None
    return None, error


def score_of(returned: object) -> tuple[float | None, str | None, str | None]:
    """Return score, error and metadata (as JSON text) of what a scorer returned.

    Several results are one score, their mean, with all of them in the metadata. No result is no
    score.

    Raises:
        TypeError: It is no number, no `EvaluationScorerResult` and no list of these.
    """
    if type(returned) is float and math.isfinite(returned):  # by far the most common
        return returned, None, None
    if isinstance(returned, EvaluationScorerResult):
        metadata = None if returned.metadata is None else _compact(returned.metadata)
        return returned.score, None, metadata
    if isinstance(returned, Unscored):
        return None, kept_error(returned.error), _compact(returned.metadata)
    if isinstance(returned, list):
        return _mean_of(returned)
    return _number(returned), None, None


def _mean_of(returned: list[object]) -> tuple[float | None, str | None, str | None]:
    results = [_as_result(member) for member in returned]
    if not results:
        return None, None, None
    mean = sum(result["score"] for result in results) / len(results)
    return mean, None, _compact({"results": results})


def _as_result(returned: object) -> dict[str, Any]:
    if isinstance(returned, EvaluationScorerResult):
        return {"score": returned.score, "metadata": returned.metadata}
    return {"score": _number(returned), "metadata": None}


def _number(returned: object) -> float:
    number = as_finite(returned)
    if number is None:
        message = (
            f"a scorer returns a finite number, an EvaluationScorerResult, or a list of these, "
            f"found {kept_error(repr(returned)):.100} ({type(returned).__name__})"
        )
        raise TypeError(message)
    return number


def _compact(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True, separators=(",", ":"))


def _shown(error: BaseException) -> str:
    """Return type, message and place: `ValueError: no amount (triage.py:12)`."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        text = "<a message that cannot be shown>"
    frames = traceback.extract_tb(error.__traceback__)[1:]
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    name = type(error).__name__
    shown = kept_error(text)
    return encodable(f"{name}: {shown}" if shown else name) + place


def kept_error(text: str) -> str:
    """Return what is kept of why a call failed: without secrets of the environment, and cut.

    All that becomes a cell's error goes through here.
    """
    return encodable(without_secrets(text, secrets_of(os.environ))[:MAX_ERROR_CHARS])


class _Loop:
    """An event loop in a thread of its own, which all `async` tasks and scorers share.

    One for all, because clients that they keep are bound to the loop they were made in.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="chalk-async", daemon=True)
        thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> object:
        """Wait for a coroutine, which sees the context variables of the calling thread."""
        waiting: Future[object] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return waiting.result()


_LOOPS: list[_Loop] = []
_LOOPS_LOCK = threading.Lock()


def _loop() -> _Loop:
    with _LOOPS_LOCK:
        if not _LOOPS:
            _LOOPS.append(_Loop())
        return _LOOPS[0]

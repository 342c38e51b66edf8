"""Calls many functions at once, so many at a time, until a deadline."""

from __future__ import annotations

import threading
import time
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class _Work(Generic[T]):
    """Calls that are still to be made, and what came of those that were."""

    def __init__(self, calls: Sequence[Callable[[], T]]) -> None:
        self.waiting = deque(enumerate(calls))
        self.done: SimpleQueue[tuple[int, T | None, BaseException | None]] = SimpleQueue()

    def run(self) -> None:
        while True:
            try:
                index, call = self.waiting.popleft()
            except IndexError:
                return
            try:
                self.done.put((index, call(), None))
            except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
                self.done.put((index, None, error))


def call_all(
    calls: Sequence[Callable[[], T]], *, at_once: int, time_limit_s: float
) -> list[T | None]:
    """Return what each call returned, None for those that took too long; the order is kept.

    The calls run in threads that hold up nothing: when the time is over, or the caller is
    interrupted, those that wait are not made, and the rest is left alone.

    Raises:
        BaseException: What the first call to fail has raised.
    """
    work = _Work(calls)
    results: list[T | None] = [None] * len(calls)
    deadline_s = time.monotonic() + time_limit_s
    for number in range(min(at_once, len(calls))):
        threading.Thread(target=work.run, name=f"chalk-judge-{number}", daemon=True).start()
    try:
        for _ in calls:
            left_s = deadline_s - time.monotonic()
            index, result, error = work.done.get(timeout=max(0.0, left_s))
            if error is not None:
                raise error
            results[index] = result
    except Empty:
        return results
    finally:
        work.waiting.clear()
    return results

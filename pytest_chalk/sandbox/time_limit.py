"""A limit of time on code that may wait for ever, such as a judge that opens a pipe."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class TimeIsUpError(BaseException):
    """The code took longer than it may. No `Exception`: a judge that catches those must end too."""


@contextmanager
def time_limit(limit_s: float) -> Iterator[None]:
    """Raise in the block once so much time has passed, and again each time it passes once more.

    System calls that wait are ended by it, and Python's own loops; other C code at its end. Where
    another limit comes first (pytest-timeout uses the same timer), and in other threads than the
    main one, there is no limit.

    Raises:
        TimeIsUpError: The time has passed.
    """
    others_left_s = signal.getitimer(signal.ITIMER_REAL)[0]
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or 0 < others_left_s <= limit_s:
        yield
        return

    is_done = False

    def end(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        if is_done:
            return
        message = f"it did not end within {limit_s:g} s"
        raise TimeIsUpError(message)

    began_s = time.monotonic()
    before = signal.signal(signal.SIGALRM, end)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, limit_s, limit_s)
            yield
        finally:
            is_done = True  # or an alarm that rings from here on would leave the rest undone
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if others_left_s:
            left_s = others_left_s - (time.monotonic() - began_s)
            signal.setitimer(signal.ITIMER_REAL, max(left_s, 0.001))

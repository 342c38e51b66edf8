"""A limit of CPU time on a piece of our own code: a search that a hostile text makes endless."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class CpuTimeSpentError(Exception):
    """The code ran for longer than it may."""


def can_limit_cpu_time() -> bool:
    """Tell whether `cpu_time_limit` works here: in the main thread, its timer unused."""
    return (
        threading.current_thread() is threading.main_thread()
        and hasattr(signal, "setitimer")
        and signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0
        and signal.getsignal(signal.SIGVTALRM) is not None
    )


@contextmanager
def cpu_time_limit(limit_s: float) -> Iterator[None]:
    """Raise in the block once it has used that much CPU time; waiting costs nothing.

    Python's own loops and the module `re` notice within milliseconds; other C code at its end.

    Raises:
        CpuTimeSpentError: It has.
    """
    started_s = time.thread_time()

    def look(signum: int, frame: FrameType | None) -> None:
        del signum, frame
        # The timer counts all threads; only this one's time is limited.
        left_s = limit_s - (time.thread_time() - started_s)
        if left_s <= 0:
            message = f"it took more than {limit_s:g} s of CPU time"
            raise CpuTimeSpentError(message)
        signal.setitimer(signal.ITIMER_VIRTUAL, max(left_s, 0.001))

    before = signal.signal(signal.SIGVTALRM, look)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)

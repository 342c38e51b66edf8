"""Signals of the harness's own processes: pytest, and the workers it started."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable

SETTLE_S = 0.3
"""Before workers are interrupted: on Ctrl-C the terminal has told them already, and a second
interrupt would hit their clean-up."""


def interrupt_on_sigterm() -> None:
    """Make SIGTERM raise `KeyboardInterrupt`, so that a killed session writes its reports.

    Only where nobody else handles it, and only in a main thread; elsewhere nothing changes.
    """

    def interrupt(signum: int, frame: object) -> NoReturn:
        del signum, frame
        raise KeyboardInterrupt

    with suppress(ValueError):  # not the main thread: an embedded pytest leaves signals to its host
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, interrupt)


def interrupt_children(pids: Iterable[int]) -> None:
    """Send SIGTERM to those of `pids` that are children of this process and still alive."""
    children = [pid for pid in pids if _is_child(pid)]
    if not children:
        return
    time.sleep(SETTLE_S)
    for pid in children:
        if _is_child(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


def _is_child(pid: int) -> bool:
    import psutil  # noqa: PLC0415 - takes a tenth of the start of pytest, and only an end needs it

    try:
        process = psutil.Process(pid)
        return process.ppid() == os.getpid() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False

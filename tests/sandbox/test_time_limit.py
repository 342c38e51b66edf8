"""Code that waits for ever is ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_chalk.sandbox.time_limit import TimeIsUpError, time_limit


def test_a_pipe_that_nobody_writes_to_is_opened_no_longer_than_the_limit(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    began_s = time.monotonic()

    with pytest.raises(TimeIsUpError, match=r"it did not end within 0\.1 s"), time_limit(0.1):
        (tmp_path / "pipe").read_text()

    assert time.monotonic() - began_s < 5


def wait_and_catch() -> None:
    while True:
        try:
            time.sleep(10)
        except Exception:  # noqa: BLE001 - as judges do
            continue


def wait_and_clean_up() -> None:
    try:
        time.sleep(10)
    finally:
        time.sleep(10)


@pytest.mark.parametrize("waits", [wait_and_catch, wait_and_clean_up])
def test_code_that_catches_exceptions_is_ended_and_so_is_a_clean_up_that_waits(waits):
    with pytest.raises(TimeIsUpError), time_limit(0.05):
        waits()


def test_code_that_ends_in_time_leaves_no_timer_and_no_handler():
    before = signal.getsignal(signal.SIGALRM)

    with time_limit(5):
        pass

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.mark.parametrize("line", range(1, 4))
def test_an_alarm_at_any_line_of_the_clean_up_leaves_no_timer_and_no_handler(line):
    # The clean-up's lines are traced, and the alarm rings at one of them.
    before = signal.getsignal(signal.SIGALRM)
    lines = []

    def trace(frame, event, _arg):
        if frame.f_code is not time_limit.__wrapped__.__code__:
            return None
        if event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == line:
                signal.raise_signal(signal.SIGALRM)
        return trace

    limit = time_limit(60)
    limit.__enter__()
    traced = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(TimeIsUpError):
            limit.__exit__(None, None, None)
    finally:
        sys.settrace(traced)

    assert len(lines) >= line
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


@pytest.fixture
def others_timer():
    def theirs(_signum, _frame):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, theirs)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("others_timer")
def test_a_limit_of_somebody_else_that_comes_first_is_theirs():
    signal.setitimer(signal.ITIMER_REAL, 0.05)

    with pytest.raises(TimeoutError), time_limit(5):
        time.sleep(10)


@pytest.mark.usefixtures("others_timer")
def test_a_limit_of_somebody_else_that_comes_later_goes_on_after():
    signal.setitimer(signal.ITIMER_REAL, 30)

    with pytest.raises(TimeIsUpError), time_limit(0.05):
        time.sleep(10)

    assert 20 < signal.getitimer(signal.ITIMER_REAL)[0] < 30


def test_another_thread_has_no_limit():
    ended = []

    def work() -> None:
        with time_limit(0.01):
            time.sleep(0.05)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert ended == [True]

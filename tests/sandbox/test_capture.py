from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

import pytest

from pytest_chalk.sandbox import BoundedOutput, Command
from pytest_chalk.sandbox.output import News, read_until_exit


def elapsed(call):
    started = time.monotonic()
    completed = call()
    return completed, time.monotonic() - started


def test_stdout_stderr_and_exit_code_are_kept_apart(sh):
    completed = sh("echo out; echo err >&2; exit 3")

    assert (completed.stdout, completed.stderr) == (b"out\n", b"err\n")
    assert (completed.exit_code, completed.timed_out, completed.truncated) == (3, False, False)


def test_a_command_reads_nothing_unless_it_is_given_something(sh):
    assert sh("wc -c").stdout.strip() == b"0"
    assert sh("wc -c", stdin=b"x" * 3_000_000).stdout.strip() == b"3000000"
    assert sh("exec 0<&-; echo unread", stdin=b"x" * 3_000_000).stdout == b"unread\n"


def test_an_orphan_that_holds_the_output_delays_nothing(sh):
    completed, seconds = elapsed(lambda: sh("echo before; (setsid sleep 60 &)"))

    assert completed.stdout == b"before\n"
    assert seconds < 1.5


def test_an_orphan_that_writes_for_ever_delays_nothing(sh):
    completed, seconds = elapsed(lambda: sh("(setsid yes &); echo end >&2"))

    assert completed.stderr == b"end\n"
    assert seconds < 1.5


def test_thirty_megabytes_are_kept_as_head_and_tail(sh):
    script = "echo first; head -c 30000000 /dev/zero; echo last"

    completed = sh(script, max_output_bytes=1000)

    assert completed.truncated
    assert completed.stdout.startswith(b"first\n")
    assert completed.stdout.endswith(b"last\n")
    assert b"\n[... 29999011 bytes cut ...]\n" in completed.stdout
    assert len(completed.stdout) < 1100


def test_output_at_the_limit_is_whole_and_beyond_it_is_counted():
    output = BoundedOutput(10)
    output.add(b"01234")
    output.add(b"56789")
    whole = output.rendered(), output.is_truncated
    output.add(b"X")

    assert whole == (b"0123456789", False)
    assert output.rendered() == b"01234\n[... 1 bytes cut ...]\n6789X"


@pytest.mark.skipif(os.geteuid() != 0, reason="pids of a user namespace are not ours")
def test_at_the_time_limit_the_whole_tree_is_killed(sh, wait_until_gone):
    script = "(setsid sh -c 'echo $$; exec sleep 60' &) ; sh -c 'echo $$; exec sleep 60'"

    completed, seconds = elapsed(lambda: sh(script, time_limit_s=0.5))

    assert completed.timed_out
    assert completed.exit_code == -9
    assert seconds < 2
    assert wait_until_gone(map(int, completed.stdout.split()), 0.0) == []


def test_a_time_limit_spares_what_an_earlier_command_started(sh):
    pid = sh("(setsid sh -c 'echo $$; exec sleep 60' &)").stdout.decode().strip()
    time.sleep(0.05)

    sh("sleep 60", time_limit_s=0.2)

    assert sh(f"kill -0 {pid} && echo alive").stdout == b"alive\n"


def test_a_command_that_closes_its_output_is_still_waited_for(sh):
    completed, seconds = elapsed(lambda: sh("exec >&- 2>&-; sleep 0.3; exit 4"))

    assert completed.exit_code == 4
    assert seconds >= 0.3


def test_news_that_is_no_end_is_not_taken_for_one():
    news, write_fd = os.pipe()
    os.write(write_fd, b"x")
    ends = iter([False, False, True])

    def has_ended():
        os.read(news, 1)
        os.write(write_fd, b"x")
        return next(ends)

    try:
        assert read_until_exit({}, has_ended, time_limit_s=5, news=News(news))
        assert next(ends, "all looks were needed") == "all looks were needed"
    finally:
        os.close(news)
        os.close(write_fd)


@contextmanager
def waiting(process):
    """Another thread that waits for a command, and so reads what is said of others too."""
    statuses = []
    thread = threading.Thread(target=lambda: statuses.append(process.wait()))
    thread.start()
    yield statuses
    thread.join(5)


def test_commands_end_at_once_while_another_thread_waits_for_one(box, sh):
    sleeper = box.launch(Command(("sleep", "60")))

    with waiting(sleeper) as statuses:
        slowest = max(elapsed(lambda: sh("true", time_limit_s=5))[1] for _ in range(50))
        box._link.kill_all(5)

    assert slowest < 2
    assert statuses == [-9]


def test_an_end_that_somebody_else_read_is_noticed_beside_output_that_stays_open():
    asked_s = []
    began_s = time.monotonic()
    silent, write_fd = os.pipe()
    news, news_write_fd = os.pipe()

    def has_ended():
        asked_s.append(time.monotonic() - began_s)
        return asked_s[-1] > 0.1  # it is told without a word on `news`

    try:
        streams, told = {silent: BoundedOutput(10)}, News(news, is_shared=True)
        assert read_until_exit(streams, has_ended, time_limit_s=9, news=told)
    finally:
        for fd in (silent, write_fd, news, news_write_fd):
            os.close(fd)
    assert asked_s[-1] < 3


def test_a_thread_notices_the_end_of_its_command_that_another_thread_read(box, monkeypatch):
    ended = box.launch(Command(("true",)))
    link, main = box._link, threading.current_thread()
    wait_readable, about_to_wait, is_read = (
        link._wait_readable,
        threading.Event(),
        threading.Event(),
    )

    def late(timeout_s):
        if threading.current_thread() is not main:
            about_to_wait.set()
            is_read.wait(5)
        return wait_readable(timeout_s)

    monkeypatch.setattr(link, "_wait_readable", late)
    # Its first look finds nothing yet.
    monkeypatch.setattr(link, "_read_lines", lambda _: None)
    with waiting(ended) as statuses:
        about_to_wait.wait(5)
        monkeypatch.undo()
        monkeypatch.setattr(link, "_wait_readable", late)
        assert ended.wait(5) == 0
        is_read.set()

    assert statuses == [0]

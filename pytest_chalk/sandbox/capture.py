"""Runs one command as the student and keeps what it wrote."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_chalk.sandbox.command import Command
from pytest_chalk.sandbox.output import BoundedOutput, Feed, News, completed, read_until_exit
from pytest_chalk.sandbox.process_table import clock_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.sandbox.box import Box
    from pytest_chalk.sandbox.command import StudentProcess
    from pytest_chalk.sandbox.output import Completed

KILLED_WAIT_S = 5.0
"""How long a killed command may take to be reaped."""


def run_as_student(
    box: Box,
    argv: Sequence[str],
    *,
    time_limit_s: float,
    max_output_bytes: int,
    stdin: bytes = b"",
) -> Completed:
    """Run `argv` in the workdir as the student: see `run_command`."""
    command = Command(tuple(argv))
    return run_command(
        box,
        command,
        time_limit_s=time_limit_s,
        max_output_bytes=max_output_bytes,
        stdin=stdin,
    )


def run_command(
    box: Box,
    command: Command,
    *,
    time_limit_s: float,
    max_output_bytes: int,
    stdin: bytes = b"",
) -> Completed:
    """Run a command as the student until it ends or its time is up.

    Returns when the command itself has ended, also when processes it left behind hold its output
    open: those go on. At the time limit everything that the command started is killed.

    Args:
        box: Where to run it.
        command: What to run; its three standard descriptors are made here.
        time_limit_s: Wall-clock.
        max_output_bytes: Kept of each of stdout and stderr: the first and the last half.
        stdin: What the command can read. Nothing means /dev/null.

    Raises:
        OSError: The student cannot execute the program.
        BoxError: The box is broken.
    """
    started_s = clock_s()
    with ExitStack() as opened:
        ours, theirs = _make_pipes(opened, has_stdin=bool(stdin))
        process = _launch(box, command, theirs)
        feed = Feed(ours[0], stdin) if ours[0] is not None else None
        if feed is not None:
            opened.callback(feed.close)
        streams = {fd: BoundedOutput(max_output_bytes) for fd in ours[1:] if fd is not None}
        try:
            ended = read_until_exit(
                streams,
                lambda: process.poll() is not None,
                time_limit_s=time_limit_s,
                feed=feed,
                news=News(process.news_fd, is_shared=True),
            )
        except BaseException:
            box.kill_started_since(started_s)
            raise
        if not ended:
            box.kill_started_since(started_s)
        return completed(_exit_code(process), *streams.values(), timed_out=not ended)


def _launch(box: Box, command: Command, standard: _Three) -> StudentProcess:
    """Launch the command with these descriptors, which are closed on our side."""
    stdin_fd, stdout_fd, stderr_fd = standard
    try:
        return box.launch(
            replace(command, stdin_fd=stdin_fd, stdout_fd=stdout_fd, stderr_fd=stderr_fd)
        )
    finally:
        for fd in standard:
            if fd is not None:
                os.close(fd)


def _exit_code(process: StudentProcess) -> int:
    status = process.wait(KILLED_WAIT_S)
    return -9 if status is None else status


_Three = tuple[int | None, int | None, int | None]


def _make_pipes(opened: ExitStack, *, has_stdin: bool) -> tuple[_Three, _Three]:
    """Return our ends and the command's ends of stdin (None: no pipe), stdout and stderr."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    opened.callback(os.close, out_read)
    opened.callback(os.close, err_read)
    in_read, in_write = os.pipe() if has_stdin else (None, None)
    return (in_write, out_read, err_read), (in_read, out_write, err_write)

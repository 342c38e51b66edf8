"""Runs scoring scripts: on our side, as the harness's user, near the student's work."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_chalk.sandbox.adoption import MARK_VARIABLE, adoption
from pytest_chalk.sandbox.output import BoundedOutput, News, completed, read_until_exit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_chalk.sandbox.adoption import Adoption
    from pytest_chalk.sandbox.output import Completed

_CAN_PEEK = hasattr(os, "waitid")


def run_trusted(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[bytes, bytes],
    time_limit_s: float,
    max_output_bytes: int,
) -> Completed:
    """Run a scoring script until it ends or its time is up, and kill what it has left behind.

    That is its process group, and on Linux whatever else it started, in sessions of their own too.

    Args:
        argv: Program and arguments.
        cwd: Where it runs. Never a directory the student can write to.
        env: Its whole environment; as bytes, for to decode and encode it takes longer than a fork.
        time_limit_s: Wall-clock.
        max_output_bytes: Kept of each of stdout and stderr: the first and the last half.

    Raises:
        OSError: The script does not exist or cannot be executed: the author's doing, mostly.
    """
    with adoption() as adopted, _pipes(2) as (readers, writers):
        with adopted.starting():
            process = subprocess.Popen(  # noqa: S603 - the author's script, by the author's words
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=writers[0],
                stderr=writers[1],
                cwd=cwd,
                env={**env, MARK_VARIABLE.encode(): adopted.mark.encode()},
                start_new_session=True,
            )
        adopted.started(process.pid)
        while writers:
            os.close(writers.pop())
        streams = {fd: BoundedOutput(max_output_bytes) for fd in readers}
        return _watch(process, adopted, streams, time_limit_s)


@contextmanager
def _pipes(count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Make pipes; close those of their ends that are still in the lists.

    Bare descriptors: what subprocess makes of its pipes, buffered files, nobody needs here.
    """
    readers: list[int] = []
    writers: list[int] = []
    try:
        for _ in range(count):
            for ends, fd in zip((readers, writers), os.pipe(), strict=True):
                ends.append(fd)
        yield readers, writers
    finally:
        for fd in (*readers, *writers):
            os.close(fd)


def _watch(
    process: subprocess.Popen[bytes],
    adopted: Adoption,
    streams: dict[int, BoundedOutput],
    time_limit_s: float,
) -> Completed:
    ended = False
    try:
        # Also on Ctrl-C and on pytest-timeout nothing of the script may go on.
        with _end_of(process.pid) as news:
            ended = read_until_exit(
                streams,
                lambda: _has_ended(process),
                time_limit_s=time_limit_s,
                news=news,
            )
    finally:
        _kill_group(process)
        survivors = adopted.kill_left()
    done = completed(process.returncode, *streams.values(), timed_out=not ended)
    return replace(done, survivors=survivors) if survivors else done


@contextmanager
def _end_of(pid: int) -> Iterator[News | None]:
    """Open a descriptor that is readable once the process has ended, where there is such one."""
    try:
        fd = os.pidfd_open(pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield News(fd)
    finally:
        os.close(fd)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Look without reaping: until then nobody else can get the script's pid and group id."""
    if not _CAN_PEEK:
        return process.poll() is not None
    try:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, options) is not None
    except ChildProcessError:
        return process.poll() is not None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # By group, not by pid: a scoring script may have left children that hold our pipes open.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

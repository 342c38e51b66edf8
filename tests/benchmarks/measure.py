"""Whole processes, in turn, by CPU time."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PLAIN = ("-p", "no:cacheprovider", "-q", "-p", "no:randomly")
WITH_CHALK = ("-p", "chalk")
WITHOUT_CHALK = ("-p", "no:chalk")


@dataclass(frozen=True)
class Cost:
    """What a process took, in seconds."""

    cpu_s: float
    wall_s: float


def cost_of(command: Sequence[str], cwd: Path, *, expect: int = 0, autoload: bool = False) -> Cost:
    """Run a command to its end and return what it and its children took.

    With `autoload` pytest looks for installed plugins, as it does for a user.
    """
    environment = {**os.environ, "PYTHONPATH": ""}
    for name in ("CHALK_SLOT", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(name, None)
    if not autoload:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != expect:
        message = f"{command} exited {process.returncode}:\n{output.decode()}"
        raise SystemExit(message)
    return Cost(usage.ru_utime + usage.ru_stime, wall_s)


def pytest_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", *PLAIN, *arguments]


def in_turn(first: Callable[[], float], second: Callable[[], float], pairs: int) -> list[float]:
    """Return the ratio first / second of each of `pairs` pairs, after one pair to warm up."""
    first(), second()
    return [first() / second() for _ in range(pairs)]


def show(name: str, figures: Sequence[float], unit: str, target: str) -> None:
    low, middle, high = min(figures), statistics.median(figures), max(figures)
    print(  # noqa: T201 - its purpose
        f"{name:58} {middle:8.2f} {unit:3} (min {low:.2f}, max {high:.2f})  target {target}"
    )

"""How much this machine has, and how much of it a student gets by default."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_PROCESS_COUNT = 2048
"""Processes and threads of one student uid: far above a parallel build, far below what takes the
host's last process slot."""

LEFT_FOR_OTHERS_BYTES = 1024**3
"""Of the machine's memory: the harness and the kernel need some."""


@dataclass(frozen=True)
class Limits:
    """What all processes of a student may take together; None for no limit."""

    memory_bytes: int | None
    process_count: int | None


@functools.cache
def default_limits() -> Limits:
    """Return the limits of a run that sets none."""
    memory = memory_bytes()
    allowed = memory - LEFT_FOR_OTHERS_BYTES
    return Limits(allowed if allowed > 0 else memory // 2, DEFAULT_PROCESS_COUNT)


@functools.cache
def memory_bytes() -> int:
    """Return how much memory we may use: the machine's, or what a cgroup leaves us of it."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(physical, *_cgroup_limits(), physical)


def _cgroup_limits() -> Iterator[int]:
    """Yield the memory limits of our cgroups, v1 and v2, and of those above them."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _limits_up(Path("/sys/fs/cgroup"), path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_up(Path("/sys/fs/cgroup/memory"), path, "memory.limit_in_bytes")


def _limits_up(root: Path, path: str, name: str) -> Iterator[int]:
    folder = root / path.lstrip("/")
    for above in (folder, *folder.parents):
        if not above.is_relative_to(root):
            return
        try:
            text = (above / name).read_text().strip()
        except OSError:
            continue
        if text.isdecimal() and int(text) > 0:
            yield int(text)

"""How much memory processes take, and whether that is more than they may.

Used by the supervisor, which loads this file on its own: standard library only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_chalk.sandbox import process_table
else:
    import process_table

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pids: Iterable[int]) -> int:
    """Return an upper bound: pages that several processes share are counted for each."""
    total = 0
    for pid in pids:
        fields = process_table.read_proc(f"/proc/{pid}/statm").split()
        total += int(fields[1]) * _PAGE_BYTES if len(fields) > 1 else 0
    return total


def proportional_bytes(pids: Iterable[int]) -> int:
    """Return what the processes take, a shared page counted once; slower, for each page is seen."""
    total = 0
    for pid in pids:
        for line in process_table.read_proc(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def used_in(folders: Iterable[str]) -> int:
    """Return the bytes in file systems that are in memory, each given by its root."""
    total = 0
    for folder in folders:
        status = os.statvfs(folder)
        total += (status.f_blocks - status.f_bfree) * status.f_frsize
    return total


def excess(limit_bytes: int, pids: Sequence[int], folders: Sequence[str]) -> int:
    """Return how many bytes are in use if that is more than the limit, else 0."""
    in_files = used_in(folders)
    if resident_bytes(pids) + in_files <= limit_bytes:
        return 0
    used = proportional_bytes(pids) + in_files
    return used if used > limit_bytes else 0

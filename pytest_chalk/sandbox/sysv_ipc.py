"""Shared memory, semaphores and message queues that outlive the processes that made them."""

from __future__ import annotations

import ctypes
from pathlib import Path

_IPC_RMID = 0
_KINDS = (("shm", "shmid"), ("sem", "semid"), ("msg", "msqid"))


def parse_ipc_ids(table: str, id_column: str, uid: int) -> list[int]:
    """Return the ids in one /proc/sysvipc table that `uid` owns or created."""
    header, *rows = (line.split() for line in table.splitlines() if line.strip())
    columns = [header.index(name) for name in (id_column, "uid", "cuid")]
    numbers = ([int(row[column]) for column in columns] for row in rows)
    return [found for found, owner, creator in numbers if uid in (owner, creator)]


def find_ipc_ids(uid: int) -> list[tuple[str, int]]:
    """Return (kind, id) of every System V object of `uid`; none where there is no such table."""
    found = []
    for kind, id_column in _KINDS:
        table = Path("/proc/sysvipc", kind)
        if table.exists():
            ids = parse_ipc_ids(table.read_text(), id_column, uid)
            found += [(kind, number) for number in ids]
    return found


def remove_ipc(uid: int) -> int:
    """Remove every System V object of `uid` and return how many there were."""
    found = find_ipc_ids(uid)
    if not found:
        return 0
    libc = ctypes.CDLL(None)
    for kind, number in found:
        if kind == "sem":
            libc.semctl(number, 0, _IPC_RMID)
        else:
            getattr(libc, f"{kind}ctl")(number, _IPC_RMID, None)
    return len(found)

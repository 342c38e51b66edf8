"""Which worker processes are there to carry `workflow` runs to their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.store.owners import is_alive
from pytest_chalk.store.stamps import now

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_chalk.store.database import Database

HEARTBEAT_S = 5.0
STALE_S = 30.0
"""A worker that has not been heard of for so long counts as gone, even if its process hangs on."""


class Workers:
    """Heartbeats of workers."""

    def __init__(self, base: Path, database: Database) -> None:
        self._base, self._database = base, database

    def beat(self, owner: str) -> None:
        """Say that a worker is there."""
        with self._database.writing() as writer:
            writer.write(
                "INSERT INTO workers VALUES (?, ?) "
                "ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at",
                (owner, now().timestamp()),
            )

    def leave(self, owner: str) -> None:
        """Say that a worker is gone."""
        with self._database.writing() as writer:
            writer.write("DELETE FROM workers WHERE id = ?", (owner,))

    def is_any_alive(self) -> bool:
        """Tell whether a worker is there; those that died are forgotten."""
        rows = self._database.query("SELECT id, heartbeat_at FROM workers")
        oldest = now().timestamp() - STALE_S
        for row in rows:
            if is_alive(self._base, row["id"]):
                if row["heartbeat_at"] >= oldest:
                    return True
            else:
                self.leave(row["id"])
        return False

"""The ledger of a run: which rows are leased to whom, and what each call gave.

Rows are leased in chunks and their cells written as calls end. What is written is never called
again; what a dead process had leased is free at once, what a stuck one had when its lease is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.schemas.evaluation import Cell
from pytest_chalk.store.owners import is_alive
from pytest_chalk.store.stamps import as_text, now
from pytest_chalk.store.values import decode_cell, encode_cell

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_chalk.store.database import Database, Writer

LEASE_S = 60.0
"""After which a chunk is somebody else's if its owner has not renewed it. Owners renew every third
of it, so only a process that is stopped or cut off from the disk loses one."""

LIVE = ("pending", "running", "finalizing")


@dataclass(frozen=True)
class Chunk:
    """Rows `start` to `stop`, leased together.

    Attributes:
        is_fresh: Whether nobody has leased it before, so that it has no cells.
    """

    start: int
    stop: int
    is_fresh: bool = True


class CellLedger:
    """Leases chunks and keeps cells. Safe between threads and processes."""

    def __init__(self, base: Path, database: Database) -> None:
        self._base, self._database = base, database

    def claim(self, run_id: str, owner: str, limit: int) -> list[Chunk]:
        """Lease up to `limit` chunks that nobody works on; empty where there is none."""
        self._free_abandoned(run_id)
        moment = now()
        with self._database.writing() as writer:
            writer.write(
                "UPDATE runs SET status = 'running', started_at = ? "
                "WHERE id = ? AND status = 'pending'",
                (as_text(moment), run_id),
            )
            rows = writer.query(
                "UPDATE chunks SET state = 'leased', owner = ?1, lease_until = ?2, "
                "tries = tries + 1 WHERE run_id = ?3 AND start IN "
                "(SELECT start FROM chunks WHERE run_id = ?3 "
                "AND (state = 'todo' OR (state = 'leased' AND lease_until < ?4)) "
                "ORDER BY start LIMIT ?5) RETURNING start, stop, tries",
                (owner, moment.timestamp() + LEASE_S, run_id, moment.timestamp(), limit),
            )
        found = (Chunk(row["start"], row["stop"], row["tries"] == 1) for row in rows)
        return sorted(found, key=lambda chunk: chunk.start)

    def renew(self, owner: str) -> None:
        """Prolong everything that `owner` has leased."""
        until = now().timestamp() + LEASE_S
        with self._database.writing() as writer:
            writer.write(
                "UPDATE chunks SET lease_until = ? WHERE owner = ? AND state = 'leased'",
                (until, owner),
            )
            writer.write("UPDATE runs SET lease_until = ? WHERE owner = ?", (until, owner))

    def commit(
        self, run_id: str, owner: str, cells: Sequence[Cell], done: Sequence[Chunk] = ()
    ) -> None:
        """Write cells and mark chunks done; those that `owner` has lost are left to others."""
        encoded = [
            (run_id, c.row, c.position, *encode_cell(c.value), c.error, c.metadata, c.seconds)
            for c in cells
        ]
        with self._database.writing() as writer:
            held = _held(writer, run_id, owner)
            writer.write_many(
                "INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                _within(encoded, held),
            )
            writer.write_many(
                "UPDATE chunks SET state = 'done', owner = NULL "
                "WHERE run_id = ? AND start = ? AND owner = ?",
                [(run_id, chunk.start, owner) for chunk in done],
            )

    def release(self, run_id: str, owner: str) -> None:
        """Give back what `owner` has leased of a run and not done."""
        with self._database.writing() as writer:
            writer.write(
                "UPDATE chunks SET state = 'todo', owner = NULL WHERE run_id = ? AND owner = ?",
                (run_id, owner),
            )

    def cells(self, run_id: str, start: int, stop: int) -> list[Cell]:
        """Return the cells of rows `start` to `stop`, in the order of rows and positions."""
        return [
            Cell(
                row=row["row"],
                position=row["position"],
                value=decode_cell(row["kind"], row["value"]),
                error=row["error"],
                metadata=row["metadata"],
                seconds=row["seconds"],
            )
            for row in self.raw_cells(run_id, start, stop)
        ]

    def raw_cells(self, run_id: str, start: int, stop: int) -> list[sqlite3.Row]:
        """Return the same as SQLite keeps them."""
        return self._database.query(
            "SELECT * FROM cells WHERE run_id = ? AND row >= ? AND row < ? ORDER BY row, position",
            (run_id, start, stop),
        )

    def recorded(self, run_id: str) -> list[str]:
        """Return what was recorded of a run that has not ended, one JSON text for each row."""
        rows = self._database.query(
            "SELECT metadata FROM cells WHERE run_id = ? AND position = 0 AND metadata IS NOT NULL",
            (run_id,),
        )
        return [row["metadata"] for row in rows]

    def spans(self, run_id: str, start: int, stop: int) -> dict[int, str]:
        """Return what was recorded of a run that has ended, by row, as JSON text."""
        rows = self._database.query(
            "SELECT row, body FROM spans WHERE run_id = ? AND row >= ? AND row < ?",
            (run_id, start, stop),
        )
        return {row["row"]: row["body"] for row in rows}

    def kinds(self, run_id: str) -> set[str]:
        """Return the kinds of the outputs of a run."""
        rows = self._database.query(
            "SELECT DISTINCT kind FROM cells WHERE run_id = ? AND position = 0", (run_id,)
        )
        return {row["kind"] for row in rows}

    def rows_done(self, run_id: str) -> int:
        """Return how many rows are in chunks that are done."""
        row = self._database.query_one(
            "SELECT coalesce(sum(stop - start), 0) FROM chunks WHERE run_id = ? AND state = 'done'",
            (run_id,),
        )
        return int(row[0]) if row else 0

    def _free_abandoned(self, run_id: str) -> None:
        """Free what dead processes had leased."""
        rows = self._database.query(
            "SELECT DISTINCT owner FROM chunks WHERE run_id = ? AND state = 'leased'", (run_id,)
        )
        for row in rows:
            if not is_alive(self._base, row["owner"]):
                self.release(run_id, row["owner"])


def _held(writer: Writer, run_id: str, owner: str) -> list[Chunk]:
    rows = writer.query(
        "SELECT start, stop FROM chunks WHERE run_id = ? AND owner = ? AND state = 'leased'",
        (run_id, owner),
    )
    return [Chunk(row["start"], row["stop"]) for row in rows]


def _within(encoded: Sequence[tuple[object, ...]], held: list[Chunk]) -> list[tuple[object, ...]]:
    rows = {row for chunk in held for row in range(chunk.start, chunk.stop)}
    return [row for row in encoded if row[1] in rows]

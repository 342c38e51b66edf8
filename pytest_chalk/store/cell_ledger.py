"""The ledger of a run: which rows are leased to whom, and what each call gave.

Rows are leased in chunks and their cells written as calls end. What is written is never called
again; what a dead process had leased is free at once, what a stuck one had when its lease is over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_chalk.schemas.evaluation import Cell, CellColumn
from pytest_chalk.store.owners import is_alive
from pytest_chalk.store.stamps import as_text, now
from pytest_chalk.store.values import kind_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from pytest_chalk.store.database import Database, Writer

LEASE_S = 60.0
"""After which a chunk is somebody else's if its owner has not renewed it. Owners renew every third
of it, so only a process that is stopped or cut off from the disk loses one."""

TRACED = "t"
"""Among the kinds of outputs: what was recorded of a task's call is in the metadata of its cell."""


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
        self._free_abandoned(run_id, owner)
        moment = now()
        with self._database.writing() as writer:
            writer.write(
                "UPDATE runs SET status = 'running', started_at = ? "
                "WHERE id = ? AND status = 'pending'",
                (as_text(moment), run_id),
            )
            rows = writer.query(
                "UPDATE chunks SET state = 'leased', owner = ?, lease_until = ?, "
                "tries = tries + 1 WHERE run_id = ? AND start IN "
                "(SELECT start FROM chunks WHERE run_id = ? "
                "AND (state = 'todo' OR (state = 'leased' AND lease_until < ?)) "
                "ORDER BY start LIMIT ?) RETURNING start, stop, tries",
                (
                    *(owner, moment.timestamp() + LEASE_S, run_id),
                    *(run_id, moment.timestamp(), limit),
                ),
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
        self,
        run_id: str,
        owner: str,
        cells: Mapping[int, CellColumn],
        *,
        held: Collection[Chunk],
        done: Collection[Chunk] = (),
    ) -> None:
        """Write cells, and mark chunks done.

        Args:
            run_id: Of the run.
            owner: Who writes.
            cells: By position, of rows in `held`. Those in chunks that `owner` has lost are left to
                others.
            held: The chunks that `owner` believes to hold.
            done: Those of them that need no more calls.
        """
        with self._database.writing() as writer:
            lost = {chunk.start for chunk in held} - _starts(writer, run_id, owner)
            if lost:
                gone = {r for c in held if c.start in lost for r in range(c.start, c.stop)}
                cells = {position: own.without(gone) for position, own in cells.items()}
            if any(cells.values()):
                writer.write(
                    "INSERT INTO cells (run_id, first_row, last_row, kinds, body) "
                    "VALUES (?, ?, ?, ?, ?)",
                    (run_id, *_packed(cells)),
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

    def columns(self, run_id: str, start: int, stop: int) -> dict[int, CellColumn]:
        """Return the cells of rows `start` to `stop` by position."""
        found: dict[int, CellColumn] = {}
        groups = self._database.query(
            "SELECT first_row, last_row, body FROM cells "
            "WHERE run_id = ? AND first_row < ? AND last_row >= ?",
            (run_id, stop, start),
        )
        for group in groups:
            is_within = start <= group["first_row"] and group["last_row"] < stop
            for position, *packed in json.loads(group["body"]):
                column = _unpacked(packed)
                if not is_within:
                    column = column.without({r for r in column.rows if not start <= r < stop})
                found.setdefault(position, CellColumn()).extend(column)
        return found

    def cells(self, run_id: str, start: int, stop: int) -> list[Cell]:
        """Return the cells of rows `start` to `stop`, in no order."""
        return [
            Cell(row, position, value, error, metadata)
            for position, column in self.columns(run_id, start, stop).items()
            for row, value, error, metadata in zip(
                column.rows, column.values, column.errors, column.metadata, strict=True
            )
        ]

    def spans(self, run_id: str, start: int, stop: int) -> dict[int, str]:
        """Return what was recorded of a run that has ended, by row, as JSON text."""
        rows = self._database.query(
            "SELECT row, body FROM spans WHERE run_id = ? AND row >= ? AND row < ?",
            (run_id, start, stop),
        )
        return {row["row"]: row["body"] for row in rows}

    def kinds(self, run_id: str) -> set[str]:
        """Return the kinds of a run's outputs (see `values.kind_of`), and `TRACED` if spans are."""
        rows = self._database.query("SELECT DISTINCT kinds FROM cells WHERE run_id = ?", (run_id,))
        return {kind for row in rows for kind in row["kinds"]}

    def rows_done(self, run_id: str) -> int:
        """Return how many rows are in chunks that are done."""
        row = self._database.query_one(
            "SELECT coalesce(sum(stop - start), 0) FROM chunks WHERE run_id = ? AND state = 'done'",
            (run_id,),
        )
        return int(row[0]) if row else 0

    def _free_abandoned(self, run_id: str, owner: str) -> None:
        """Free what dead processes had leased; `owner` is none of them."""
        rows = self._database.query(
            "SELECT DISTINCT owner FROM chunks WHERE run_id = ? AND state = 'leased'", (run_id,)
        )
        for row in rows:
            if row["owner"] != owner and not is_alive(self._base, row["owner"]):
                self.release(run_id, row["owner"])


def _packed(cells: Mapping[int, CellColumn]) -> tuple[int, int, str, str]:
    """Return first and last row, the kinds of outputs, and the cells as one JSON text.

    By position: rows, values, errors and metadata as lists. Rows without a gap are the first one,
    and None stands for errors or metadata of which there are none. (A row of the database for each
    cell would cost ten times as much.)
    """
    filled = {position: own for position, own in cells.items() if own}
    rows = [row for own in filled.values() for row in (min(own.rows), max(own.rows))]
    outputs = filled.get(0, CellColumn())
    kinds = set(map(kind_of, outputs.values))
    if _none_or(outputs.metadata):
        kinds.add(TRACED)
    packed = [
        (p, _told(c.rows), c.values, _none_or(c.errors), _none_or(c.metadata))
        for p, c in filled.items()
    ]
    return min(rows), max(rows), "".join(sorted(kinds)), json.dumps(packed)


def _told(rows: list[int]) -> int | list[int]:
    first = rows[0]
    return first if rows == list(range(first, first + len(rows))) else rows


def _none_or(texts: list[str | None]) -> list[str | None] | None:
    return texts if texts.count(None) < len(texts) else None


def _unpacked(packed: Sequence[Any]) -> CellColumn:
    """Return what `_packed` gave for one position."""
    rows, values, errors, metadata = packed
    count = len(values)
    if isinstance(rows, int):
        rows = list(range(rows, rows + count))
    return CellColumn(rows, values, errors or [None] * count, metadata or [None] * count)


def _starts(writer: Writer, run_id: str, owner: str) -> set[int]:
    """Return where the chunks start that `owner` holds."""
    rows = writer.query(
        "SELECT start FROM chunks WHERE run_id = ? AND owner = ? AND state = 'leased'",
        (run_id, owner),
    )
    return {row["start"] for row in rows}

"""How runs end: each end happens once, whoever brings it about."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_chalk.store.cell_ledger import LEASE_S
from pytest_chalk.store.owners import is_alive
from pytest_chalk.store.stamps import as_text, now

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_chalk.schemas.evaluation import Revision
    from pytest_chalk.store.database import Database, Writer


class RunEnds:
    """Finalizing, success, failure and cancellation of runs."""

    def __init__(self, base: Path, database: Database) -> None:
        self._base, self._database = base, database

    def begin_finalizing(self, run_id: str, owner: str) -> bool:
        """Take on the run's last part; False if rows are left or somebody else is at it."""
        row = self._database.query_one("SELECT owner FROM runs WHERE id = ?", (run_id,))
        if row and row["owner"] and not is_alive(self._base, row["owner"]):
            self._abandon(run_id, row["owner"])
        moment = now()
        with self._database.writing() as writer:
            changed = writer.write(
                "UPDATE runs SET status = 'finalizing', owner = ?, lease_until = ?, "
                "started_at = coalesce(started_at, ?) WHERE id = ? "
                "AND (status IN ('pending', 'running') "
                "OR (status = 'finalizing' AND (owner IS NULL OR owner = ? OR lease_until < ?))) "
                "AND NOT EXISTS (SELECT 1 FROM chunks WHERE run_id = ? AND state != 'done')",
                (
                    *(owner, moment.timestamp() + LEASE_S, as_text(moment), run_id),
                    *(owner, moment.timestamp(), run_id),
                ),
            )
        return changed == 1

    def succeed(
        self,
        run_id: str,
        owner: str,
        result: Revision,
        summary: Mapping[str, object],
        recorded: Mapping[int, str],
    ) -> None:
        """End a run that `owner` finalizes; its cells are in the result now.

        `recorded` are the spans of the task's calls by row, as JSON text.
        """
        with self._database.writing() as writer:
            if writer.write(
                "UPDATE runs SET status = 'succeeded', completed_at = ?, result_revision_id = ?, "
                "summary = ?, owner = NULL WHERE id = ? AND status = 'finalizing' AND owner = ?",
                (as_text(now()), result.ref.revision_id, json.dumps(summary), run_id, owner),
            ):
                writer.write_many(
                    "INSERT INTO spans VALUES (?, ?, ?)",
                    [(run_id, row, body) for row, body in recorded.items()],
                )
                _clear(writer, run_id)

    def fail(self, run_id: str, message: str) -> None:
        """End a run without results, unless it has ended."""
        self._end(run_id, "failed", message)

    def cancel(self, run_id: str, message: str) -> None:
        """Cancel a run, unless it has ended; calls that are being made count no more."""
        self._end(run_id, "canceled", message)

    def _end(self, run_id: str, status: str, message: str) -> None:
        with self._database.writing() as writer:
            if writer.write(
                "UPDATE runs SET status = ?, completed_at = ?, error_message = ?, owner = NULL "
                "WHERE id = ? AND status IN ('pending', 'running', 'finalizing')",
                (status, as_text(now()), message, run_id),
            ):
                _clear(writer, run_id)

    def _abandon(self, run_id: str, owner: str) -> None:
        with self._database.writing() as writer:
            writer.write("UPDATE runs SET owner = NULL WHERE id = ? AND owner = ?", (run_id, owner))


def _clear(writer: Writer, run_id: str) -> None:
    writer.write("DELETE FROM chunks WHERE run_id = ?", (run_id,))
    writer.write("DELETE FROM cells WHERE run_id = ?", (run_id,))

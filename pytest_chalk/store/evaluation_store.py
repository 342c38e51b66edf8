"""What is kept of evaluations: suites, definitions and runs, in `store.db`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import EvaluationError, EvaluationNotFoundError
from pytest_chalk.schemas.evaluation import (
    CodeRef,
    DatasetRevisionRef,
    Definition,
    EvaluationRunExecutionMode,
    EvaluationRunStatus,
    RunState,
    ScorerSpec,
    Suite,
)
from pytest_chalk.store.database import Database
from pytest_chalk.store.dataset_catalog import DatasetCatalog
from pytest_chalk.store.dataset_files import DatasetFiles
from pytest_chalk.store.stamps import as_text, as_time, new_id, now

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

DEFAULT_SUITE = "Default"
"""Where evaluations go that name none."""


class EvaluationStore:
    """One project's evaluations.

    Attributes:
        base: `.chalk`.
        database: For the ledger of cells, which has a module of its own.
        datasets: Their revisions.
    """

    def __init__(self, base: Path) -> None:
        """Open the store, made if missing.

        Raises:
            MachineError: It cannot be opened.
        """
        self.base = base
        self.database = Database(base)
        self.datasets = DatasetCatalog(self.database, DatasetFiles(base))

    def add_suite(self, name: str, created_by: str) -> Suite:
        """Make a suite.

        Raises:
            EvaluationError: There is one of that name.
        """
        suite_id = new_id()
        with self.database.writing() as writer:
            if not writer.write(
                "INSERT OR IGNORE INTO suites VALUES (?, ?, ?, ?)",
                (suite_id, name, created_by, as_text(now())),
            ):
                where, fix = f"suite {name!r}", "Use EvaluationSuite.get_or_create, or another name"
                raise EvaluationError(where, "there is one of that name", fix=fix)
        return self.get_suite(suite_id)

    def get_or_add_suite(self, name: str, created_by: str) -> Suite:
        """Return the suite of that name, made if there is none."""
        with self.database.writing() as writer:
            writer.write(
                "INSERT OR IGNORE INTO suites VALUES (?, ?, ?, ?)",
                (new_id(), name, created_by, as_text(now())),
            )
            return _suite(writer.query("SELECT * FROM suites WHERE name = ?", (name,))[0])

    def get_suite(self, suite_id: str) -> Suite:
        """Return a suite.

        Raises:
            EvaluationNotFoundError: There is none of that id.
        """
        row = self.database.query_one("SELECT * FROM suites WHERE id = ?", (suite_id,))
        if row is None:
            raise EvaluationNotFoundError("suite", suite_id)
        return _suite(row)

    def suites(self) -> list[Suite]:
        """Return every suite, in the order they were made."""
        rows = self.database.query("SELECT * FROM suites ORDER BY created_at, rowid")
        return [_suite(row) for row in rows]

    def add_definition(self, definition: Definition) -> Definition:
        """Keep a new definition and return it as it will be read.

        Raises:
            EvaluationNotFoundError: Its suite does not exist.
        """
        if definition.suite_id:
            suite_id = self.get_suite(definition.suite_id).id
        else:
            suite_id = self.get_or_add_suite(DEFAULT_SUITE, definition.created_by).id
        body = json.dumps(
            {
                "dataset": asdict(definition.dataset),
                "task": asdict(definition.task),
                "scorers": [asdict(scorer) for scorer in definition.scorers],
                "metadata": dict(definition.metadata),
                "created_by": definition.created_by,
            }
        )
        with self.database.writing() as writer:
            writer.write(
                "INSERT INTO evaluations (id, suite_id, name, body, created_at) "
                "VALUES (?, ?, ?, ?, ?)",
                (definition.id, suite_id, definition.name, body, as_text(definition.created_at)),
            )
        return self.get_definition(definition.id)

    def get_definition(self, evaluation_id: str) -> Definition:
        """Return a definition.

        Raises:
            EvaluationNotFoundError: There is none of that id.
        """
        row = self.database.query_one("SELECT * FROM evaluations WHERE id = ?", (evaluation_id,))
        if row is None:
            raise EvaluationNotFoundError("evaluation", evaluation_id)
        return _definition(row)

    def definitions(
        self, *, suite_id: str | None = None, limit: int | None = None
    ) -> list[Definition]:
        """Return definitions, newest first."""
        rows = self.database.query(
            "SELECT * FROM evaluations WHERE (? IS NULL OR suite_id = ?) "
            "ORDER BY number DESC LIMIT ?",
            (suite_id, suite_id, -1 if limit is None else limit),
        )
        return [_definition(row) for row in rows]

    def add_run(self, run: RunState, chunks: Sequence[tuple[int, int]]) -> RunState:
        """Queue a run with its chunks of rows, all or nothing."""
        body = json.dumps(
            {
                "metadata": dict(run.metadata),
                "created_by": run.created_by,
                "plan": dict(run.plan),
                "options": dict(run.options),
                "policy": asdict(run.policy) if run.policy else None,
            }
        )
        with self.database.writing() as writer:
            writer.write(
                "INSERT INTO runs (id, evaluation_id, status, mode, body, n_rows, created_at, "
                "source_run_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run.id,
                    run.evaluation_id,
                    run.status.value,
                    run.execution_mode.value,
                    body,
                    run.n_rows,
                    as_text(run.created_at),
                    run.source_run_id,
                ),
            )
            writer.write_many(
                "INSERT INTO chunks (run_id, start, stop) VALUES (?, ?, ?)",
                [(run.id, start, stop) for start, stop in chunks],
            )
        return self.get_run(run.id)

    def get_run(self, run_id: str) -> RunState:
        """Return a run as it is now.

        Raises:
            EvaluationNotFoundError: There is none of that id.
        """
        found = self._runs("r.id = ?", (run_id,), 1)
        if not found:
            raise EvaluationNotFoundError("run", run_id)
        return found[0]

    def runs(
        self,
        *,
        evaluation_id: str | None = None,
        suite_id: str | None = None,
        limit: int | None = None,
    ) -> list[RunState]:
        """Return runs, newest first."""
        condition = "(? IS NULL OR r.evaluation_id = ?) AND (? IS NULL OR e.suite_id = ?)"
        values = (evaluation_id, evaluation_id, suite_id, suite_id)
        return self._runs(condition, values, limit)

    def ids_like(self, kind: str, beginning: str) -> list[str]:
        """Return the ids of evaluations or runs (`kind`) that are or begin so, newest first."""
        table = {"evaluation": "evaluations", "run": "runs"}[kind]
        rows = self.database.query(
            f"SELECT id FROM {table} WHERE substr(id, 1, length(?)) = ? ORDER BY number DESC",
            (beginning, beginning),
        )
        return [row["id"] for row in rows]

    def unfinished_runs(self, mode: EvaluationRunExecutionMode) -> list[RunState]:
        """Return the runs of that mode that have not ended, oldest first."""
        condition = "r.mode = ? AND r.status IN ('pending', 'running', 'finalizing')"
        return self._runs(condition, (mode.value,), None)[::-1]

    def _runs(self, condition: str, values: Sequence[object], limit: int | None) -> list[RunState]:
        rows = self.database.query(
            "SELECT r.*, v.dataset_id AS result_dataset_id, d.name AS result_dataset_name "
            "FROM runs r JOIN evaluations e ON e.id = r.evaluation_id "
            "LEFT JOIN revisions v ON v.id = r.result_revision_id "
            f"LEFT JOIN datasets d ON d.id = v.dataset_id WHERE {condition} "
            f"ORDER BY r.number DESC LIMIT {-1 if limit is None else int(limit)}",
            values,
        )
        return [_run(row) for row in rows]


def _suite(row: sqlite3.Row) -> Suite:
    created_at = datetime.fromisoformat(row["created_at"])
    return Suite(row["id"], row["name"], row["created_by"], created_at)


def _definition(row: sqlite3.Row) -> Definition:
    body = json.loads(row["body"])
    return Definition(
        id=row["id"],
        name=row["name"],
        dataset=DatasetRevisionRef(**body["dataset"]),
        task=_code(body["task"]),
        scorers=tuple(_scorer(scorer) for scorer in body["scorers"]),
        metadata=body["metadata"],
        suite_id=row["suite_id"],
        created_by=body["created_by"],
        created_at=datetime.fromisoformat(row["created_at"]),
    )


def _code(body: dict[str, Any]) -> CodeRef:
    fields = {**body, "inputs": tuple(body["inputs"]), "required": tuple(body["required"])}
    return CodeRef(**fields)


def _scorer(body: dict[str, Any]) -> ScorerSpec:
    code = _code(body["code"]) if body["code"] else None
    return ScorerSpec(**{**body, "inputs": tuple(body["inputs"]), "code": code})


def _run(row: sqlite3.Row) -> RunState:
    body = json.loads(row["body"])
    result = None
    if row["result_revision_id"]:
        names = ("result_dataset_id", "result_revision_id", "result_dataset_name")
        result = DatasetRevisionRef(*(row[name] for name in names))
    return RunState(
        id=row["id"],
        evaluation_id=row["evaluation_id"],
        status=EvaluationRunStatus(row["status"]),
        execution_mode=EvaluationRunExecutionMode(row["mode"]),
        metadata=body["metadata"],
        created_by=body["created_by"],
        created_at=datetime.fromisoformat(row["created_at"]),
        n_rows=row["n_rows"],
        plan=body["plan"],
        options=body["options"],
        policy=_code(body["policy"]) if body["policy"] else None,
        source_run_id=row["source_run_id"],
        started_at=as_time(row["started_at"]),
        completed_at=as_time(row["completed_at"]),
        result=result,
        error_message=row["error_message"],
        summary=json.loads(row["summary"]) if row["summary"] else {},
    )

"""The tables of `store.db`, as numbered steps: a step that was released is never changed."""

from __future__ import annotations

MIGRATIONS = (
    """
    CREATE TABLE suites (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE,
        created_by TEXT NOT NULL, created_at TEXT NOT NULL
    );
    CREATE TABLE datasets (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, latest TEXT NOT NULL
    );
    CREATE TABLE revisions (
        id TEXT PRIMARY KEY, dataset_id TEXT NOT NULL REFERENCES datasets (id),
        digest TEXT NOT NULL, columns TEXT NOT NULL, n_rows INTEGER NOT NULL,
        created_at TEXT NOT NULL
    );
    CREATE TABLE evaluations (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE, suite_id TEXT NOT NULL REFERENCES suites (id),
        name TEXT NOT NULL, body TEXT NOT NULL, created_at TEXT NOT NULL
    );
    CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE, evaluation_id TEXT NOT NULL REFERENCES evaluations (id),
        status TEXT NOT NULL, mode TEXT NOT NULL, body TEXT NOT NULL, n_rows INTEGER NOT NULL,
        created_at TEXT NOT NULL, started_at TEXT, completed_at TEXT,
        source_run_id TEXT, result_revision_id TEXT, error_message TEXT, summary TEXT,
        owner TEXT, lease_until REAL
    );
    CREATE INDEX runs_of_evaluation ON runs (evaluation_id, number);
    CREATE TABLE chunks (
        run_id TEXT NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
        state TEXT NOT NULL DEFAULT 'todo', tries INTEGER NOT NULL DEFAULT 0,
        owner TEXT, lease_until REAL,
        PRIMARY KEY (run_id, start)
    ) WITHOUT ROWID;
    CREATE TABLE cells (
        number INTEGER PRIMARY KEY, run_id TEXT NOT NULL, first_row INTEGER NOT NULL,
        last_row INTEGER NOT NULL, kinds TEXT NOT NULL, body TEXT NOT NULL
    );
    CREATE INDEX cells_of_run ON cells (run_id, first_row);
    CREATE TABLE spans (
        run_id TEXT NOT NULL, row INTEGER NOT NULL, body TEXT NOT NULL
    );
    CREATE INDEX spans_of_row ON spans (run_id, row);
    CREATE TABLE workers (
        id TEXT PRIMARY KEY, heartbeat_at REAL NOT NULL
    );
    """,
)

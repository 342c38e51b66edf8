"""`store.db`: one SQLite file for all processes of a project. The only module that opens it."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import MachineError
from pytest_chalk.store.migrations import MIGRATIONS
from pytest_chalk.store.session_directory import make_base

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

BUSY_TIMEOUT_S = 60.0
"""How long a writer waits for others. A write takes milliseconds; a minute is a stuck machine."""


class Database:
    """A connection that threads share: one statement or transaction at a time.

    In write-ahead mode readers never wait. A killed process loses at most the transaction it was
    in; a power cut may lose the last ones, and never leaves half of one.

    Attributes:
        path: Of the file.
    """

    def __init__(self, base: Path) -> None:
        """Open `store.db` in `base`, made if missing.

        Raises:
            MachineError: It cannot be opened, or a newer version of the package has made it.
        """
        self.path = base / "store.db"
        self._lock = threading.RLock()
        self._pid = os.getpid()
        try:
            make_base(base)
            self._connection = self._open()
            self._migrate()
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error
        weakref.finalize(self, _close, self._connection, self._pid)

    def query(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Return the rows of a select.

        Raises:
            MachineError: The file cannot be read.
        """
        with self._lock:
            try:
                return self._mine().execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._failed(error) from error

    def query_one(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Row | None:
        """Return the first row of a select, or None."""
        found = self.query(statement, values)
        return found[0] if found else None

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Open a transaction that is written as a whole, or not at all if its block raises.

        Raises:
            MachineError: The file cannot be written.
        """
        with self._lock:
            connection = self._mine()
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield Writer(connection)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._failed(error) from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _mine(self) -> sqlite3.Connection:
        """Return the connection; a forked child opens its own, for SQLite forbids to share one."""
        if os.getpid() != self._pid:
            _INHERITED.append(self._connection)
            self._connection, self._pid = self._open(), os.getpid()
            weakref.finalize(self, _close, self._connection, self._pid)
        return self._connection

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        self.path.chmod(0o600)
        connection.row_factory = sqlite3.Row
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _migrate(self) -> None:
        """Bring the tables up to date; of several processes at once, one does."""
        if self._version() == len(MIGRATIONS):
            return
        with self.writing() as writer:
            version = self._version()
            if version > len(MIGRATIONS):
                message = (
                    f"store {str(self.path)!r} was made by a newer pytest-chalk (format {version}, "
                    f"this one knows {len(MIGRATIONS)}). Upgrade, or choose another place with "
                    "--chalk-session-dir."
                )
                raise MachineError(message)
            for number, step in enumerate(MIGRATIONS[version:], version + 1):
                for statement in step.split(";"):
                    if statement.strip():
                        writer.write(statement)
                writer.write(f"PRAGMA user_version = {number}")

    def _version(self) -> int:
        row = self.query_one("PRAGMA user_version")
        return int(row[0]) if row else 0

    def _failed(self, error: Exception) -> MachineError:
        return MachineError(
            f"store {str(self.path)!r} cannot be used: {error}. Free the disk, wait for other "
            "processes, or choose another place with --chalk-session-dir."
        )


_INHERITED: list[sqlite3.Connection] = []
"""Connections of a parent process. A child must neither use nor close them."""


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead mode.

    SQLite does not wait here as it does elsewhere when several processes make a file at once.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.005)
        else:
            return


def _close(connection: sqlite3.Connection, pid: int) -> None:
    """Close a connection that nobody has any more; Python 3.13 warns of those left open."""
    if os.getpid() == pid:
        connection.close()


class Writer:
    """Writes within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def write(self, statement: str, values: Sequence[object] = ()) -> int:
        """Carry out one statement; return how many rows it changed."""
        return self._connection.execute(statement, values).rowcount

    def write_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Carry out one statement for each row of values."""
        self._connection.executemany(statement, rows)

    def query(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Return the rows of a select, or of a statement with `RETURNING`."""
        return self._connection.execute(statement, values).fetchall()

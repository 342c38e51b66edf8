"""Revisions of datasets as immutable Parquet files, named by the hash of their content."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import DatasetError, MachineError
from pytest_chalk.schemas.evaluation import Column
from pytest_chalk.store.duck import duck, literal, quoted, reading
from pytest_chalk.store.values import encode_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

ROW_GROUP_ROWS = 10_000
"""Rows held in memory at once while a file is written or read."""

RESERVED = frozenset({"file_row_number", "chalk_row"})
"""Columns that queries add, DuckDB's and our own."""


@dataclass(frozen=True)
class StoredFile:
    """A file in its place."""

    digest: str
    columns: tuple[Column, ...]
    n_rows: int


class DatasetFiles:
    """The folder of Parquet files. A file is complete or not there, and never changes."""

    def __init__(self, base: Path) -> None:
        self._directory = base / "datasets"

    def path(self, digest: str) -> Path:
        """Return where the file of that content is."""
        return self._directory / f"{digest}.parquet"

    def find(self, digest: str) -> Path:
        """Return where the file of that content is.

        Raises:
            DatasetError: It is gone.
        """
        path = self.path(digest)
        if not path.is_file():
            where, fix = f"dataset file {str(path)!r}", "Restore it, or upload the dataset again"
            raise DatasetError(where, "it is not there any more", fix=fix)
        return path

    def write_columns(self, columns: Mapping[str, Sequence[object]]) -> StoredFile:
        """Write columns of equal length.

        Raises:
            DatasetError: A name or value cannot be stored.
            MachineError: The disk refuses.
        """
        check_names(list(columns))
        encoded = {name: encode_column(name, values) for name, values in columns.items()}
        parts = [
            f"unnest($c{i}::{e.sql_type}[]) AS {quoted(n)}"
            for i, (n, e) in enumerate(encoded.items())
        ]
        values = {f"c{i}": e.values for i, e in enumerate(encoded.values())}
        kept = tuple(Column(name, e.is_json) for name, e in encoded.items())
        return self.write_query(f"SELECT {', '.join(parts)}", kept, values)

    def write_query(
        self,
        query: str,
        columns: tuple[Column, ...],
        values: Mapping[str, object] | None = None,
        cursor: duckdb.DuckDBPyConnection | None = None,
    ) -> StoredFile:
        """Write what a query gives, whose columns are `columns`, in its order.

        Raises:
            MachineError: The disk refuses.
        """
        with self.scratch() as scratch:
            fresh = scratch / "fresh.parquet"
            copy_query(cursor or duck(), query, fresh, values)
            return self.adopt(fresh, columns)

    def adopt(self, fresh: Path, columns: tuple[Column, ...]) -> StoredFile:
        """Move a file that is complete to its place, under the hash of its content.

        Raises:
            OSError: The disk refuses.
        """
        with fresh.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            os.fsync(opened.fileno())
        target = self.path(digest)
        if not target.exists():
            fresh.chmod(0o600)
            fresh.replace(target)
        return StoredFile(digest, columns, count_rows(target))

    def read(
        self, digest: str, columns: Sequence[Column], start: int = 0, stop: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Return rows `start` to `stop` as tuples of the values of `columns`.

        Raises:
            DatasetError: The file is gone.
            MachineError: It is damaged.
        """
        if not columns:
            end = count_rows(self.find(digest)) if stop is None else stop
            return [()] * (end - start)
        until = "" if stop is None else f" AND file_row_number < {stop}"
        return self._read_where(digest, columns, f"file_row_number >= {start}{until}")

    def read_some(
        self, digest: str, columns: Sequence[Column], rows: Sequence[int]
    ) -> list[tuple[Any, ...]]:
        """Return some rows, in the order of `rows`, as tuples of the values of `columns`.

        Raises:
            As `read`.
        """
        numbered = (*columns, Column("file_row_number"))
        listed = ", ".join(str(int(row)) for row in rows) or "-1"
        found = self._read_where(digest, numbered, f"file_row_number IN ({listed})")
        by_row = {values[-1]: values[:-1] for values in found}
        return [by_row[row] for row in rows]

    def _read_where(
        self, digest: str, columns: Sequence[Column], condition: str
    ) -> list[tuple[Any, ...]]:
        path = self.find(digest)
        names = ", ".join(quoted(column.name) for column in columns)
        query = (
            f"SELECT {names} FROM read_parquet({literal(path)}, file_row_number = true) "
            f"WHERE {condition} ORDER BY file_row_number"
        )
        with reading(path):
            found = duck().execute(query).fetchall()
        decoded = [index for index, column in enumerate(columns) if column.is_json]
        return [_decode(row, decoded) for row in found] if decoded else found

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a folder on the same disk for unfinished files, removed in the end.

        Raises:
            MachineError: It cannot be made, or the disk refuses what is written within.
        """
        folder = self._directory / f".unfinished-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
            yield folder
        except OSError as error:
            message = f"{str(self._directory)!r} cannot be written: {error}. Free the disk."
            raise MachineError(message) from error
        finally:
            for path in sorted(folder.glob("*")):
                path.unlink(missing_ok=True)
            if folder.is_dir():
                folder.rmdir()


def copy_query(
    cursor: duckdb.DuckDBPyConnection,
    query: str,
    target: Path,
    values: Mapping[str, object] | None = None,
) -> None:
    """Write what a query gives into a Parquet file.

    Raises:
        OSError: The disk refuses.
    """
    import duckdb  # noqa: PLC0415 - an extra

    options = f"FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {ROW_GROUP_ROWS}"
    statement = f"COPY ({query}) TO {literal(target)} ({options})"
    try:
        if values:
            cursor.execute(statement, dict(values))
        else:
            cursor.execute(statement)
    except duckdb.IOException as error:
        raise OSError(str(error)) from error


def count_rows(path: Path) -> int:
    """Return how many rows a Parquet file has; only its footer is read."""
    found = (
        duck().execute(f"SELECT num_rows FROM parquet_file_metadata({literal(path)})").fetchone()
    )
    return int(found[0]) if found else 0


def check_names(names: Sequence[str]) -> None:
    """Check the columns of a dataset.

    Raises:
        DatasetError: There is none, one has no name or a reserved one, or two differ only in case.
    """
    if not names:
        raise DatasetError("dataset", "it has no columns", fix="Give rows with at least one")
    seen: dict[str, str] = {}
    for name in names:
        if not str(name).strip() or not _is_text(name):
            fix = "Name every column with text"
            raise DatasetError("dataset", f"a column is called {name!r}", fix=fix)
        if name.casefold() in RESERVED:
            problem = f"a column is called {name!r}, a name that is used to number rows"
            raise DatasetError("dataset", problem, fix="Rename it")
        if name.casefold() in seen:
            fix = "Rename one: SQL does not tell upper from lower case"
            problem = f"columns {seen[name.casefold()]!r} and {name!r} clash"
            raise DatasetError("dataset", problem, fix=fix)
        seen[name.casefold()] = name


def _is_text(name: object) -> bool:
    return isinstance(name, str)


def _decode(row: tuple[Any, ...], decoded: Sequence[int]) -> tuple[Any, ...]:
    values = list(row)
    for index in decoded:
        if values[index] is not None:
            values[index] = json.loads(values[index])
    return tuple(values)

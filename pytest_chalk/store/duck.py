"""DuckDB: reads and writes Parquet. Imported at its first use, for it is an extra."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_chalk.errors import DatasetError, MachineError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb

_LOCK = threading.Lock()
_SHARED: dict[int, duckdb.DuckDBPyConnection] = {}

THREADS = 2
"""Of DuckDB. Row groups are small, and more threads only hold more memory."""


def duck() -> duckdb.DuckDBPyConnection:
    """Return a cursor of this process's own database in memory; threads take one each.

    Raises:
        DatasetError: DuckDB is not installed; names the extra.
    """
    with _LOCK:
        found = _SHARED.get(os.getpid())
        if found is None:
            found = _SHARED[os.getpid()] = new_duck()
        return found.cursor()


def new_duck() -> duckdb.DuckDBPyConnection:
    """Return a database in memory of its own.

    Raises:
        DatasetError: DuckDB is not installed; names the extra.
    """
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise DatasetError(
            "datasets",
            "they need DuckDB, which is not installed",
            fix="Install the extra: pip install 'pytest-chalk[evaluations]'",
        ) from error
    # Nothing may be fetched: not an extension, not a file that a dataset's text happens to name.
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": THREADS,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "memory_limit": "1GB",
    }
    return duckdb.connect(":memory:", config=settings)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Read a file of the store, which was whole when it was written.

    Raises:
        MachineError: It is damaged.
    """
    import duckdb  # noqa: PLC0415 - an extra

    try:
        yield
    except duckdb.Error as error:
        # Some damage is an error of no kind of its own; those of other kinds are bugs of ours.
        if type(error) is duckdb.Error or isinstance(error, duckdb.InvalidInputException):
            message = (
                f"dataset file {str(path)!r} is damaged: {str(error).partition(chr(10))[0]}. "
                "Restore it, or upload the dataset again and run the evaluation anew."
            )
            raise MachineError(message) from error
        raise


def quoted(name: str) -> str:
    """Return a column's name as SQL writes it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: object) -> str:
    """Return a text as SQL writes it."""
    doubled = str(text).replace("'", "''")
    return f"'{doubled}'"

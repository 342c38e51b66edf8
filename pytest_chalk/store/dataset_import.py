"""What can be uploaded: rows, columns, CSV, JSON lines and Parquet files, data frames, Arrow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import DatasetError, MachineError
from pytest_chalk.schemas.evaluation import Column
from pytest_chalk.store.csv_files import read_csv_files
from pytest_chalk.store.dataset_files import check_names
from pytest_chalk.store.duck import duck, literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from pytest_chalk.store.dataset_files import DatasetFiles, StoredFile

JSON_LINES = frozenset({".jsonl", ".ndjson"})
_ACCEPTED = (
    "Give a list of dicts, a mapping of columns, a .csv, .jsonl or .parquet file (or several), a "
    "data frame, or an Arrow table"
)


def store_data(files: DatasetFiles, data: object) -> StoredFile:
    """Write `data` as a revision's file.

    Raises:
        DatasetError: It is nothing that can be uploaded, or a name or value in it is not.
        MachineError: The disk refuses.
    """
    if isinstance(data, (str, os.PathLike)):
        return _store_paths(files, [Path(data)])
    if isinstance(data, Mapping):
        return files.write_columns(_equal_columns(data))
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__dataframe__") or _is_arrow(data):
        return _store_frame(files, data)
    if hasattr(data, "to_arrow"):
        return _store_frame(files, data.to_arrow())
    if isinstance(data, Iterable):
        return _store_rows(files, list(data))
    raise _refused(data)


def _store_rows(files: DatasetFiles, rows: list[Any]) -> StoredFile:
    if rows and all(isinstance(row, (str, os.PathLike)) for row in rows):
        return _store_paths(files, [Path(row) for row in rows])
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DatasetError("dataset", f"row {index} is {row!r:.100}, no mapping", fix=_ACCEPTED)
    if not rows:
        fix = "Give at least one row, or a mapping of columns with empty lists"
        raise DatasetError("dataset", "it has no rows, so its columns are unknown", fix=fix)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return files.write_columns({name: [row.get(name) for row in rows] for name in names})


def _equal_columns(columns: Mapping[Any, Any]) -> dict[str, Sequence[object]]:
    found: dict[str, Sequence[object]] = {name: list(values) for name, values in columns.items()}
    lengths = {name: len(values) for name, values in found.items()}
    if len(set(lengths.values())) > 1:
        fix = "Give every column as many values"
        raise DatasetError("dataset", f"its columns differ in length: {lengths}", fix=fix)
    return found


def _store_paths(files: DatasetFiles, paths: list[Path]) -> StoredFile:
    for path in paths:
        if not path.is_file():
            where = f"file {str(path)!r}"
            raise DatasetError(where, "there is no such file", fix=_ACCEPTED)
    suffixes = {path.suffix.lower() for path in paths}
    if suffixes <= JSON_LINES:
        return _store_rows(files, [row for path in paths for row in _json_lines(path)])
    if suffixes == {".parquet"}:
        return _store_query(files, f"SELECT * FROM read_parquet([{_listed(paths)}])", paths)
    if suffixes == {".csv"}:
        return files.write_columns(read_csv_files(paths))
    where, problem = f"file {str(paths[0])!r}", f"its kind is {', '.join(sorted(suffixes))}"
    raise DatasetError(where, problem, fix=_ACCEPTED)


def _json_lines(path: Path) -> list[Any]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                where = f"{path}:{number}"
                fix = "Write one JSON object per line"
                raise DatasetError(where, f"no JSON: {error}", fix=fix) from error
    return rows


def _store_frame(files: DatasetFiles, frame: object) -> StoredFile:
    cursor = duck()
    try:
        cursor.register("uploaded", frame)
    except Exception as error:
        raise _refused(frame) from error
    return _store_query(files, "SELECT * FROM uploaded", [], cursor)


def _store_query(
    files: DatasetFiles,
    query: str,
    paths: list[Path],
    cursor: duckdb.DuckDBPyConnection | None = None,
) -> StoredFile:
    cursor = cursor or duck()
    with _reading(paths):
        names = [row[0] for row in cursor.execute(f"DESCRIBE {query}").fetchall()]
    check_names(names)
    with _reading(paths):  # a broken row is the file's, not ours: only what is written is all read
        return files.write_query(query, tuple(Column(name) for name in names), cursor=cursor)


@contextmanager
def _reading(paths: list[Path]) -> Iterator[None]:
    """Say of what cannot be read that it is the file's."""
    import duckdb  # noqa: PLC0415 - an extra

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        message = f"{_shown(paths)} needs more memory than there is: {error}. Give fewer rows."
        raise MachineError(message) from error
    except duckdb.Error as error:
        problem = f"it cannot be read: {str(error).splitlines()[0]}"
        raise DatasetError(_shown(paths), problem, fix="Mend the file") from error


def _shown(paths: list[Path]) -> str:
    if not paths:
        return "data frame"
    more = f" (or one of {len(paths) - 1} more)" if len(paths) > 1 else ""
    return f"file {str(paths[0])!r}{more}"


def _listed(paths: list[Path]) -> str:
    return ", ".join(literal(path) for path in paths)


def _is_arrow(data: object) -> bool:
    return type(data).__module__.partition(".")[0] == "pyarrow"


def _refused(data: object) -> DatasetError:
    problem = f"{data!r:.100} ({type(data).__name__}) cannot be uploaded"
    return DatasetError("dataset", problem, fix=_ACCEPTED)

"""Revisions as files for others, written block by block: a large one needs no more memory."""

from __future__ import annotations

import csv
import io
import json
import shutil
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

from pytest_chalk.store.dataset_files import ROW_GROUP_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chalk.schemas.evaluation import Revision
    from pytest_chalk.store.dataset_files import DatasetFiles

Form: TypeAlias = Literal["jsonl", "csv", "parquet"]


def export_revision(files: DatasetFiles, revision: Revision, form: Form, to: BinaryIO) -> None:
    """Write a revision as a file of that form.

    Raises:
        DatasetError: The revision's file is gone.
        MachineError: It is damaged.
        OSError: `to` cannot be written.
    """
    if form == "parquet":
        with files.find(revision.digest).open("rb") as opened:
            shutil.copyfileobj(opened, to)
        return
    blocks = _json_lines(files, revision) if form == "jsonl" else _csv(files, revision)
    to.writelines(block.encode() for block in blocks)


def _json_lines(files: DatasetFiles, revision: Revision) -> Iterator[str]:
    names = revision.names
    for block in _blocks(files, revision):
        rows = (dict(zip(names, row, strict=True)) for row in block)
        yield "".join(json.dumps(row, default=str) + "\n" for row in rows)


def _csv(files: DatasetFiles, revision: Revision) -> Iterator[str]:
    yield _csv_lines([revision.names])
    for block in _blocks(files, revision):
        yield _csv_lines([[_csv_cell(value) for value in row] for row in block])


def _blocks(files: DatasetFiles, revision: Revision) -> Iterator[list[tuple[object, ...]]]:
    for start in range(0, revision.n_rows, ROW_GROUP_ROWS):
        stop = min(start + ROW_GROUP_ROWS, revision.n_rows)
        yield files.read(revision.digest, revision.columns, start, stop)


def _csv_lines(rows: list[tuple[str, ...]] | list[list[object]]) -> str:
    written = io.StringIO(newline="")
    csv.writer(written).writerows(rows)
    return written.getvalue()


def _csv_cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, (list, dict)) else value

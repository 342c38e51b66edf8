"""CSV files as columns of values, without guesses: what could be read in two ways stays text."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from pytest_chalk.errors import DatasetError
from pytest_chalk.store.dataset_files import check_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_BOOLEANS = {"true": True, "false": False}

_TYPES: tuple[tuple[str, Callable[[str], object]], ...] = (
    (r"-?(0|[1-9][0-9]{0,17})", int),
    (r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", float),
    (r"[Tt]rue|[Ff]alse|TRUE|FALSE", lambda text: _BOOLEANS[text.lower()]),
)
"""A column is of the first type whose pattern every value fits, else text: `007` is text."""


def read_csv_files(paths: Sequence[Path]) -> dict[str, list[object]]:
    """Return the columns of files with the same header; an empty field is None.

    Raises:
        DatasetError: A file has no header, another one than the first, or a line with more or
            fewer fields; names file and line.
    """
    header: list[str] = []
    columns: list[list[str]] = []
    for path in paths:
        lines = _lines(path)
        _, found = next(lines, (1, []))
        if not header:
            header, columns = found, [[] for _ in found]
            check_names(header)
        if found != header:
            problem = f"the columns are {found}, and those before it are {header}"
            where = f"{path}:1"
            raise DatasetError(where, problem, fix="Give every file the same header")
        for number, fields in lines:
            if len(fields) != len(header):
                problem = f"the line has {len(fields)} fields and the header {len(header)}"
                where = f"{path}:{number}"
                raise DatasetError(where, problem, fix="Quote fields that have commas")
            for column, field in zip(columns, fields, strict=True):
                column.append(field)
    return {name: _typed(column) for name, column in zip(header, columns, strict=True)}


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and fields; blank lines are none."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.reader(opened, strict=True)
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
    except (csv.Error, UnicodeDecodeError) as error:
        where, problem = f"file {str(path)!r}", f"it is no CSV: {error}"
        raise DatasetError(where, problem, fix="Mend the file") from error


def _typed(texts: Sequence[str]) -> list[object]:
    present = [text for text in texts if text]
    for pattern, parse in _TYPES:
        fits = re.compile(pattern).fullmatch
        if present and all(map(fits, present)):
            return [parse(text) if text else None for text in texts]
    return [text or None for text in texts]

"""The result of a run: the source's rows, with cells copied as columns and new ones beside them.

What is copied never becomes a Python object. Rows are worked through in blocks, so that a large run
needs no more memory than a small one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_chalk.schemas.evaluation import OUTPUT, CellColumn, Column
from pytest_chalk.store.dataset_files import ROW_GROUP_ROWS, copy_query
from pytest_chalk.store.duck import duck, literal, quoted, reading
from pytest_chalk.store.sql_expression import evaluate_items
from pytest_chalk.store.values import NULL, SQL_OF_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_chalk.schemas.evaluation import Revision
    from pytest_chalk.store.dataset_files import DatasetFiles, StoredFile

SCORER_FIELDS = ("value", "error", "metadata")
_TYPES = {"value": "DOUBLE", "error": "VARCHAR", "metadata": "VARCHAR"}


@dataclass(frozen=True)
class ScorerColumns:
    """The three columns of one scorer.

    Attributes:
        column: What their names begin with.
        copied: What those of the source begin with; None where nothing is copied.
        expression: Of an SQL scorer that is computed here.
    """

    column: str
    copied: str | None = None
    expression: str | None = None


@dataclass(frozen=True)
class ResultShape:
    """What the result is made of.

    Attributes:
        source: The revision that rows are read from: the dataset, or the result that is rescored.
        columns: The dataset's columns in it.
        output_copied: Whether outputs are the source's where the ledger has none.
    """

    source: Revision
    columns: tuple[Column, ...]
    output_copied: bool
    scorers: tuple[ScorerColumns, ...]


class ResultFile:
    """Writes one result. `cells_of` returns the ledger's cells of a range of rows, by position."""

    def __init__(
        self,
        files: DatasetFiles,
        shape: ResultShape,
        kinds: set[str],
        cells_of: Callable[[int, int], Mapping[int, CellColumn]],
    ) -> None:
        self._files, self._shape, self._cells_of = files, shape, cells_of
        self._copied = shape.source.columns_named([OUTPUT])[0] if shape.output_copied else None
        self._output_type, self._output = self._type_of_output(kinds)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The result's columns, in order."""
        names = [f"{s.column}_{field}" for s in self._shape.scorers for field in SCORER_FIELDS]
        error = Column("output_error")
        return (*self._shape.columns, self._output, error, *(Column(name) for name in names))

    def write(self) -> StoredFile:
        """Write the file.

        Raises:
            MachineError: The disk refuses, or the source is damaged.
        """
        n_rows = self._shape.source.n_rows
        source = self._files.path(self._shape.source.digest)
        with reading(source), self._files.scratch() as scratch:
            parts = [
                self._write_part(scratch, start, min(start + ROW_GROUP_ROWS, n_rows))
                for start in range(0, max(n_rows, 1), ROW_GROUP_ROWS)
            ]
            if len(parts) == 1:
                return self._files.adopt(parts[0], self.columns)
            listed = ", ".join(literal(part) for part in parts)
            return self._files.write_query(f"SELECT * FROM read_parquet([{listed}])", self.columns)

    def _write_part(self, scratch: Path, start: int, stop: int) -> Path:
        part = scratch / f"part-{start:012}.parquet"
        computed = [s for s in self._shape.scorers if s.expression is not None]
        target = scratch / "base.parquet" if computed else part
        fresh = _Fresh(start, stop)
        selected = self._selected(fresh)
        path = literal(self._files.path(self._shape.source.digest))
        source = f"SELECT * FROM read_parquet({path})"
        if (start, stop) != (0, self._shape.source.n_rows):
            source = (
                f"SELECT * FROM read_parquet({path}, file_row_number = true) WHERE "
                f"file_row_number >= {start} AND file_row_number < {stop} ORDER BY file_row_number"
            )
        query = f"SELECT {', '.join(selected)} FROM ({source}) s"
        if fresh.lists:
            query = f"{query} POSITIONAL JOIN (SELECT {fresh.columns()}) n"
        copy_query(duck(), query, target, fresh.parameters())
        if computed:
            self._add_sql(target, part, computed)
        return part

    def _selected(self, fresh: _Fresh) -> list[str]:
        """Return the select items of some rows; their new cells go into `fresh`."""
        cells = self._cells_of(fresh.start, fresh.stop)
        selected = [f"s.{quoted(column.name)}" for column in self._shape.columns]
        selected += self._output_items(cells.get(0), fresh)
        for position, scorer in enumerate(self._shape.scorers, 1):
            if scorer.expression is None:
                selected += _scorer_items(scorer, cells.get(position), fresh)
        return selected

    def _output_items(self, cells: CellColumn | None, fresh: _Fresh) -> list[str]:
        copied = [self._copied_output(), "s.output_error"] if self._shape.output_copied else None
        if cells and self._output.is_json:
            dumped = [None if value is None else json.dumps(value) for value in cells.values]
            cells = replace(cells, values=dumped)
        kinds = (self._output_type, "VARCHAR")
        return fresh.items(("output", "output_error"), kinds, cells, copied)

    def _type_of_output(self, kinds: set[str]) -> tuple[str, Column]:
        """Return the type of the output column: of one kind of values its own, else JSON text."""
        copied = self._copied
        if kinds <= {NULL}:  # nothing is new, or every call failed
            return (copied and self._source_type()) or "VARCHAR", copied or Column("output")
        kinds = kinds - {NULL}
        kind = SQL_OF_KIND.get(next(iter(kinds)), "") if len(kinds) == 1 else ""
        if copied and self._source_type() != kind:
            kind = ""
        return kind or "VARCHAR", Column("output", is_json=not kind)

    def _source_type(self) -> str:
        """Return the type of the output that is copied; empty where it is JSON text or unknown."""
        path = literal(self._files.path(self._shape.source.digest))
        found = duck().execute(f"DESCRIBE SELECT output FROM read_parquet({path})").fetchone()
        return "" if found is None or (self._copied and self._copied.is_json) else str(found[1])

    def _copied_output(self) -> str:
        """Return the source's output, as JSON text if the result's is and the source's is not."""
        if self._output.is_json and self._copied and not self._copied.is_json:
            return "to_json(s.output)::VARCHAR"
        return "s.output"

    def _add_sql(self, base: Path, part: Path, computed: Sequence[ScorerColumns]) -> None:
        """Write `part`: what `base` has, and the columns of SQL scorers in their places."""
        relation = [*(column.name for column in self._shape.columns), "output"]
        expressions = [scorer.expression or "" for scorer in computed]
        values: dict[str, Any] = {}
        names = {}
        for index, (scores, errors) in enumerate(evaluate_items(base, relation, expressions)):
            values[f"v{index}"], values[f"e{index}"] = scores, errors
            names[computed[index].column] = index
        lists = ", ".join(
            f"unnest($v{i}::DOUBLE[]) AS v{i}, unnest($e{i}::VARCHAR[]) AS e{i}"
            for i in range(len(computed))
        )
        selected = [_sql_item(column.name, names) for column in self.columns]
        query = (
            f"SELECT {', '.join(selected)} FROM (SELECT * FROM read_parquet({literal(base)})) s "
            f"POSITIONAL JOIN (SELECT {lists}) n"
        )
        copy_query(duck(), query, part, values)


def _sql_item(name: str, names: dict[str, int]) -> str:
    column, _, field = name.rpartition("_")
    if column not in names or field not in SCORER_FIELDS:
        return f"s.{quoted(name)}"
    index = names[column]
    found = {"value": f"n.v{index}", "error": f"n.e{index}", "metadata": "NULL::VARCHAR"}
    return f"{found[field]} AS {quoted(name)}"


def _scorer_items(scorer: ScorerColumns, cells: CellColumn | None, fresh: _Fresh) -> list[str]:
    copied = None
    if scorer.copied is not None:
        copied = [f"s.{quoted(f'{scorer.copied}_{field}')}" for field in SCORER_FIELDS]
    names = [f"{scorer.column}_{field}" for field in SCORER_FIELDS]
    return fresh.items(names, [_TYPES[field] for field in SCORER_FIELDS], cells, copied)


class _Fresh:
    """The new cells of some rows, as lists that a query joins to the rows.

    Attributes:
        lists: Type and values of each, by its name in the query, one value for each row.
    """

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self.lists: dict[str, tuple[str, list[Any]]] = {}

    def items(
        self,
        names: Sequence[str],
        kinds: Sequence[str],
        cells: CellColumn | None,
        copied: Sequence[str] | None,
    ) -> list[str]:
        """Return select items: new cells where there are, else what is copied.

        Args:
            names: Of the columns that are made.
            kinds: Their types.
            cells: Whose values, errors and metadata they are, in this order.
            copied: The items of what is copied, if anything is.
        """
        if cells is None and copied is not None:
            found = list(copied)
        else:
            cells = cells or CellColumn()
            lists = (cells.values, cells.errors, cells.metadata)[: len(names)]
            found = [self._add(k, cells.rows, v) for k, v in zip(kinds, lists, strict=True)]
            if copied is not None:
                called = self._add("BOOLEAN", cells.rows, [True] * len(cells.rows))
                pairs = zip(found, copied, strict=True)
                found = [f"CASE WHEN {called} THEN {new} ELSE {old} END" for new, old in pairs]
        return [f"{item} AS {quoted(name)}" for item, name in zip(found, names, strict=True)]

    def columns(self) -> str:
        """Return the select items that make the lists columns."""
        return ", ".join(f"unnest(${n}::{kind}[]) AS {n}" for n, (kind, _) in self.lists.items())

    def parameters(self) -> dict[str, list[Any]]:
        """Return the lists by name."""
        return {name: members for name, (_, members) in self.lists.items()}

    def _add(self, kind: str, rows: Sequence[int], values: Sequence[Any]) -> str:
        """Return the item of a new column, NULL where `values` has none."""
        if values.count(None) == len(values):
            return f"NULL::{kind}"
        members: list[Any] = [None] * (self.stop - self.start)
        for row, value in zip(rows, values, strict=True):
            members[row - self.start] = value
        name = f"c{len(self.lists)}"
        self.lists[name] = (kind, members)
        return f"n.{name}"

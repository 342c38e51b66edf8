"""The rows of a run that this process has leased: read in chunks, given out, written when done."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from pytest_chalk.evaluations.rescoring import RunPlan
from pytest_chalk.evaluations.row_work import Row
from pytest_chalk.evaluations.telemetry import read_trace
from pytest_chalk.schemas.evaluation import OUTPUT, TRACE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.evaluations.row_work import Work
    from pytest_chalk.schemas.evaluation import Cell, Revision, RunState
    from pytest_chalk.store.cell_ledger import Chunk

READ_AHEAD_ROWS = 5_000
"""Read at once. Opening the file costs as much as reading a thousand rows."""


class RowQueue:
    """Used by one thread, the driver's."""

    def __init__(self, place: Place, run: RunState, source: Revision, work: Work) -> None:
        self._place, self._run, self._source = place, run, source
        copied = (OUTPUT, "output_error") if run.source_run_id else ()
        names = dict.fromkeys((*work.columns, *(n for n in copied if n in source.names)))
        self._columns = source.columns_named(names)
        self._reads_traces = work.reads_traces
        self._waiting: deque[Row] = deque()
        self._chunks: dict[int, Chunk] = {}
        self._left: dict[int, int] = {}
        self._chunk_of: dict[int, int] = {}
        self._cells: list[Cell] = []
        self._done: list[Chunk] = []
        self._flushed_s = time.monotonic()
        self._read_from, self._read_ahead = 0, list[tuple[Any, ...]]()

    def take(self, count: int, ahead: int) -> list[Row]:
        """Return up to `count` rows; `ahead` more are leased when fewer wait."""
        if len(self._waiting) < count:
            self._lease(ahead)
        return [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]

    def put(self, rows: Sequence[Row], cells: Sequence[Cell]) -> None:
        """Take note of what came of rows that were taken."""
        self._cells += cells
        for row in rows:
            start = self._chunk_of.pop(row.index)
            self._left[start] -= 1
            if not self._left[start]:
                self._done.append(self._chunks.pop(start))
                del self._left[start]

    def flush_if_due(self, now_s: float, interval_s: float, max_cells: int) -> None:
        """Write what is noted, if it is time or much."""
        if now_s - self._flushed_s > interval_s or len(self._cells) > max_cells:
            self.flush()

    def flush(self) -> None:
        """Write what is noted."""
        self._flushed_s = time.monotonic()
        if self._cells or self._done:
            self._place.ledger.commit(
                self._run.id,
                self._place.owner_id,
                self._cells,
                held=[*self._chunks.values(), *self._done],
                done=self._done,
            )
            self._cells, self._done = [], []

    def give_back(self) -> None:
        """Write what is noted and give the leases back."""
        self.flush()
        if self._chunks:
            self._place.ledger.release(self._run.id, self._place.owner_id)
        self._waiting.clear()
        self._chunks.clear()

    def renew(self) -> None:
        """Prolong the leases."""
        self._place.ledger.renew(self._place.owner_id)

    def has_ended(self) -> bool:
        """Tell whether somebody has ended the run."""
        return self._place.store.get_run(self._run.id).status.is_terminal

    def _lease(self, count: int) -> None:
        """Lease chunks with at least `count` rows, if so many are left."""
        chunk_rows = max(1, int(self._run.options.get("chunk_rows", 1)))
        limit = -(-count // chunk_rows)
        claimed = self._place.ledger.claim(self._run.id, self._place.owner_id, limit)
        # Before they are read: where that fails they are given back.
        self._chunks.update({chunk.start: chunk for chunk in claimed})
        for chunk in claimed:
            rows = self._read(chunk)
            self._left[chunk.start] = len(rows)
            self._chunk_of.update({row.index: chunk.start for row in rows})
            self._waiting.extend(rows)

    def _read(self, chunk: Chunk) -> list[Row]:
        """Read a chunk's rows with the cells that somebody has written before us."""
        start, stop = chunk.start, chunk.stop
        names = [column.name for column in self._columns]
        rows = []
        for index, values in enumerate(self._values(start, stop), start):
            row = Row(index, dict(zip(names, values, strict=True)))
            row.output_error = row.values.pop("output_error", None)
            rows.append(row)
        if not chunk.is_fresh:
            for cell in self._place.ledger.cells(self._run.id, start, stop):
                rows[cell.row - start].done[cell.position] = cell
        if self._reads_traces:
            self._add_traces(rows)
        return rows

    def _add_traces(self, rows: Sequence[Row]) -> None:
        """Give rows the traces of the calls that made the outputs they have copied."""
        for row in rows:
            row.values[TRACE] = None
        left = {row.index: row for row in rows}
        run = self._run
        while left and run.source_run_id:
            task = RunPlan.from_json(run.plan).task
            copied = {i: row for i, row in left.items() if not task.calls(i)}
            run = self._place.store.get_run(run.source_run_id)
            spans = self._place.ledger.spans(run.id, rows[0].index, rows[-1].index + 1)
            called = RunPlan.from_json(run.plan).task
            for index in [index for index in copied if called.calls(index)]:
                trace = read_trace(f"{run.id}:{index}", spans.get(index))
                copied.pop(index).values[TRACE] = trace
            left = copied

    def _values(self, start: int, stop: int) -> list[tuple[Any, ...]]:
        """Return the columns of some rows; the ones that follow are read too, for what comes."""
        if not (self._read_from <= start and stop <= self._read_from + len(self._read_ahead)):
            files = self._place.store.datasets.files
            end = max(stop, start + READ_AHEAD_ROWS)
            self._read_ahead = files.read(self._source.digest, self._columns, start, end)
            self._read_from = start
        return self._read_ahead[start - self._read_from : stop - self._read_from]

"""The rows of a run that this process has leased: read in chunks, given out, written when done."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from pytest_chalk.evaluations.rescoring import RunPlan
from pytest_chalk.evaluations.row_work import Stretch
from pytest_chalk.evaluations.telemetry import read_trace
from pytest_chalk.schemas.evaluation import OUTPUT, OUTPUT_ERROR, CellColumn
from pytest_chalk.store.dataset_files import ROW_GROUP_ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.authoring.trace import Trace
    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.evaluations.row_work import Work
    from pytest_chalk.schemas.evaluation import Cell, Revision, RunState
    from pytest_chalk.store.cell_ledger import Chunk


class RowQueue:
    """Used by one thread, the driver's."""

    def __init__(self, place: Place, run: RunState, source: Revision, work: Work) -> None:
        self._place, self._run, self._source = place, run, source
        copied = (OUTPUT, OUTPUT_ERROR) if run.source_run_id else ()
        names = (*work.columns, *(n for n in copied if n in source.names))
        self._names = tuple(dict.fromkeys(names))
        self._columns = source.columns_named(self._names)
        self._reads_traces = work.reads_traces
        self._waiting: deque[Stretch] = deque()
        self._chunks: dict[int, Chunk] = {}
        self._left: dict[int, int] = {}
        self._cells: dict[int, CellColumn] = {}
        self._done: list[Chunk] = []
        self._flushed_s = time.monotonic()
        self._read_from, self._read_ahead = 0, list[tuple[Any, ...]]()

    def take(self, count: int, ahead: int) -> list[Stretch]:
        """Return up to `count` rows; `ahead` more are leased when fewer wait."""
        if sum(map(len, self._waiting)) < count:
            self._lease(ahead)
        taken = []
        while count and self._waiting:
            stretch = self._waiting.popleft()
            if len(stretch) > count:
                stretch, rest = stretch.split(count)
                self._waiting.appendleft(rest)
            taken.append(stretch)
            count -= len(stretch)
        return taken

    def put(
        self,
        stretches: Sequence[Stretch],
        cells: Mapping[int, CellColumn],
        left: Sequence[Stretch] = (),
    ) -> None:
        """Take note of what came of rows that were taken; those that are `left` wait again."""
        self._waiting.extendleft(reversed(left))
        for stretch in left:
            self._left[stretch.chunk] += len(stretch)
        for position, column in cells.items():
            self._cells.setdefault(position, CellColumn()).extend(column)
        for stretch in stretches:
            start = stretch.chunk
            self._left[start] -= len(stretch)
            if not self._left[start]:
                self._done.append(self._chunks.pop(start))
                del self._left[start]

    def flush_if_due(self, now_s: float, interval_s: float, max_cells: int) -> None:
        """Write what is noted, if it is time or much."""
        if now_s - self._flushed_s > interval_s or sum(map(len, self._cells.values())) > max_cells:
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
            self._cells, self._done = {}, []

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
            stretch = self._read(chunk)
            self._left[chunk.start] = len(stretch)
            self._waiting.append(stretch)

    def _read(self, chunk: Chunk) -> Stretch:
        """Read a chunk's rows with the cells that somebody has written before us."""
        start, stop = chunk.start, chunk.stop
        done: dict[int, dict[int, Cell]] = {}
        if not chunk.is_fresh:
            for cell in self._place.ledger.cells(self._run.id, start, stop):
                done.setdefault(cell.row, {})[cell.position] = cell
        traces = self._traces(start, stop) if self._reads_traces else {}
        return Stretch(start, start, self._names, self._values(start, stop), done, traces)

    def _traces(self, start: int, stop: int) -> dict[int, Trace | None]:
        """Return by row what was recorded of the calls that made the outputs that are copied."""
        traces: dict[int, Trace | None] = {}
        left = set(range(start, stop))
        run = self._run
        while left and run.source_run_id:
            task = RunPlan.from_json(run.plan).task
            copied = {index for index in left if not task.calls(index)}
            run = self._place.store.get_run(run.source_run_id)
            spans = self._place.ledger.spans(run.id, start, stop)
            called = RunPlan.from_json(run.plan).task
            left = {index for index in copied if not called.calls(index)}
            for index in copied - left:
                traces[index] = read_trace(f"{run.id}:{index}", spans.get(index))
        return traces

    def _values(self, start: int, stop: int) -> list[tuple[Any, ...]]:
        """Return the columns of some rows; the ones that follow are read too, for what comes."""
        if not (self._read_from <= start and stop <= self._read_from + len(self._read_ahead)):
            files = self._place.store.datasets.files
            # A part of a row group costs as much to read as all of it.
            end = max(stop, start - start % ROW_GROUP_ROWS + ROW_GROUP_ROWS)
            self._read_ahead = files.read(self._source.digest, self._columns, start, end)
            self._read_from = start
        return self._read_ahead[start - self._read_from : stop - self._read_from]

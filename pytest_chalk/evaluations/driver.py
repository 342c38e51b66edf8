"""Advances one run in this process, for as long as somebody asks for it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import FIRST_COMPLETED, wait
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError
from pytest_chalk.evaluations.daemon_pool import DaemonPool
from pytest_chalk.evaluations.finalizing import finalize, source_of
from pytest_chalk.evaluations.rescoring import RunPlan
from pytest_chalk.evaluations.row_queue import RowQueue
from pytest_chalk.evaluations.row_work import Work, prepare_work, run_rows
from pytest_chalk.evaluations.scorer_models import flush_recordings
from pytest_chalk.store.cell_ledger import LEASE_S

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.evaluations.row_work import Done, Stretch

MAX_BATCH_ROWS = 1_000
BATCH_S = 0.02
"""Calls that are quicker are made several at once: handing one over costs 30 microseconds. Rows of
a batch that a killed process was at are called again, so it stays short (see `MAX_BATCH_S`)."""

MAX_GROWTH = 4
"""Of a batch from one to the next: the first calls may be quicker than those that follow."""

FLUSH_S = 0.25
FLUSH_CELLS = 5_000
"""After which results are written. A killed process loses what it had not written yet."""

LOOK_S = 0.5
"""Between looks whether the run was canceled."""

OTHERS_S = 0.1
"""Between looks whether other processes, which have all rows that are left, are done."""


class Driver:
    """Claims rows, has threads call what they need, and writes what comes of it.

    It works while it is asked to (`ask`), in a thread of its own. Then it lets the calls that were
    begun end, gives its leases back, and rests.

    Attributes:
        rested: Set while it does not work.
        problem: Why it had to stop. The run can go on later, or elsewhere: another process may
            have the code that this one lacks.
    """

    def __init__(self, place: Place, run_id: str) -> None:
        self._place, self._run_id = place, run_id
        self._lock = threading.Lock()
        self._asked_until_s = 0.0
        self._thread: threading.Thread | None = None
        self.rested = threading.Event()
        self.rested.set()
        self.problem: Exception | None = None

    def ask(self, seconds: float) -> None:
        """Ask it to work for so long from now."""
        with self._lock:
            self._asked_until_s = max(self._asked_until_s, time.monotonic() + seconds)
            if self._thread is None or not self._thread.is_alive() or self.rested.is_set():
                self.problem = None
                self.rested.clear()
                self._thread = threading.Thread(target=self._work, name="chalk-run", daemon=True)
                self._thread.start()

    def dismiss(self) -> None:
        """Ask it to rest as soon as the calls that were begun have ended."""
        with self._lock:
            self._asked_until_s = 0.0

    @property
    def is_asked(self) -> bool:
        """Whether somebody still wants the run to go on."""
        return time.monotonic() < self._asked_until_s

    def _work(self) -> None:
        try:
            self._advance()
        except Exception as error:  # noqa: BLE001 - ours: whoever waits must hear of it
            self.problem = error
        finally:
            self.rested.set()

    def _advance(self) -> None:
        store, owner = self._place.store, self._place.owner_id
        run = store.get_run(self._run_id)
        if run.status.is_terminal:
            return
        definition = store.get_definition(run.evaluation_id)
        source = source_of(store, run, definition)
        columns = store.datasets.get_revision(definition.dataset).names
        work = prepare_work(definition, run, RunPlan.from_json(run.plan), columns)
        rows = RowQueue(self._place, run, source, work)
        session = _Session(self, rows, work, int(run.options.get("concurrency", 1)))
        executor = DaemonPool(session.concurrency)
        try:
            try:
                while self.is_asked and session.call_rows(executor):
                    flush_recordings()  # before the end, after which a script may end too
                    if self._place.ends.begin_finalizing(run.id, owner):
                        finalize(self._place, run, definition, source)
                        return
                    time.sleep(OTHERS_S)
            finally:
                session.stop()
                executor.shutdown(wait=False)
                rows.give_back()
        except Exception as error:
            try:
                flush_recordings()
            except MachineError as another:  # what came first is what has to be repaired
                error.add_note(str(another))
            raise
        flush_recordings()


class _Session:
    """One stretch of work on a run, in the driver's thread."""

    def __init__(self, driver: Driver, rows: RowQueue, work: Work, concurrency: int) -> None:
        self._driver, self._rows, self._work = driver, rows, work
        self.concurrency = max(1, concurrency)
        self._stop = threading.Event()
        self._batch_rows = 1
        self._begun: dict[Future[Done], list[Stretch]] = {}

    def stop(self) -> None:
        """Have batches that are begun, or wait, begin no further row."""
        self._stop.set()

    def call_rows(self, executor: Executor) -> bool:
        """Call rows until none is left or nobody asks; False if the run has ended meanwhile."""
        rows = self._rows
        looked_s = renewed_s = time.monotonic()
        while True:
            if self._driver.is_asked:
                self._submit(executor)
            if not self._begun:
                rows.flush()
                return not rows.has_ended()
            ended, _ = wait(self._begun, timeout=FLUSH_S, return_when=FIRST_COMPLETED)
            for future in ended:
                self._take(future)
            now_s = time.monotonic()
            rows.flush_if_due(now_s, FLUSH_S, FLUSH_CELLS)
            if now_s - looked_s > LOOK_S:
                looked_s = now_s
                if rows.has_ended():
                    self.stop()
                    return False
            if now_s - renewed_s > LEASE_S / 3:
                renewed_s = now_s
                rows.renew()

    def _submit(self, executor: Executor) -> None:
        """Keep every thread busy, and one batch more for each waiting."""
        while len(self._begun) < 2 * self.concurrency:
            taken = self._rows.take(self._batch_rows, self._batch_rows * self.concurrency)
            if not taken:
                return
            future = executor.submit(run_rows, self._work, taken, self._stop)
            self._begun[future] = taken

    def _take(self, future: Future[Done]) -> None:
        stretches = self._begun.pop(future)
        cells, spent_s, left = future.result()
        self._rows.put(stretches, cells, left)
        n_rows = sum(map(len, stretches)) - sum(map(len, left))
        if spent_s < BATCH_S / 2:
            grown = int(n_rows * min(MAX_GROWTH, BATCH_S / max(spent_s, 1e-6)))
            self._batch_rows = min(MAX_BATCH_ROWS, max(self._batch_rows, grown))
        elif spent_s > 2 * BATCH_S:
            self._batch_rows = max(1, n_rows // 2)


_LOCK = threading.Lock()
_DRIVERS: dict[tuple[str, str], Driver] = {}


def driver_of(place: Place, run_id: str) -> Driver:
    """Return this process's driver of a run: one, however many read the run."""
    key = (str(place.store.base), run_id)
    with _LOCK:
        if key not in _DRIVERS:
            _DRIVERS[key] = Driver(place, run_id)
        return _DRIVERS[key]


def forget_driver(place: Place, run_id: str) -> None:
    """Drop the driver of a run that has ended."""
    with _LOCK:
        _DRIVERS.pop((str(place.store.base), run_id), None)

"""Threads that never hold up the end of a process.

Python joins the threads of `ThreadPoolExecutor` at exit: one task that hangs would keep a script
alive for ever after its `wait()` has timed out.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

_Work = tuple["Future[Any]", "Callable[[], Any]"]


class DaemonPool(Executor):
    """A pool of daemon threads, started as work comes in."""

    def __init__(self, max_workers: int) -> None:
        self._max_workers = max_workers
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._pending = 0

    @override
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call."""
        future: Future[T] = Future()
        with self._lock:
            self._pending += 1
            if self._pending > len(self._threads) and len(self._threads) < self._max_workers:
                self._start()
        self._work.put((future, lambda: fn(*args, **kwargs)))
        return future

    @override
    def shutdown(self, wait: bool = True, **_ignored: bool) -> None:
        """Let the threads end once the queue is empty; nobody waits, and nothing is canceled."""
        for _ in self._threads:
            self._work.put(None)

    def _start(self) -> None:
        name = f"chalk-row-{len(self._threads)}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            future, call = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # noqa: BLE001 - belongs to whoever waits
                    future.set_exception(error)
            with self._lock:
                self._pending -= 1

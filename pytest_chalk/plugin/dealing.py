"""Under xdist the longest tasks are dealt out first, as far as earlier sessions tell."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.deal_order import Dealing, dealt_out, start_order
from pytest_chalk.plugin.items import TaskItem, epoch_of
from pytest_chalk.plugin.marker import epochs_of
from pytest_chalk.reports.epochs import group_of
from pytest_chalk.reports.estimate import by_group
from pytest_chalk.store.history import read_history

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from pytest_chalk.plugin.state import ChalkState

DEALING_KEY = "chalk_dealing"
"""In xdist's `workerinput`: mode, bound of chunks, and seconds by group. All workers must have the
same order, whatever journals say by the time they look."""

MAX_HISTORY_BYTES = 16 << 20
"""Of journals that are read before workers start: a fifth of a second. A session of 1,000 runs of
three steps has 6 MB."""


class DealingController:
    """Tells workers what tasks took, and keeps the scheduler `load` from dealing out many at once.

    `is_task_nodeid` is for a controller, which has no items.
    """

    def __init__(self, state: ChalkState, is_task_nodeid: Callable[[str], bool]) -> None:
        self._state, self._is_task_nodeid = state, is_task_nodeid
        self._seconds: Mapping[str, float] | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist exports no type
        """Tell a worker."""
        if self._seconds is None:
            self._seconds = _seconds_by_group(self._state)
        if self._seconds:
            option = self._state.config.option
            max_chunk = getattr(option, "maxschedchunk", None)
            node.workerinput[DEALING_KEY] = (option.dist, max_chunk, dict(self._seconds))

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Let one item at a time be dealt out, where there are tasks and nobody said otherwise."""
        session: Any = self._state.config.pluginmanager.get_plugin("dsession")
        scheduler: Any = getattr(session, "sched", None)
        if getattr(scheduler, "maxschedchunk", 0) is None and any(map(self._is_task_nodeid, ids)):
            scheduler.maxschedchunk = 1


class LongestFirst:
    """Puts the tasks of a worker's collection into that order, the longest first.

    Where a conftest or another plugin has put tasks into an order of its own, that one stands.
    """

    def __init__(self, state: ChalkState) -> None:
        self._state = state

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Change the order after everybody else."""
        given = getattr(config, "workerinput", {}).get(DEALING_KEY)
        before = [(item, item.nodeid) for item in items if isinstance(item, TaskItem)]
        yield
        tasks = [item for item in items if isinstance(item, TaskItem)]
        if given is None or not tasks or tasks != self._expected(before, set(tasks)):
            return
        mode, max_chunk, seconds = given
        workers = int(getattr(config, "workerinput", {})["workercount"])
        order = start_order(Dealing(mode, workers, max_chunk or 1), len(items))
        if order is None:
            return
        nodeids = {id(item): nodeid for item, nodeid in before}  # xdist adds to some of them
        if any(map(self._class_of, tasks)):
            order = list(range(len(items)))  # no second run of a task behind a first one
        tasks.sort(key=lambda item: self._key(item, nodeids[id(item)], seconds))
        items[:] = dealt_out(items, tasks, order, lambda item: isinstance(item, TaskItem))

    def _expected(
        self, before: Sequence[tuple[TaskItem, str]], left: set[TaskItem]
    ) -> list[TaskItem]:
        """Return the tasks that are left as they stand if only we have ordered them."""
        kept = [item for item, _ in before if item in left]
        return sorted(kept, key=self._class_of) if any(map(self._class_of, kept)) else kept

    def _class_of(self, item: TaskItem) -> int:
        """Return the epoch where all first runs come before any second one, else 0."""
        is_auto = epochs_of(item.task_class, self._state.settings).auto
        return epoch_of(item) if is_auto else 0

    def _key(self, item: TaskItem, nodeid: str, seconds: Mapping[str, float]) -> tuple[int, float]:
        # What was never measured may be the longest of all: let it begin early.
        took_s = seconds.get(group_of(nodeid, epoch_of(item)), math.inf)
        return self._class_of(item), -took_s


def _seconds_by_group(state: ChalkState) -> dict[str, float]:
    base = state.settings.session_base
    past = by_group(read_history(base, max_bytes=MAX_HISTORY_BYTES))
    return {group: fmean(run.duration_s for run in runs) for group, runs in past.items()}

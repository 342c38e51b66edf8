"""`--chalk-epochs=auto:N`: an item is not run once the runs before it have decided."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.plugin.items import TaskItem, epoch_of
from pytest_chalk.plugin.marker import bars_of, epochs_of
from pytest_chalk.plugin.state import STATE
from pytest_chalk.reports.epochs import Bars, decide, group_of
from pytest_chalk.schemas.record import RunRecord
from pytest_chalk.store.journal import JournalTail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chalk.plugin.state import ChalkState


class AutoEpochs:
    """Reads in the journal what the controller has written: the same in every worker.

    A worker may see a verdict late and run once more than needed; that run counts like any other.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._state: ChalkState = config.stash[STATE]
        self._tail = JournalTail(self._state.directory.journal)
        self._lines: dict[str, list[dict[str, Any]]] = defaultdict(list)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Let the first run of every task come before the second of any."""
        if any(isinstance(item, TaskItem) and self._is_auto(item) for item in items):
            items.sort(key=epoch_of)  # keeps the order within an epoch

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip an item whose task is decided."""
        if not isinstance(item, TaskItem) or epoch_of(item) == 1 or not self._is_auto(item):
            return
        bars = bars_of(item.task_class, self._state.settings) or Bars()
        runs = list(self._runs_of(group_of(item.nodeid, epoch_of(item))))
        decision = decide(bars, runs)
        if decision is not None:
            count = sum(run.is_scored for run in runs)
            pytest.skip(f"not needed: {decision} after {count} run{'s' if count != 1 else ''}")

    def _is_auto(self, item: TaskItem) -> bool:
        return epochs_of(item.task_class, self._state.settings).auto

    def _runs_of(self, group: str) -> Iterator[RunRecord]:
        """Yield the latest record of every item of a group that the journal has by now."""
        for line in self._tail.new_lines("run"):
            record = json.loads(line)["record"]
            self._lines[group_of(record["nodeid"], record["epoch"])].append(record)
        latest = {record["nodeid"]: record for record in self._lines[group]}
        yield from map(RunRecord.model_validate, latest.values())

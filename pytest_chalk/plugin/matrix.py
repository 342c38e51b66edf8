"""Model by epoch: which students run a task, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.fixture_values import is_ours
from pytest_chalk.plugin.items import IS_RUNNER, TaskItem, deselect
from pytest_chalk.plugin.marker import epochs_of
from pytest_chalk.plugin.state import STATE

if TYPE_CHECKING:
    from pytest_chalk.plugin.state import ChalkState


class Matrix:
    """Parametrizes task items, and selects by the run config's task id."""

    def __init__(self, config: pytest.Config) -> None:
        self._state: ChalkState = config.stash[STATE]

    @pytest.hookimpl
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give a task item its models and epochs.

        Where a conftest brings its own `chalk_model`, that one is the student and the only one.
        """
        if not hasattr(metafunc.function, IS_RUNNER):
            return
        settings = self._state.settings
        if is_ours("chalk_model", metafunc.definition):
            metafunc.parametrize("chalk_model", settings.models, indirect=True, ids=settings.models)
        most = epochs_of(getattr(metafunc.function, IS_RUNNER), settings).most
        if most > 1:
            epochs = range(1, most + 1)
            metafunc.parametrize(
                "chalk_epoch", epochs, indirect=True, ids=[f"e{epoch}" for epoch in epochs]
            )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect every task but the one that the run config names."""
        wanted = self._state.settings.only_task_id
        if not wanted:
            return
        tasks = [item for item in items if isinstance(item, TaskItem)]
        known = sorted({item.task_class.id for item in tasks})
        if wanted not in known:
            error = RunOptionError(
                "--chalk-config",
                f"task_id is {wanted!r}",
                fix=f"Use one of: {', '.join(known) or '(no task is selected)'}",
            )
            raise pytest.UsageError(str(error))
        deselect(config, items, [item for item in tasks if item.task_class.id != wanted])

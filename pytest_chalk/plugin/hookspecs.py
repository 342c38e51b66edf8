"""Hooks that a conftest or another plugin may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.schemas.hardware import Hardware
    from pytest_chalk.schemas.record import RunRecord, StepRecord
    from pytest_chalk.schemas.run_config import RunConfig


@pytest.hookspec(firstresult=True)
def pytest_chalk_make_model(config: pytest.Config, name: str) -> Model | None:
    """Return the model for a name given with `--chalk-model`, or None to let others try.

    Called in the controller (to refuse unknown names before anything runs) and in every worker.
    """


@pytest.hookspec(firstresult=True)
def pytest_chalk_make_run_config(item: pytest.Item, run_config: RunConfig) -> RunConfig | None:
    """Return the config of one run in place of `run_config`, or None to leave it."""


@pytest.hookspec(firstresult=True)
def pytest_chalk_resolve_hardware(
    item: pytest.Item, config: pytest.Config, hardware: str, name: str
) -> Hardware | str | None:
    """Return what this machine offers as the hardware a task requires, or None if it does not.

    `hardware` and `name` are both the name. A text instead of a `Hardware` changes nothing. Where
    nothing resolves it, the task's run is an error and nothing is measured.
    """


def pytest_chalk_step_scored(item: pytest.Item, step: StepRecord) -> None:
    """A step has its record; called in the process that ran it."""


def pytest_chalk_run_finished(item: pytest.Item, run: RunRecord) -> None:
    """A run has its record; called in the process that ran it."""

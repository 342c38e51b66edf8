"""Which recording belongs to a run, and the model that plays or makes it."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.models.cassette import Cassette, secrets_of
from pytest_chalk.store.session_directory import file_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.plugin.items import TaskItem
    from pytest_chalk.plugin.settings import SessionSettings
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.record import RunSpec

DIRECTORY = "cassettes"
"""Beside the task, where no other directory is given."""


def wrap_by(
    settings: SessionSettings, item: TaskItem, spec: RunSpec, box: Box
) -> Callable[[Model], Model]:
    """Return what puts a recording before the model of a run; nothing where none is wanted."""

    def wrap(model: Model) -> Model:
        if settings.cassette == "off":
            return model
        cassette = Cassette(
            path=_path(settings, item, spec),
            mode=settings.cassette,
            paths={str(box.paths.workdir): "{WORKDIR}"},
            secrets=secrets_of(os.environ),
        )
        return cassette.wrap(model)

    return wrap


def replays(settings: SessionSettings, item: TaskItem, spec: RunSpec) -> bool:
    """Tell whether a run's model is played from a recording: nobody is asked, nothing is paid."""
    if settings.cassette == "auto":
        return _path(settings, item, spec).exists()
    return settings.cassette == "replay"


def _path(settings: SessionSettings, item: TaskItem, spec: RunSpec) -> Path:
    """Return the file: one per task, model and epoch."""
    beside = Path(inspect.getfile(item.task_class)).parent / DIRECTORY
    name = f"{spec.config.task_id}-{spec.config.model}-e{spec.epoch}"
    return (settings.cassette_dir or beside) / f"{file_name(name)}.json"

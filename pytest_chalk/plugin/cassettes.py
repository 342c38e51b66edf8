"""Which recording belongs to a run, and the models that play or make it."""

from __future__ import annotations

import inspect
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_chalk.models.cassette import Cassette
from pytest_chalk.schemas.secret_text import secrets_of
from pytest_chalk.store.session_directory import file_name

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.models.cassette import CassetteMode
    from pytest_chalk.plugin.settings import SessionSettings
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.record import RunSpec

DIRECTORY = "cassettes"
"""Beside the task, where no other directory is given."""


class Recordings:
    """The recording of one run, of its own model and of the models that its judges ask.

    One file per task, model and epoch. None is read or written before a model is asked.
    """

    def __init__(
        self, settings: SessionSettings, task_class: type[Task], spec: RunSpec, box: Box
    ) -> None:
        self._settings, self._task_class = settings, task_class
        self._spec, self._box = spec, box

    @property
    def replays(self) -> bool:
        """Whether models are played: nobody is asked, nothing is paid."""
        if self._settings.cassette == "auto":
            return self._path(self._spec.epoch).exists()
        return self._settings.cassette == "replay"

    @property
    def records(self) -> bool:
        """Whether what models say is recorded."""
        return self._settings.cassette != "off" and not self.replays

    @cached_property
    def judges_file(self) -> Path | None:
        """The file that judges can be played from, if there is one.

        Other epochs of a scripted student are graded by the first one's.
        """
        paths = (self._path(epoch) for epoch in dict.fromkeys((self._spec.epoch, 1)))
        return next((path for path in paths if path.is_file()), None)

    def wrap(self, model: Model, border: str) -> Model:
        """Return what plays or records a model, by the option.

        Raises:
            CassetteMissError: There is no recording to play.
        """
        return self._chosen.wrap(model, border)

    def play_judge(self, model: Model, border: str) -> Model:
        """Return what plays a judge's conversation, whatever the option says.

        Raises:
            CassetteMissError: There is no recording to play.
        """
        return self._judges.wrap(model, border)

    @cached_property
    def _chosen(self) -> Cassette:
        # One for all borders, for each would write the whole file.
        mode = cast("CassetteMode", self._settings.cassette)
        return self._cassette(self._path(self._spec.epoch), mode)

    @cached_property
    def _judges(self) -> Cassette:
        return self._cassette(self.judges_file or self._path(self._spec.epoch), "replay")

    def _cassette(self, path: Path, mode: CassetteMode) -> Cassette:
        return Cassette(
            path=path,
            mode=mode,
            paths={str(self._box.paths.workdir): "{WORKDIR}"},
            secrets=secrets_of(os.environ),
        )

    def _path(self, epoch: int) -> Path:
        beside = Path(inspect.getfile(self._task_class)).parent / DIRECTORY
        config = self._spec.config
        name = f"{config.task_id}-{config.model}-e{epoch}"
        return (self._settings.cassette_dir or beside) / f"{file_name(name)}.json"

"""The session whose work is judged again, found before anything is collected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.store.session_directory import find_session
from pytest_chalk.store.session_log import SessionLog, read_session

if TYPE_CHECKING:
    import pytest

    from pytest_chalk.authoring.ports import ModelReply, ModelRequest
    from pytest_chalk.plugin.result_settings import ResultSettings
    from pytest_chalk.store.session_directory import SessionDirectory

REJUDGED_KEY = "chalk_rejudged"
"""In xdist's `workerinput`: the id of the session that is judged again."""


@dataclass(frozen=True)
class Rejudged:
    """That session.

    Attributes:
        everything: Whether judges are asked again that have not changed.
    """

    log: SessionLog
    everything: bool

    @property
    def models(self) -> tuple[str, ...]:
        """The students of its runs."""
        return tuple(dict.fromkeys(run.model for run in self.log.runs)) or self.log.models

    @property
    def epochs(self) -> int:
        """The highest number of runs of a task."""
        return max((run.epoch for run in self.log.runs), default=1)


def find_rejudged(
    config: pytest.Config, settings: ResultSettings, directory: SessionDirectory
) -> Rejudged | None:
    """Return the session that is to be judged again, if one is.

    Raises:
        RunOptionError: There is none.
        MachineError: Its journal cannot be read.
    """
    if not settings.rejudge:
        return None
    chosen = getattr(config, "workerinput", {}).get(REJUDGED_KEY) or settings.session_id
    found = find_session(directory.base, chosen)
    return Rejudged(read_session(found.journal), everything=settings.rejudge == "all")


class AbsentStudent:
    """Stands for a student whose work is judged again: it is not asked."""

    trusted = True

    def __init__(self, name: str) -> None:
        self.name = name

    def reply(self, request: ModelRequest) -> ModelReply:
        """Raise, for nobody works."""
        raise NotImplementedError(request)

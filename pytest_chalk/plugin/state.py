"""What the plugin knows about one pytest session, in one place of the config's stash."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.project import LOOKING, SESSION_KEY
from pytest_chalk.plugin.rejudged import AbsentStudent
from pytest_chalk.runner.students import BUILT_IN, check_student, is_model
from pytest_chalk.store.running_file import RunningFile, Unwatched
from pytest_chalk.store.session_directory import SessionDirectory, new_session_id

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.discovery.classes import TaskRegistry
    from pytest_chalk.discovery.settings import DiscoverySettings
    from pytest_chalk.plugin.budget import SessionPurse
    from pytest_chalk.plugin.rejudged import Rejudged
    from pytest_chalk.plugin.resumed import Resumed
    from pytest_chalk.plugin.settings import SessionSettings
    from pytest_chalk.runner.students import Student


@dataclass
class ChalkState:
    """One session: what was asked, where tasks are, where results go."""

    config: pytest.Config
    settings: SessionSettings
    discovery: DiscoverySettings
    registry: TaskRegistry
    directory: SessionDirectory
    purse: SessionPurse
    running: RunningFile | Unwatched = field(default_factory=Unwatched)
    resumed: Resumed | None = None
    rejudged: Rejudged | None = None
    students: dict[str, Student] = field(default_factory=dict)
    judges: dict[str, Model] = field(default_factory=dict)

    def student(self, name: str) -> Student:
        """Return the student of that name, made once per process.

        Raises:
            RunOptionError: Nobody makes it; says which names are accepted.
        """
        if name not in self.students:
            where = _Naming(self.settings.models_source, "--chalk-model", self.settings.allow_paid)
            if self.rejudged is not None:
                made: object = AbsentStudent(name)
            else:
                made = name if name in BUILT_IN else self._make_model(name, where)
            self.students[name] = check_student(made)
        return self.students[name]

    def judge(self, name: str, named_in: str = "RubricJudge(model=...)") -> Model:
        """Return the model of that name for a judge to ask, made once per process.

        Args:
            name: Of the model.
            named_in: Where code named it, if the session did not.

        Raises:
            RunOptionError: Nobody makes it, or it costs money and was named in code.
        """
        if name not in self.judges:
            choice = self.settings.judge
            chosen = name == choice.name
            allowed = self.settings.allow_paid_everywhere or (chosen and choice.is_typed)
            source = choice.source if chosen else named_in
            where = _Naming(source, "--chalk-judge-model", allowed)
            made = self._make_model(name, where)
            if not is_model(made):
                raise RunOptionError(
                    source, f"{name!r} is {made!r:.100}, which is no model", fix="Name another"
                )
            self.judges[name] = made
        return self.judges[name]

    def _make_model(self, name: str, where: _Naming) -> object:
        made = self.config.hook.pytest_chalk_make_model(config=self.config, name=name)
        return self._make_provider_model(name, where) if made is None else made

    def _make_provider_model(self, name: str, where: _Naming) -> Model:
        from pytest_chalk.models.registry import accepted_names, is_paid, make_model

        for_judge = where.option == "--chalk-judge-model"
        settings = self.settings.settings_of(name, for_judge=for_judge)
        model = make_model(name, settings)
        if model is None:
            own = () if for_judge else BUILT_IN
            raise RunOptionError(
                where.source,
                f"{name!r} is unknown",
                fix=f"Use {' or '.join((*own, *accepted_names()))}, or a name for "
                "which a conftest or plugin implements the hook pytest_chalk_make_model",
            )
        asks = self.settings.cassette != "replay"
        if asks and is_paid(name, settings) and not where.allows_paid:
            raise RunOptionError(
                where.source,
                f"{name!r} costs money and is not named on the command line",
                fix=f"Give {where.option}, or set chalk_allow_paid = true in the ini file",
            )
        if asks and not only_looks(self.config):
            model.check_access()
        return model


class _Naming(NamedTuple):
    """Where a model was named, by which option it could be, and whether it may cost money."""

    source: str
    option: str
    allows_paid: bool


STATE = pytest.StashKey[ChalkState]()


def session_directory(config: pytest.Config, settings: SessionSettings) -> SessionDirectory:
    """Return the session's directory; workers get the id from their controller."""
    from_controller = getattr(config, "workerinput", {}).get(SESSION_KEY)
    return SessionDirectory(settings.session_base, from_controller or new_session_id())


def only_looks(config: pytest.Config) -> bool:
    """Tell whether pytest runs nothing: such a process takes no slot and writes nothing."""
    return any(config.getoption(option, default=False) for option in LOOKING)


def is_worker(config: pytest.Config) -> bool:
    """Tell whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def is_distributing(config: pytest.Config) -> bool:
    """Tell whether this process hands its tests to workers."""
    return not is_worker(config) and config.pluginmanager.has_plugin("dsession")

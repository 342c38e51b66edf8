"""The project under test: where its tasks are. Loaded in every pytest run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_chalk.plugin.options import SPECS

if TYPE_CHECKING:
    from pytest_chalk.discovery.settings import DiscoverySettings

LOOKING = ("collectonly", "showfixtures", "show_fixtures_per_test")
"""Options of pytest that collect and run nothing."""

SESSION_KEY = "chalk_session"
"""In xdist's `workerinput`: the session id that the controller chose."""

_SETTINGS = pytest.StashKey["DiscoverySettings"]()
_SHARED_ID = pytest.StashKey[str]()


def discovery_settings(config: pytest.Config) -> DiscoverySettings:
    """Return where the project's tasks are, as it was said when pytest began."""
    known = config.stash.get(_SETTINGS, None)
    if known is None:
        known = config.stash[_SETTINGS] = _read_settings(config)
    return known


def _read_settings(config: pytest.Config) -> DiscoverySettings:
    from pytest_chalk.discovery.settings import make_settings
    from pytest_chalk.errors import RunOptionError

    ini = {spec.ini: config.getini(spec.ini) for spec in SPECS if spec.ini_only}
    try:
        return make_settings(config.rootpath, ini, os.environ)
    except RunOptionError as error:
        raise pytest.UsageError(str(error)) from None


def shared_session_id(config: pytest.Config) -> str:
    """Return an id for workers whose controller has no session of its own: the same each time."""
    if _SHARED_ID not in config.stash:
        from pytest_chalk.store.session_directory import new_session_id

        config.stash[_SHARED_ID] = new_session_id()
    return config.stash[_SHARED_ID]


def has_tasks(settings: DiscoverySettings) -> bool:
    """Tell whether the project has a task package; cheap, for every run asks.

    Raises:
        pytest.UsageError: It names a tasks directory that does not exist.
    """
    from pytest_chalk.discovery.packages import has_task_packages
    from pytest_chalk.errors import RunOptionError

    try:
        return has_task_packages(settings)
    except RunOptionError as error:
        raise pytest.UsageError(str(error)) from None


def will_run_tasks(early_config: pytest.Config) -> bool:
    """Tell, before the first conftest is loaded, whether this process will run task items.

    A process that only looks does not, nor does a controller that hands its tests to workers.
    """
    options = early_config.known_args_namespace
    looks = any(getattr(options, name, False) for name in LOOKING)
    distributes = getattr(options, "numprocesses", None) or getattr(options, "tx", None)
    return not looks and not (distributes and "PYTEST_XDIST_WORKER" not in os.environ)

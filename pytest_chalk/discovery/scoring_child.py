"""Importing this prepares a process that started with none of our code, a scoring script's.

The alias packages import it: their first import is the only moment at which we are called there.
In a process that pytest or the command line prepared it does nothing more.
"""

from __future__ import annotations

import os
import typing
from pathlib import Path

from pytest_chalk.cheap_override import override

TASKS_DIR_VARIABLE = "CHALK_TASKS_DIR"
"""Tells a scoring script's process where the task packages are."""

PREFIX_VARIABLE = "CHALK_TASKS_PREFIX"
"""Tells it their canonical prefix, so that it names their classes as its parent does."""

ROOT_VARIABLE = "CHALK_ROOT"
"""Tells it the project's root."""


def add_typing_override() -> None:
    """Add `typing.override` on Python 3.11, which lacks it; seed code imports it from there.

    The only standard-library name this package touches.
    """
    if not hasattr(typing, "override"):
        setattr(typing, "override", override)  # noqa: B010 - mypy knows no such name on 3.11


def _prepare() -> None:
    add_typing_override()
    tasks_dir, prefix = os.environ.get(TASKS_DIR_VARIABLE), os.environ.get(PREFIX_VARIABLE)
    if not tasks_dir or not prefix:
        return
    from pytest_chalk.discovery import module_names  # noqa: PLC0415 - only in a scoring child
    from pytest_chalk.discovery.settings import DiscoverySettings  # noqa: PLC0415 - as above

    if module_names.installed_finder() is None:
        root = Path(os.environ.get(ROOT_VARIABLE) or Path(tasks_dir).parent)
        settings = DiscoverySettings(root, Path(tasks_dir))
        module_names.insert_finder(module_names.TaskFinder(settings, prefix))


_prepare()

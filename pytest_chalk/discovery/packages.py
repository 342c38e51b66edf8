"""Task packages: which directories are some, and importing one as what it is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_chalk.discovery.settings import DiscoverySettings


class TaskPackage(NamedTuple):
    """A directory in the tasks directory, and the one name its module is imported under."""

    name: str
    path: Path
    canonical_name: str


def has_task_packages(settings: DiscoverySettings) -> bool:
    """Tell whether there is at least one; stops at the first. Every pytest run asks this.

    Raises:
        RunOptionError: The project names a tasks directory that does not exist.
    """
    return next(_package_names(settings), None) is not None


def find_task_packages(settings: DiscoverySettings) -> list[TaskPackage]:
    """Return the task packages, sorted by name.

    Raises:
        RunOptionError: The project names a tasks directory that does not exist.
    """
    from pytest_chalk.discovery.module_names import (  # noqa: PLC0415 - not in a run without tasks
        canonical_prefix,
    )

    prefix = canonical_prefix(settings)
    return [
        TaskPackage(name, settings.tasks_dir / name, f"{prefix}.{name}")
        for name in sorted(_package_names(settings))
    ]


def is_task_package(path: Path, settings: DiscoverySettings) -> bool:
    """Tell whether `path`, a directory or its `__init__.py`, is a task package."""
    directory = path.parent if path.name == "__init__.py" else path
    return directory.parent == settings.tasks_dir and _is_package(
        directory.name, str(directory), settings
    )


def _package_names(settings: DiscoverySettings) -> Iterator[str]:
    try:
        entries = os.scandir(settings.tasks_dir)
    except (FileNotFoundError, NotADirectoryError):
        if settings.tasks_dir_is_explicit:
            raise _no_such_directory(settings) from None
        return
    with entries:
        for entry in entries:
            if entry.is_dir() and _is_package(entry.name, entry.path, settings):
                yield entry.name


def _is_package(name: str, directory: str, settings: DiscoverySettings) -> bool:
    if name.startswith(("_", ".")):
        return False
    try:
        with open(f"{directory}/__init__.py", "rb") as text:  # noqa: PTH123 - 1,000 of them, cheaply
            return settings.tasks_dir_is_explicit or b"chalk" in text.read()
    except OSError:
        return False


def _no_such_directory(settings: DiscoverySettings) -> Exception:
    from pytest_chalk.errors import RunOptionError  # noqa: PLC0415 - not in a run without tasks

    return RunOptionError(
        "chalk_tasks",
        f"{str(settings.tasks_dir)!r} is no directory",
        fix="Name the directory that holds the task packages, relative to the project's root",
    )

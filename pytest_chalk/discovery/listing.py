"""Every task of a project and every error in it, without running anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.discovery.classes import (
    TaskDescription,
    TaskRegistry,
    describe_task,
    task_classes,
)
from pytest_chalk.discovery.importing import import_task_package
from pytest_chalk.discovery.packages import find_task_packages
from pytest_chalk.errors import TaskDefinitionError

if TYPE_CHECKING:
    from pytest_chalk.discovery.settings import DiscoverySettings


@dataclass(frozen=True)
class TaskList:
    """The tasks sorted by id, and what is wrong with the others."""

    tasks: tuple[TaskDescription, ...]
    errors: tuple[TaskDefinitionError, ...]


def list_tasks(settings: DiscoverySettings) -> TaskList:
    """Import every task package and describe its tasks; an error costs only what it is about.

    Raises:
        RunOptionError: The project names a tasks directory that does not exist.
        TaskDefinitionError: The project's `environment` package does not say what it selects.
    """
    packages = find_task_packages(settings)
    registry = TaskRegistry(settings)
    _ = registry.selection  # an error in it is one error, not one per package
    tasks: list[TaskDescription] = []
    errors: list[TaskDefinitionError] = []
    for package in packages:
        try:
            module = import_task_package(package)
            classes = task_classes(module, package, registry)
        except TaskDefinitionError as error:
            errors.append(error)
            continue
        for cls in classes:
            try:
                tasks.append(describe_task(cls))
            except TaskDefinitionError as error:
                errors.append(error)
    return TaskList(tuple(sorted(tasks, key=lambda task: task.id)), tuple(errors))

"""Task classes: which a package contributes, and what each says about itself before any run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.task import MAX_ID_LENGTH, Task
from pytest_chalk.discovery.packages import find_task_packages
from pytest_chalk.discovery.selection import Selection, read_selection
from pytest_chalk.errors import ChalkError, TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from pytest_chalk.discovery.packages import TaskPackage
    from pytest_chalk.discovery.settings import DiscoverySettings
    from pytest_chalk.schemas.data_mount import DataMount
    from pytest_chalk.schemas.run_config import RunConfig


class TaskRegistry:
    """What was seen this session: each id's class, and the package it is collected in."""

    def __init__(self, settings: DiscoverySettings) -> None:
        self._settings = settings
        self._seen: dict[str, tuple[type[Task], str]] = {}

    @cached_property
    def selection(self) -> Selection:
        """Which tasks count. Read at first use, for it may import the `environment` package.

        Raises:
            TaskDefinitionError: The `environment` package does not say what it selects.
        """
        return read_selection(self._settings)

    @cached_property
    def packages(self) -> list[TaskPackage]:
        """The task packages, sorted by name. Looked for once: each is a file to read."""
        return find_task_packages(self._settings)

    @cached_property
    def _package_names(self) -> frozenset[str]:
        return frozenset(package.canonical_name for package in self.packages)

    def claims(self, cls: type[Task], package: TaskPackage) -> bool:
        """Enter `cls` as seen in `package`; tell whether it is collected there.

        Raises:
            TaskDefinitionError: Another class with its id was seen before.
        """
        place = self._owner(cls) or package.canonical_name
        known, known_place = self._seen.setdefault(cls.id, (cls, place))
        if known is not cls:
            where = f"task {cls.id!r}"
            raise TaskDefinitionError(
                where,
                f"two classes have this id, {_whereabouts(known)} and {_whereabouts(cls)}",
                fix="Give one of them another id",
            )
        return known_place == package.canonical_name

    def _owner(self, cls: type[Task]) -> str | None:
        """Return the name of the task package that defines `cls`, if its namespace shows it."""
        name = cls.__module__
        while name and name not in self._package_names:
            name = name.rpartition(".")[0]
        shown = vars(sys.modules[name]) if name in sys.modules else {}
        if shown.get(cls.__name__) is cls:
            return name  # the usual case, without a look at all of a large namespace
        return name if any(value is cls for value in shown.values()) else None


def task_classes(
    module: ModuleType, package: TaskPackage, registry: TaskRegistry
) -> list[type[Task]]:
    """Return the tasks that `package` contributes, in the order of its namespace.

    A class without an id is a base of others. One that several packages show is collected where
    it is defined, if that is a task package that shows it, else at the first place seen.

    Raises:
        TaskDefinitionError: An id is no text or too long, or two classes share it; a class with
            an id lacks members.
    """
    shown = dict.fromkeys(value for value in vars(module).values() if _is_task_class(value))
    return [
        cls
        for cls in shown
        if _checked_id(cls)
        and registry.selection.selects(cls)
        and _is_complete(cls)
        and registry.claims(cls, package)
    ]


def _is_task_class(value: object) -> bool:
    # Not issubclass: an ABC answers "no" only after asking every class that it knows.
    return isinstance(value, type) and Task in value.__mro__ and value is not Task


def _checked_id(cls: type[Task]) -> str:
    found: object = cls.id
    if not isinstance(found, str):
        raise TaskDefinitionError(
            _whereabouts(cls),
            f"its id is {found!r}, found on the class",
            fix='Write it as a class attribute, a text such as id = "my-task"',
        )
    if len(found) > MAX_ID_LENGTH:
        raise TaskDefinitionError(
            _whereabouts(cls),
            f"its id has {len(found)} characters, at most {MAX_ID_LENGTH} are possible",
            fix="Give it a shorter id",
        )
    return found


def _is_complete(cls: type[Task]) -> bool:
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise TaskDefinitionError(
            _task(cls),
            f"it does not implement {', '.join(missing)}",
            fix=f"Write each as a property, or leave the id empty if {cls.__qualname__} is only "
            "the base of other tasks",
        )
    return True


def _task(cls: type[Task]) -> str:
    return f"task {cls.id!r} ({_whereabouts(cls)})"


def _whereabouts(cls: type) -> str:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    name = f"{cls.__module__}.{cls.__qualname__}"
    return f"{name} in {file}" if file else name


@dataclass(frozen=True)
class TaskDescription:
    """What a task says about itself under the placeholder run config."""

    id: str
    tools: tuple[str, ...]
    required_hardware: str | None
    submission_paths: tuple[Path, ...]
    data_mounts: tuple[DataMount, ...]
    n_steps: int
    module: str = ""


def describe_task(cls: type[Task]) -> TaskDescription:
    """Build the task with the placeholder run config and read what needs no run.

    Raises:
        TaskDefinitionError: A property raised or gave what it must not; the message names the
            class, the property, and that the placeholder config was used.
    """
    from pytest_chalk.schemas.data_mount import DataMount  # noqa: PLC0415 - loads pydantic

    task: Task = _read(cls, "__init__", lambda: cls(_placeholder_config()))
    n_steps = _read(cls, "steps", lambda: len(list(task.steps)))  # first: submission_paths reads it
    return TaskDescription(
        id=cls.id,
        tools=_read_all(cls, "tools", lambda: task.tools, str),
        required_hardware=_read(cls, "required_hardware", lambda: task.required_hardware),
        submission_paths=_read_all(cls, "submission_paths", lambda: task.submission_paths, Path),
        data_mounts=_read_all(cls, "data_mounts", lambda: task.data_mounts, DataMount),
        n_steps=n_steps,
        module=cls.__module__,
    )


@cache
def _placeholder_config() -> RunConfig:
    """Return the placeholder run config. It is frozen, so that all tasks can share one."""
    from pytest_chalk.schemas.run_config import RunConfig  # noqa: PLC0415 - loads pydantic

    return RunConfig.placeholder()


def _read(cls: type[Task], member: str, read: Callable[[], Any]) -> Any:  # noqa: ANN401 - any member
    try:
        return read()
    except ChalkError:
        raise
    except Exception as error:
        raise TaskDefinitionError(
            _task(cls),
            f"{member} raised {type(error).__name__}: {error}. It was read with the placeholder "
            "run config, whose run_id, task_id and model are empty",
            fix=f"Make {member} work with that config",
        ) from error


def _read_all(cls: type[Task], member: str, read: Callable[[], Any], kind: type) -> tuple[Any, ...]:
    found = _read(cls, member, read)
    if isinstance(found, (list, tuple)) and all(isinstance(value, kind) for value in found):
        return tuple(found)
    raise TaskDefinitionError(
        _task(cls),
        f"{member} is {found!r}",
        fix=f"Make it a list or tuple of {kind.__name__}",
    )

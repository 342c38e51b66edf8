"""Which of the project's tasks count: its own `environment` package, overridden by its ini keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pytest_chalk.authoring.task import Task
from pytest_chalk.discovery.importing import describe_error, import_named, import_task_package
from pytest_chalk.discovery.module_names import own_environment
from pytest_chalk.discovery.packages import find_task_packages
from pytest_chalk.discovery.resolution import is_alias, is_regular, resolve_without
from pytest_chalk.errors import TaskDefinitionError, TaskImportError

if TYPE_CHECKING:
    from types import ModuleType

    from pytest_chalk.discovery.settings import DiscoverySettings

_SAYS = (b"get_tasks", b"INCLUDE_TASKS", b"EXCLUDE_TASKS")


@dataclass(frozen=True)
class Selection:
    """Which tasks count.

    Attributes:
        include: Ids; empty for all.
        exclude: Ids; wins over `include`.
        classes: What the project's `get_tasks()` returned; None if it was not asked.
    """

    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    classes: tuple[type[Task], ...] | None = None

    def selects(self, cls: type[Task]) -> bool:
        """Tell whether a task class counts."""
        if cls.id in self.exclude or (self.include and cls.id not in self.include):
            return False
        return self.classes is None or cls in self.classes


def read_selection(settings: DiscoverySettings) -> Selection:
    """Return what the project selects.

    `chalk_include` stands in for everything the `environment` package says; `chalk_exclude` alone
    stands in for `EXCLUDE_TASKS` and is taken from what `get_tasks()` or `INCLUDE_TASKS` leave.
    The package is imported only if its text says one of the three.

    Raises:
        TaskImportError: The `environment` package cannot be imported.
        TaskDefinitionError: `get_tasks()` raised, returned what is no list of task classes, or a
            class that no task package shows; or a set holds what is no id.
    """
    ini = Selection(settings.include, settings.exclude)
    init = _speaking_environment(settings)
    if ini.include or init is None:
        return ini
    module = import_named("environment", init, settings.aliases)
    if hasattr(module, "get_tasks"):
        classes = _classes_of(module, init)
        _check_shown(classes, settings, init)
        return replace(ini, classes=classes)
    return Selection(
        _ids_of(module, "INCLUDE_TASKS", init),
        ini.exclude or _ids_of(module, "EXCLUDE_TASKS", init),
    )


def _speaking_environment(settings: DiscoverySettings) -> Path | None:
    """Return the file of the project's own `environment` package if it speaks about tasks."""
    if settings.aliases == "first":
        return None
    home = own_environment(settings)
    init = home / "__init__.py" if home is not None else _importable_environment(settings)
    if init is None or not any(word in init.read_bytes() for word in _SAYS):
        return None
    return init


def _importable_environment(settings: DiscoverySettings) -> Path | None:
    spec = resolve_without("environment", ())
    if spec is None or not is_regular(spec) or spec.origin is None or is_alias(spec.origin):
        return None
    init = Path(spec.origin)
    return init if init.is_relative_to(settings.root) and init.name == "__init__.py" else None


def _classes_of(module: ModuleType, init: Path) -> tuple[type[Task], ...]:
    where = f"{init}: get_tasks()"
    try:
        returned = list(module.get_tasks())
    except (Exception, SystemExit) as error:
        raise TaskDefinitionError(
            where, f"raised{describe_error(error)}", fix="Mend get_tasks()"
        ) from error
    for cls in returned:
        if not (isinstance(cls, type) and issubclass(cls, Task)):
            raise TaskDefinitionError(
                where, f"returned {cls!r}, which is no Task class", fix="Return a list of classes"
            )
    return tuple(cast("list[type[Task]]", returned))


def _ids_of(module: ModuleType, name: str, init: Path) -> frozenset[str]:
    found = getattr(module, name, ())
    if isinstance(found, str) or not all(isinstance(task_id, str) for task_id in found):
        where = f"{init}: {name}"
        raise TaskDefinitionError(where, f"holds {found!r}", fix="Make it a set of task ids")
    return frozenset(found)


def _check_shown(classes: tuple[type[Task], ...], settings: DiscoverySettings, init: Path) -> None:
    """Raise if a class would be lost because no package has it in its namespace."""
    where = f"{init}: get_tasks()"
    shown: set[object] = set()
    for package in find_task_packages(settings):
        if shown.issuperset(classes):
            return
        try:
            module = import_task_package(package)
        except TaskImportError:
            continue  # reported where the package is collected
        shown.update(value for value in vars(module).values() if isinstance(value, type))
    for cls in classes:
        if cls not in shown:
            raise TaskDefinitionError(
                where,
                f"returned {cls.__module__}.{cls.__qualname__}, which no task package shows",
                fix=f"Import it in the __init__.py of a package in {settings.tasks_dir}",
            )

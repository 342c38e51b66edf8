"""Collection: task packages become directories of the tree, their tasks become items."""

from __future__ import annotations

import os
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from pytest_chalk.discovery.classes import describe_task, task_classes
from pytest_chalk.discovery.importing import import_task_package
from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.plugin.fixture_values import filled_in, fixture_names
from pytest_chalk.plugin.items import IS_RUNNER, TaskItem, make_runner
from pytest_chalk.plugin.marker import epochs_of, read_mark
from pytest_chalk.plugin.rejudging import rejudge_item
from pytest_chalk.plugin.running import run_item
from pytest_chalk.plugin.state import STATE, only_looks
from pytest_chalk.plugin.validating import validate_item
from pytest_chalk.sandbox import acquire_slot
from pytest_chalk.tools.registry import check_tool_names
from pytest_chalk.tools.tool_file import tool_directories

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import ModuleType

    import pluggy

    from pytest_chalk.authoring.task import Task
    from pytest_chalk.discovery.packages import TaskPackage
    from pytest_chalk.plugin.items import RunItem

_NEVER_TESTS = frozenset({"__init__.py", "__pycache__"})

_SET_UP_AND_DOWN = (
    *("setup_module", "setUpModule", "teardown_module", "tearDownModule"),
    *("setup_function", "teardown_function"),
)
"""Functions of a module that pytest calls around its tests."""

_FIXTURE = type(pytest.fixture(lambda: None))


class TaskPackageDirectory(pytest.Directory):
    """A task package: its tasks first, then whatever pytest finds beside them.

    Not a `pytest.Package`: that one would import `__init__.py` a second time, under another name.
    """

    package: TaskPackage

    @classmethod
    def for_package(cls, parent: pytest.Collector, package: TaskPackage) -> TaskPackageDirectory:
        """Return the node for a task package."""
        node: TaskPackageDirectory = cls.from_parent(parent, path=package.path)
        node.package = package
        return node

    @override
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Yield the module with the tasks, then other files and directories."""
        yield TaskModule.for_package(self, self.package)
        with os.scandir(self.path) as entries:
            beside = sorted((entry.name, entry.is_dir()) for entry in entries)
        for name, is_dir in beside:
            if name not in _NEVER_TESTS:
                yield from self._collect_beside(self.path / name, is_dir=is_dir)

    def _collect_beside(self, path: Path, *, is_dir: bool) -> Iterable[pytest.Collector]:
        given = self.session.isinitpath(path, with_parents=is_dir)
        if not given and self.ihook.pytest_ignore_collect(collection_path=path, config=self.config):
            return ()
        if not is_dir:
            found: Iterable[pytest.Collector] = self.ihook.pytest_collect_file(
                file_path=path, parent=self
            )
            return found
        directory = self.ihook.pytest_collect_directory(path=path, parent=self)
        return () if directory is None else (directory,)


class TaskModule(pytest.Module):
    """The `__init__.py` of a task package, imported under its one canonical name."""

    package: TaskPackage
    task_names: dict[str, type[Task]]

    @classmethod
    def for_package(cls, parent: pytest.Collector, package: TaskPackage) -> TaskModule:
        """Return the node for a package's `__init__.py`."""
        node: TaskModule = cls.from_parent(parent, path=package.path / "__init__.py")
        node.package = package
        node.task_names = {}
        return node

    @property
    @override
    def ihook(self) -> pluggy.HookRelay:
        """The hooks of the conftests above: without a directory node, none is inside."""
        return super().ihook if self.parent is None else self.parent.ihook

    @override
    def _getobj(self) -> ModuleType:
        if not only_looks(self.config):
            acquire_slot()  # task code reads the student's paths while it is imported
        try:
            return import_task_package(self.package)
        except TaskDefinitionError as error:
            raise self.CollectError(str(error)) from None

    @override
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Yield an item per task, model and epoch.

        Raises:
            CollectError: A task of the package cannot be used; nothing is left out silently.
        """
        state = self.config.stash[STATE]
        try:
            classes = task_classes(self.obj, self.package, state.registry)
            for task_class in classes:
                read_mark(task_class)
                names = describe_task(task_class).tools
                search_dirs = tool_directories(task_class.__module__) if names else ()
                check_tool_names(f"task {task_class.id!r}", names, search_dirs)
        except TaskDefinitionError as error:
            raise self.CollectError(str(error)) from None
        self.task_names = _names_of(classes, self.obj)
        if _concerns_pytest(self.obj) or not self.config.getini("collect_imported_tests"):
            return super().collect()  # comes back for each name: see `Collection`
        return [item for name in self.task_names for item in self.make_items(name)]

    @cached_property
    def _fixture_names(self) -> tuple[str, ...]:
        return fixture_names(self)

    @property
    def _run_item(self) -> RunItem:
        state = self.config.stash[STATE]
        if state.settings.results.validate:
            return validate_item
        return run_item if state.rejudged is None else rejudge_item

    def make_items(self, name: str) -> list[TaskItem]:
        """Return the items of the task of that name; none if no task has it."""
        task_class = self.task_names.get(name)
        if task_class is None:
            return []
        repeats = epochs_of(task_class, self.config.stash[STATE].settings).most > 1
        names = (*self._fixture_names, "chalk_epoch") if repeats else self._fixture_names
        runner = make_runner(task_class, name, self._run_item, names)
        # pytest itself makes the functions: fixtures, marks and parametrize work as for any test.
        functions = self.ihook.pytest_pycollect_makeitem(collector=self, name=name, obj=runner)
        return [TaskItem.adopt(function, runner, task_class, filled_in) for function in functions]


def _concerns_pytest(module: ModuleType) -> bool:
    """Tell whether pytest has to look into a module: for fixtures and for set-up functions.

    Most task packages have none, and looking takes pytest as long as importing them.
    """
    names = vars(module)
    return any(name in names for name in _SET_UP_AND_DOWN) or any(
        isinstance(value, _FIXTURE)
        or (isinstance(value, FunctionType) and "__wrapped__" in vars(value))
        for value in names.values()
    )


def _names_of(classes: Iterable[type[Task]], module: ModuleType) -> dict[str, type[Task]]:
    """Return each class under the first name the module has for it."""
    unnamed = {id(cls): cls for cls in classes}
    names: dict[str, type[Task]] = {}
    for name, value in vars(module).items():
        cls = unnamed.pop(id(value), None)
        if cls is not None:
            names[name] = cls
    return names


class Collection:
    """The hooks that collect tasks; registered only where a project has some."""

    def __init__(self, config: pytest.Config) -> None:
        packages = config.stash[STATE].registry.packages
        self._packages = {package.path: package for package in packages}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(
        self, path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Take over the directories that are task packages.

        One that holds nothing but its task, as most do, needs no node of its own, unless the
        command line names it or something in it.
        """
        package = self._packages.get(path)
        if package is None:
            return None
        if parent.session.isinitpath(path, with_parents=True) or not _holds_only_a_module(path):
            return TaskPackageDirectory.for_package(parent, package)
        return TaskModule.for_package(parent, package)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(
        self, collector: pytest.Collector, name: str, obj: object
    ) -> list[Any] | None:
        """Turn task classes into items; nothing else in a task package is a test."""
        if not isinstance(collector, TaskModule) or hasattr(obj, IS_RUNNER):
            return None
        return collector.make_items(name)


def _holds_only_a_module(directory: Path) -> bool:
    return _NEVER_TESTS.issuperset(os.listdir(directory))  # noqa: PTH208 - 1,000 of them, cheaply

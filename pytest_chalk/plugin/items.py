"""A task as a pytest item: a `pytest.Function`, so that whatever works on tests works on tasks."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pytest
from typing_extensions import override

from pytest_chalk.authoring.task import Task
from pytest_chalk.plugin.verdicts import Verdict
from pytest_chalk.runner.hook_parameters import hook_parameters

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import pluggy
    from _pytest._code.code import TerminalRepr

RunItem: TypeAlias = "Callable[[TaskItem, Mapping[str, object]], None]"
"""Runs an item, given the values of the fixtures that its `pre_hook` names."""

IS_RUNNER = "__chalk_runner__"
"""The attribute of a task's test function that holds the task's class."""

_CLASS = re.compile(r"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)


def make_runner(
    task_class: type[Task], name: str, run_item: RunItem, fixtures: Sequence[str]
) -> Callable[..., None]:
    """Return the test function of a task: it takes `fixtures` and those that `pre_hook` names."""
    hook_names = [] if task_class.pre_hook is Task.pre_hook else hook_parameters(task_class)

    def run(request: pytest.FixtureRequest, **values: object) -> None:
        __tracebackhide__ = True
        run_item(request.node, {name: values[name] for name in hook_names})

    attributes = {
        "__signature__": _signature((*fixtures, *hook_names)),
        "__name__": name,
        "__qualname__": name,
        "__module__": task_class.__module__,
        "__doc__": task_class.__doc__,
        "__test__": True,
        IS_RUNNER: task_class,
        "pytestmark": class_marks(task_class),
    }
    for attribute, value in attributes.items():
        setattr(run, attribute, value)
    return run


@functools.cache
def _signature(names: tuple[str, ...]) -> inspect.Signature:
    """Return the signature of a function with these keywords; a few serve all tasks."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature([inspect.Parameter(name, keyword) for name in dict.fromkeys(names)])


def class_marks(task_class: type[Task]) -> list[Any]:
    """Return the marks of a class and its bases, the bases' first."""
    marks: list[Any] = []
    for cls in reversed(task_class.__mro__):
        found = cls.__dict__.get("pytestmark", [])
        listed = found if isinstance(found, list) else [found]
        marks.extend(getattr(mark, "mark", mark) for mark in listed)
    return marks


class TaskItem(pytest.Function):
    """One run of one task by one student.

    Attributes:
        task_class: What runs.
        around_setup: Makes those fixtures that pytest need not make.
        attempts: How often the item has been run; more than once under reruns.
    """

    task_class: type[Task]
    around_setup: Callable[[TaskItem], AbstractContextManager[None]]
    attempts: int = 0
    _hooks: pluggy.HookRelay | None = None

    @classmethod
    def adopt(
        cls,
        function: pytest.Function,
        runner: Callable[..., None],
        task_class: type[Task],
        around_setup: Callable[[TaskItem], AbstractContextManager[None]],
    ) -> TaskItem:
        """Turn the function that pytest made for the runner into a task item.

        It stays the same node, with all that pytest and its plugins have put on it: a new node
        would need pytest's private fixture data, and cost as much again.
        """
        function.__class__ = cls
        item = cast("TaskItem", function)
        item.obj = runner  # pytest looked the name up in the module and found the class
        item.task_class, item.around_setup = task_class, around_setup
        item.extra_keyword_matches.add(task_class.id)
        _forget_attributes(item)
        return item

    @property
    @override
    def ihook(self) -> pluggy.HookRelay:
        """The hooks of the conftests above; pytest would look them up by a path: see `collect`."""
        if self._hooks is not None:
            return self._hooks
        return super().ihook if self.parent is None else self.parent.ihook

    @override
    def setup(self) -> None:
        """Make the fixtures."""
        self._hooks = self.ihook  # all conftests are loaded, and it is asked for many times
        with self.around_setup(self):
            super().setup()

    @override
    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the class is defined, for the location of reports."""
        path, lines = _class_lines(inspect.getfile(self.task_class))
        return path, lines.get(self.task_class.__name__, 1) - 1, self.name

    @override
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str | TerminalRepr:  # type: ignore[override]  # pytest.Function itself has this signature
        """Return a verdict as its text, and anything else with its traceback."""
        if isinstance(excinfo.value, Verdict):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def _forget_attributes(item: TaskItem) -> None:
    """Make the keywords of an item anew: pytest took every attribute of the class for one.

    Each report of the item lists its keywords.
    """
    keywords = type(item.keywords)(item)  # type: ignore[call-arg]  # the type of it is private
    keywords.update((mark.name, mark) for mark in item.own_markers)
    if hasattr(item, "callspec"):
        keywords[item.callspec.id] = True
    item.keywords = keywords


def epoch_of(item: pytest.Item) -> int:
    """Return the number of an item's repetition, from 1."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return int(parameters.get("chalk_epoch", 1))


@functools.cache
def _class_lines(file: str) -> tuple[Path, dict[str, int]]:
    """Return the path and the line of each class by its name, read once for all its classes."""
    path = Path(file)
    lines: dict[str, int] = {}
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return path, lines
    number, read = 1, 0
    for found in _CLASS.finditer(text):
        number += text.count("\n", read, found.start(1))
        read = found.start(1)
        lines.setdefault(found.group(1), number)
    return path, lines


def deselect(config: pytest.Config, items: list[pytest.Item], left_out: Sequence[TaskItem]) -> None:
    """Take items out of what is to run, and say so to pytest, if there are any."""
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]

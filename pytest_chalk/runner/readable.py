"""Whether the box holds a student that nobody trusts: found out by trying, as the student."""

from __future__ import annotations

import os
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError, RunOptionError
from pytest_chalk.sandbox import find_data_folders, find_run, hide, try_box

if TYPE_CHECKING:
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.sandbox import Box, DataFolder, SelfTest


def hide_task(task_class: type[Task]) -> None:
    """Keep the package of a task, wherever it is, out of the sight of students."""
    path = _file_of(task_class)
    if path is not None:
        _hide_file(path)


@cache
def _hide_file(path: Path) -> None:
    hide(path.parent if path.name == "__init__.py" else path)


def data_folders_of(task_class: type[Task], project: Path | None) -> tuple[DataFolder, ...]:
    """Return the data folders of a task: the project's, then those in the task's own package."""
    path = _file_of(task_class)
    own = path.parent if path is not None and path.name == "__init__.py" else None
    places = dict.fromkeys(place for place in (project, own) if place is not None)
    return tuple(folder for place in places for folder in _folders_in(place, _changed_ns(place)))


@lru_cache(maxsize=1024)
def _folders_in(place: Path, _changed_ns: int) -> tuple[DataFolder, ...]:
    """Return the data folders in a directory that was last changed then: most have none."""
    return find_data_folders([place])


def _changed_ns(place: Path) -> int:
    try:
        return os.stat(place).st_mtime_ns  # noqa: PTH116 - twice a run, three times as fast
    except OSError:
        return 0


def refuse_leaky_box(task_class: type[Task], box: Box, *, allow_readable_task: bool) -> None:
    """Refuse to let an untrusted student begin in a box that does not hold what it promises.

    Raises:
        RunOptionError: The student can read the task's package: answers and scoring scripts are in
            it. Says how to close it.
        MachineError: It can do something else that the box's level forbids.
    """
    path = _file_of(task_class)
    found = _self_test(path, box)
    if path is not None and str(path) in found.readable and not allow_readable_task:
        raise RunOptionError(
            where=f"task {task_class.id!r}",
            problem=f"the student can read {str(path)!r}, and with it answers and scoring scripts",
            fix=f"Close it, for example with `chmod 700 {path.parent.parent}`, or give "
            "--chalk-allow-readable-tasks if you mean it",
        )
    breaches = found.breaches(box.level, allowed=() if path is None else (str(path),))
    if breaches:
        message = f"the box at level {box.level!r} does not hold: the student can {breaches[0]}"
        raise MachineError(message)


@cache
def _self_test(path: Path | None, box: Box) -> SelfTest:
    run = find_run()
    records = [run.artifacts_dir.parent] if run is not None else []
    return try_box(box, [*([path] if path is not None else []), *records, Path.home()])


def _file_of(task_class: type[Task]) -> Path | None:
    """Return the file a task is written in; None for one that was typed in."""
    file = getattr(sys.modules.get(task_class.__module__), "__file__", None)
    return _path(file) if file else None


@cache
def _path(file: str) -> Path:
    return Path(file)

"""Whether the data sets that other systems mount for a task are there. Nothing is mounted here."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError, TaskDefinitionError
from pytest_chalk.sandbox import run_as_student

if TYPE_CHECKING:
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.data_mount import DataMount

LOOK_TIME_LIMIT_S = 10.0
"""For the student's look at one path, which takes milliseconds."""

_CAN_READ = '[ -r "$1" ] && { [ ! -d "$1" ] || [ -x "$1" ]; }'


def check_data_mounts(task: Task, box: Box) -> None:
    """Look for each of the task's data sets as the student, before it begins without them.

    Raises:
        MachineError: One is not there, or the student cannot read it: its work would be judged for
            what this machine lacks.
        TaskDefinitionError: The path of one is relative.
    """
    for mount in task.data_mounts:
        if not PurePosixPath(mount.container_path).is_absolute():
            raise TaskDefinitionError(
                where=f"{type(task).__name__}.data_mounts",
                problem=f"mounts {mount.name!r} at the relative path {mount.container_path!r}",
                fix="Make it absolute",
            )
        _look(task.id, mount, box)


def _look(task_id: str, mount: DataMount, box: Box) -> None:
    looked = run_as_student(
        box,
        ("/bin/sh", "-c", _CAN_READ, "sh", mount.container_path),
        time_limit_s=LOOK_TIME_LIMIT_S,
        max_output_bytes=1_000,
    )
    if looked.exit_code != 0:
        message = (
            f"task {task_id!r} needs the data set {mount.name!r}, version {mount.version!r}, at "
            f"{mount.container_path!r}, where the student can read nothing. Data sets are mounted "
            "by nothing here: put it there before the session, readable for everybody, or let the "
            "task bring it in student_data/ or shared_data/"
        )
        raise MachineError(message)

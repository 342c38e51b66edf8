"""Whether a student could read the code that scores it: found out by trying, as the student."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import RunOptionError
from pytest_chalk.sandbox import run_as_student

if TYPE_CHECKING:
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.sandbox import Box

CHECK_TIME_LIMIT_S = 10.0
"""For `test -r`, which takes a millisecond: more is a machine that does not answer."""


def refuse_readable_task(task_class: type[Task], box: Box) -> None:
    """Refuse a task whose package the student can read: answers and scoring scripts are in it.

    Raises:
        RunOptionError: It can; says how to close it.
        BoxError: The box is broken.
    """
    path = Path(inspect.getfile(task_class))
    if not _student_reads(path, box):
        return
    raise RunOptionError(
        where=f"task {task_class.id!r}",
        problem=f"the student can read {str(path)!r}, and with it answers and scoring scripts",
        fix=f"Close it, for example with `chmod 700 {path.parent.parent}`, or give "
        "--chalk-allow-readable-tasks if you mean it",
    )


@cache
def _student_reads(path: Path, box: Box) -> bool:
    completed = run_as_student(
        box,
        ("/usr/bin/test", "-r", str(path)),
        time_limit_s=CHECK_TIME_LIMIT_S,
        max_output_bytes=1_000,
    )
    return completed.exit_code == 0

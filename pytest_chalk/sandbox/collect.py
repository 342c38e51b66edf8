"""What task code calls to take in a student's work: kill, sweep, save, sweep, keep."""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.sandbox.artifacts import save_artifact
from pytest_chalk.sandbox.box import KILL_DEADLINE_S
from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.slots import peek_slot
from pytest_chalk.sandbox.student import slot_of_student
from pytest_chalk.sandbox.submissions import save_submission
from pytest_chalk.sandbox.sweep import delete_files
from pytest_chalk.sandbox.workdir import kill_cohort

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_chalk.sandbox.current import CurrentRun


def kill_processes(uid: int, *, deadline: float = KILL_DEADLINE_S) -> None:
    """Kill every process of the student and return when none is left.

    At level `none` that means what the current run's box started, never the user's own processes.

    Args:
        uid: The student's.
        deadline: Seconds until it is given up.

    Raises:
        UnreapableCohortError: Some could not be killed. The student's doing: the step scores 0.
        StudentUidError: `uid` is not this process's student.
    """
    slot, run = slot_of_student(uid), find_run()
    if run is not None:
        run.box.kill_processes(deadline_s=deadline)
    else:
        kill_cohort(slot, deadline)


def collect_submission(
    config: object,
    paths: Iterable[Path | str],
    save_submission_kwargs: Mapping[str, Any] | None = None,
) -> tuple[Path, ...]:
    """Take in the student's work and return our copies, one for each of `paths`, in their order.

    The student's processes are killed and all its other files deleted before the first byte is
    copied; the originals go afterwards. Each copy is also kept as an artifact of the run. The copy
    of a path that does not exist does not exist either: the student never wrote it.

    Args:
        config: The run's configuration.
        paths: The student's files and folders.
        save_submission_kwargs: Options of `save_submission`; they win over the run's own.

    Raises:
        StudentMisbehaviorError: See `kill_processes`, `delete_files` and `save_submission`.
        TaskDefinitionError: The run is judged again, and did not collect so many submissions.
    """
    sources = [Path(path) for path in paths]
    run = find_run()
    if run is not None and run.is_judged_again:
        return tuple(_find_again(source, run) for source in sources)
    slot = run.box.slot if run is not None else peek_slot()
    options = {**(run.save_submission_kwargs if run else {}), **(save_submission_kwargs or {})}
    kill_processes(slot.student_uid)
    delete_files(slot.student_uid, extend_exclude=sources)
    copies = tuple(_save(source, options) for source in sources)
    delete_files(slot.student_uid)
    for copy in copies:
        save_artifact(config, copy)
    return copies


def _save(source: Path, options: Mapping[str, Any]) -> Path:
    run = find_run()
    if run is None:
        return save_submission(source, **options) / source.name
    return save_submission(source, _fresh_folder(run.submissions_dir) / source.name, **options)


def _find_again(source: Path, run: CurrentRun) -> Path:
    folder = run.submissions_dir / str(next(run.collected))
    if not folder.is_dir():
        raise TaskDefinitionError(
            where=f"submission {str(source)!r}",
            problem=f"the run that is judged again did not save it: there is no {str(folder)!r}",
            fix="Collect what was collected then, in the same order, or run the task anew",
        )
    return folder / source.name


def _fresh_folder(parent: Path) -> Path:
    """Make and return the first of `1`, `2`, … that is not there: several may share a file name."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in itertools.count(1):
        with suppress(FileExistsError):
            folder = parent / str(number)
            folder.mkdir(mode=0o700)
            return folder
    raise AssertionError  # pragma: no cover - the count does not end

"""Keeps files of a run beside its record."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import StudentMisbehaviorError
from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.submissions import copy_saved, save_submission

KEPT_MAX_ENTRIES = 100_000
"""Files and folders of a workdir that is kept for a look: ten times a submission."""

KEPT_MAX_DEPTH = 100
"""Folders in folders."""

if TYPE_CHECKING:
    from collections.abc import Iterator


def save_artifact(config: object, path: Path | str) -> None:
    """Copy a trusted file or folder into the current run's artifacts.

    Nothing happens outside of a run, when there is no such file, or where the run config's
    `save_artifacts` is false. A second artifact of one name
    gets a number rather than the first one's place. Links are copied as links.

    Args:
        config: The run's configuration, as task code has it.
        path: Ours, never the student's: a saved submission, a log.
    """
    source, run = Path(path), find_run()
    if run is None or not (run.keeps_artifacts and getattr(config, "save_artifacts", True)):
        return
    if not (source.exists() or source.is_symlink()):
        return
    target = _new_place(run.artifacts_dir, source)
    if source.is_relative_to(run.submissions_dir):
        # By descriptors: the student may have chosen names too long for paths.
        copy_saved(source, target)
    elif source.is_dir() and not source.is_symlink():
        # A saved submission may hold links that the student aimed at files of ours.
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def save_student_artifact(path: Path | str) -> None:
    """Keep a file or folder of the student's as it is now; where it cannot be kept, a note why.

    It is copied as a submission is, for it may be a trap; the student may still be changing it, so
    what cannot be copied is nothing to blame it for. A relative path is one in the workdir.
    """
    run = find_run()
    if run is None or run.is_judged_again or not run.keeps_artifacts:
        return
    source = run.box.paths.workdir / path
    target = _new_place(run.artifacts_dir, source)
    with _note_instead_of(target, StudentMisbehaviorError):
        save_submission(source, target)


def keep_workdir(target: Path) -> None:
    """Copy the current run's workdir to `target` for somebody to look at; where not, a note why.

    Links are copied as links: they lead wherever the student aimed them.
    """
    run = find_run()
    if run is None or run.is_judged_again:
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _note_instead_of(target, StudentMisbehaviorError, OSError):
        save_submission(
            run.box.paths.workdir,
            target,
            allow_symlinks=True,
            max_entries=KEPT_MAX_ENTRIES,
            max_depth=KEPT_MAX_DEPTH,
        )


@contextmanager
def _note_instead_of(target: Path, *refusals: type[Exception]) -> Iterator[None]:
    """Where the block cannot make `target`, say why in a file beside its place."""
    try:
        yield
    except refusals as refused:
        note = target.with_name(f"{target.name}.not-kept.txt")
        note.write_text(f"{refused}\n", encoding="utf-8", errors="backslashreplace")


def _new_place(folder: Path, source: Path) -> Path:
    """Return where in `folder`, which is made, a copy of `source` takes nobody's place."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return next(name for name in _names(folder, source) if not _exists(name))


def _names(folder: Path, source: Path) -> Iterator[Path]:
    """Yield answer.txt, answer-2.txt, answer-3.txt and so on."""
    yield folder / source.name
    for number in range(2, 100_000):
        yield folder / f"{source.stem}-{number}{source.suffix}"


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()

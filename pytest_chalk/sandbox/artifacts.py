"""Keeps files of a run beside its record."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.sandbox.current import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator


def save_artifact(config: object, path: Path | str) -> None:  # noqa: ARG001 - the seeds pass it
    """Copy a trusted file or folder into the current run's artifacts.

    Nothing happens outside of a run or when there is no such file. A second artifact of one name
    gets a number rather than the first one's place. Links are copied as links.

    Args:
        config: The run's configuration, as task code has it; what is kept does not depend on it.
        path: Ours, never the student's: a saved submission, a log.
    """
    source, run = Path(path), find_run()
    if run is None or not (source.exists() or source.is_symlink()):
        return
    run.artifacts_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = next(name for name in _names(run.artifacts_dir, source) if not _exists(name))
    if source.is_dir() and not source.is_symlink():
        # A saved submission may hold links that the student aimed at files of ours.
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def _names(folder: Path, source: Path) -> Iterator[Path]:
    """Yield answer.txt, answer-2.txt, answer-3.txt and so on."""
    yield folder / source.name
    for number in range(2, 100_000):
        yield folder / f"{source.stem}-{number}{source.suffix}"


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()

"""Removes what the student left on the machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.removal import SWEEP_TIMEOUT_S, Spared, TreeRemoval, raise_for_survivors
from pytest_chalk.sandbox.student import slot_of_student
from pytest_chalk.sandbox.sysv_ipc import find_ipc_ids, remove_ipc
from pytest_chalk.sandbox.workdir import make_missing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_chalk.sandbox.layout import Slot


def delete_files(
    uid: int,
    include: Iterable[Path | str] | None = None,
    exclude: Iterable[Path | str] = (),
    extend_exclude: Iterable[Path | str] = (),
    timeout: float = SWEEP_TIMEOUT_S,
) -> int:
    """Delete the student's files and System V objects; return how many files and folders went.

    Links are removed, never followed. The roots, the workdir's `data` and `shared` stay, emptied,
    and a `data` that the student took away is made again.
    At level `none`, where files do not tell whose they are, everything in the workdir but
    `shared` goes, whoever owns it, and nothing outside of the workdir.

    Args:
        uid: The student's.
        include: Folders to sweep. None: the workdir and the folders everybody may write to.
        exclude: Paths that stay, with all below them and with their parents.
        extend_exclude: More of those.
        timeout: Seconds.

    Raises:
        ReclaimError: Something could not be removed. The student's doing.
        StudentUidError: `uid` is not this process's student.
    """
    slot = slot_of_student(uid)
    spared = [slot.located(_absolute(path)) for path in (*exclude, *extend_exclude)]
    public = slot.public_directories().values()
    roots = _roots(slot, include)
    if not slot.separates_uids:
        spared += [slot.paths.shared_dir, *slot.mount_points()]
    removal = TreeRemoval(
        uid if slot.separates_uids else None,
        spared=Spared.paths(spared),
        kept=(slot.paths.workdir, slot.paths.data_dir, slot.paths.shared_dir, *roots),
        timeout_s=timeout,
    )
    for root in roots:
        removal.empty(root, is_public=include is None and root in public)
    if slot.has_own_view:
        _renew_ipc()
    elif slot.separates_uids:
        remove_ipc(uid)
        removal.survivors += [f"System V {kind} {number}" for kind, number in find_ipc_ids(uid)]
    raise_for_survivors(removal.survivors)
    if include is None and slot.paths.workdir.is_dir():
        make_missing(slot)
    return removal.removed


def _absolute(path: Path | str) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links


def _roots(slot: Slot, include: Iterable[Path | str] | None) -> list[Path]:
    workdir, public = slot.paths.workdir, slot.public_directories().values()
    if include is None:
        return [workdir, *(public if slot.level != "none" else ())]
    roots = [slot.located(_absolute(path)) for path in include]
    if slot.separates_uids:
        return roots
    own = [workdir, *([slot.public_dir] if slot.public_dir is not None else [])]
    return [path for path in roots if any(path.is_relative_to(place) for place in own)]


def _renew_ipc() -> None:
    run = find_run()
    if run is not None:
        run.box.renew_ipc()

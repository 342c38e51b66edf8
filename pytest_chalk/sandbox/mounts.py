"""The folders of an isolated box, mounted where only this process and its children see them.

The worker's main thread enters a mount namespace of its own. What it mounts there ends with it,
however it ends, so that all workers can use the same path and nothing is left behind.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_chalk.errors import SlotError
from pytest_chalk.sandbox import namespaces
from pytest_chalk.sandbox.resources import memory_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_chalk.sandbox.layout import Slot

WORKDIR_SHARE_OF_MEMORY = 0.5
"""The workdir is in memory, and the student's processes need some too."""

PUBLIC_SHARE_OF_MEMORY = 0.25
"""What the student sees as its temporary directories, all together."""

MAX_ENTRIES = 1_000_000
"""Files and folders in each: a hundred large build trees; one takes the kernel a kilobyte."""

_entered: set[int] = set()
"""The pid of the process whose mounts these are: a forked child shares them with its parent."""


def mount_box(slot: Slot) -> None:
    """Mount empty folders for the student of an isolated slot.

    Raises:
        SlotError: The kernel refuses.
    """
    try:
        if os.getpid() not in _entered:
            namespaces.unshare(namespaces.NEW_MOUNTS)
            namespaces.mount("none", "/", flags=namespaces.MS_REC | namespaces.MS_SLAVE)
            _entered.add(os.getpid())
        for path, options in file_systems(slot).items():
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
            flags = namespaces.MS_NOSUID | namespaces.MS_NODEV
            namespaces.mount("chalk", str(path), "tmpfs", flags, options)
        for path in slot.public_directories().values():
            path.mkdir(parents=True)
            path.chmod(0o1777)
    except OSError as error:
        message = f"the folders of the student's box cannot be mounted: {error.strerror}"
        raise SlotError(message) from error


def unmount_box(slot: Slot) -> None:
    """Take the folders away, with all that is in them."""
    if os.getpid() not in _entered:
        return
    for path in file_systems(slot):
        with suppress(OSError):
            namespaces.unmount(str(path))


def file_systems(slot: Slot) -> dict[Path, str]:
    """Return what to mount where, outermost first."""
    sizes = {slot.paths.workdir: WORKDIR_SHARE_OF_MEMORY}
    if slot.public_dir is not None:
        sizes[slot.public_dir] = PUBLIC_SHARE_OF_MEMORY
    memory = memory_bytes()
    return {
        path: f"size={int(memory * share)},nr_inodes={MAX_ENTRIES},mode=0700"
        for path, share in sizes.items()
    }


def limit_file_system(slot: Slot, path: Path, size_bytes: int | None, count: int | None) -> None:
    """Change the size of the file system of an isolated slot that holds the student's `path`.

    Raises:
        OSError: More is in use, or none of them holds it.
    """
    located = slot.located(path)
    holders = [root for root in file_systems(slot) if located.is_relative_to(root)]
    if not holders:
        raise FileNotFoundError(errno.ENOENT, "it is in none of the student's folders", str(path))
    options = [f"size={size_bytes}"] * bool(size_bytes) + [f"nr_inodes={count}"] * bool(count)
    flags = namespaces.MS_REMOUNT | namespaces.MS_NOSUID | namespaces.MS_NODEV
    namespaces.mount("chalk", str(holders[-1]), "tmpfs", flags, ",".join(options))

"""What a student with its own view of the machine sees of it, and what not."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_chalk.sandbox.layout import Slot

NEEDED = tuple(
    map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys"))
)
"""Without these no program starts, so no folder that holds one of them can be hidden."""

_hidden: dict[Path, None] = {}


def hide(*paths: Path) -> None:
    """Keep folders or files of ours out of the sight of every student with a view of its own."""
    _hidden.update(dict.fromkeys(paths))


@contextmanager
def hidden(*paths: Path) -> Iterator[None]:
    """Hide folders or files of ours from the boxes that are started until the block ends."""
    added = [path for path in paths if path not in _hidden]
    hide(*added)
    try:
        yield
    finally:
        for path in added:
            del _hidden[path]


def view_of(slot: Slot, devices: Iterable[str] = ()) -> dict[str, Any]:
    """Return the view for `namespaces.build_view`, and whether it takes a user namespace.

    Hidden are the harness's home, everything that was given to `hide` or is to `hidden`, the
    folders of all slots, and /run with the sockets of the machine's services.
    """
    base = slot.directory.parents[1]  # not as a whole: judges put there what students may read
    slots = (base / "slots", base / "locks", base / "public")
    wanted = (Path.home(), Path("/run"), *slots, *_hidden)
    public = {str(theirs): str(ours) for theirs, ours in slot.public_directories().items()}
    workdir = str(slot.paths.workdir)
    return {
        "user": not slot.separates_uids,
        "hide": [str(path) for path in hideable(wanted)],
        "shown": [str(slot.runtime_dir)] if slot.runtime_dir.is_dir() else [],
        "binds": [*((ours, theirs) for theirs, ours in public.items()), (workdir, workdir)],
        # Where the student has our uid, modes do not keep it from what is to be read only.
        "read_only": [] if slot.separates_uids else [str(slot.paths.shared_dir)],
        "devices": list(devices),
    }


def hideable(paths: Iterable[Path]) -> list[Path]:
    """Return those that can be hidden, without links and each once."""
    real = {Path(os.path.realpath(path)) for path in paths}
    return sorted(path for path in real if not any(need.is_relative_to(path) for need in NEEDED))

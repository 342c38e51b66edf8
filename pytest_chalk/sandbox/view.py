"""What a student with its own view of the machine sees of it, and what not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_chalk.sandbox.layout import Slot

NEEDED = tuple(
    map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys"))
)
"""Without these no program starts, so no folder that holds one of them can be hidden."""

_hidden: dict[Path, None] = {}
_more: list[Callable[[], Iterable[Path]]] = []


def hide(*paths: Path) -> None:
    """Keep folders or files of ours out of the sight of every student with a view of its own."""
    _hidden.update(dict.fromkeys(paths))


def hide_what(find_paths: Callable[[], Iterable[Path]]) -> None:
    """Hide also what `find_paths` returns when a box is started."""
    _more.append(find_paths)


def view_of(slot: Slot, devices: Iterable[str] = ()) -> dict[str, Any]:
    """Return the view for `namespaces.build_view`, and whether it takes a user namespace.

    Hidden are the harness's home, everything that `hide` was given, where the current run keeps
    what it saves, the folders of all slots, and /run with the sockets of the machine's services.
    """
    more = [path for find_paths in _more for path in find_paths()]
    base = slot.directory.parents[1]  # not as a whole: judges put there what students may read
    slots = (base / "slots", base / "locks", base / "public")
    wanted = (Path.home(), Path("/run"), *slots, *_hidden, *more)
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

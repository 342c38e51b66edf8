"""What a student may use: memory, processes, files; and what that is worth at each level."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.sandbox.current import find_run

if TYPE_CHECKING:
    from pytest_chalk.sandbox.box import Box


class Contract(enum.StrEnum):
    """What a limit is worth."""

    PREVENTED = "prevented"
    """The kernel refuses more."""

    REAPED = "detected_and_reaped"
    """Whoever takes more is seen within a second, and all processes of the student are killed."""

    UNSUPPORTED = "not_supported"
    """Nothing enforces it at this level."""


@dataclass(frozen=True)
class FileLimit:
    """How much may be stored in the file systems that hold some paths."""

    path: str | Path | tuple[str | Path, ...]
    bytes: int | None = None
    count: int | None = None
    """Files and folders."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths, however they were given."""
        given = self.path if isinstance(self.path, tuple) else (self.path,)
        return tuple(map(Path, given))


@dataclass(frozen=True)
class ResourceLimits:
    """The limits in force; None for what is not limited."""

    memory_bytes: int | None
    process_count: int | None
    file: FileLimit | None = None


class _Unset(enum.Enum):
    UNSET = enum.auto()


UNSET: Final = _Unset.UNSET
_Count: TypeAlias = "int | _Unset | None"


def limit_resources(
    *,
    uid: int | None = None,
    memory_bytes: _Count = UNSET,
    process_count: _Count = UNSET,
    file: FileLimit | _Unset | None = UNSET,
) -> dict[str, Contract]:
    """Change what the current run's student may use, until the run ends; what is left out stays.

    None lifts a limit. Returns what each limit that was set is worth, by `memory`, `processes` and
    `files`; outside of a run nothing happens and nothing is returned. A limit of processes holds
    for what is started from then on.

    Raises:
        TaskDefinitionError: `uid` is not the student, a number is not positive, or more is in use
            already than the file limit allows.
    """
    run = find_run()
    if run is None:
        return {}
    box = run.box
    if uid is not None and uid != box.slot.student_uid:
        fix = f"Use STUDENT_UID, which is {box.slot.student_uid}, or leave it out"
        raise TaskDefinitionError("limit_resources", f"uid {uid!r} is not the student", fix=fix)
    given = {"memory_bytes": memory_bytes, "process_count": process_count}
    wanted = {name: value for name, value in given.items() if not isinstance(value, _Unset)}
    for name, value in wanted.items():
        _check(name, value)
    if wanted:
        box.limit(replace(box.limits, **wanted))
    worth: dict[str, Contract] = {}
    if wanted.get("memory_bytes"):
        worth["memory"] = _memory_contract()
    if wanted.get("process_count"):
        worth["processes"] = _process_contract(box)
    if not isinstance(file, _Unset) and file is not None:
        worth["files"] = _limit_files(box, file)
    return worth


def get_resource_limits(*, uid: int | None = None) -> ResourceLimits:
    """Return the limits of the current run's student; outside of a run there are none."""
    run = find_run()
    if run is None or uid not in (None, run.box.slot.student_uid):
        return ResourceLimits(None, None)
    limits = run.box.limits
    return ResourceLimits(limits.memory_bytes, limits.process_count, _file_limit(run.box))


def _check(name: str, value: int | None) -> None:
    if value is not None and (isinstance(value, bool) or value <= 0):
        fix = "Give a number above 0, or None for no limit"
        raise TaskDefinitionError("limit_resources", f"{name} is {value!r}", fix=fix)


def _memory_contract() -> Contract:
    return Contract.REAPED if Path("/proc/self/statm").exists() else Contract.UNSUPPORTED


def _process_contract(box: Box) -> Contract:
    return Contract.PREVENTED if box.slot.separates_uids else Contract.UNSUPPORTED


def _limit_files(box: Box, limit: FileLimit) -> Contract:
    if box.level != "isolated":
        return Contract.UNSUPPORTED
    try:
        for path in limit.paths:
            box.limit_files(path, limit.bytes, limit.count)
    except OSError as error:
        raise TaskDefinitionError(
            "limit_resources",
            f"{limit} cannot be had: {error.strerror}",
            fix="Give more than is in use, for the workdir or a temporary directory",
        ) from error
    return Contract.PREVENTED


def _file_limit(box: Box) -> FileLimit | None:
    if box.level != "isolated":
        return None
    status = os.statvfs(box.paths.workdir)
    size = status.f_blocks * status.f_frsize
    return FileLimit(box.paths.workdir, bytes=size, count=status.f_files)

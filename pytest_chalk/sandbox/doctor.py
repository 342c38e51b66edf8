"""Examines what holds a student on this machine: every promise of the level is put to a test."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.sandbox.box import Box
from pytest_chalk.sandbox.capture import run_as_student
from pytest_chalk.sandbox.command import Command
from pytest_chalk.sandbox.guarantees import GUARANTEES
from pytest_chalk.sandbox.process_table import living_of_uid
from pytest_chalk.sandbox.self_test import try_box
from pytest_chalk.sandbox.slots import acquire_slot, release_slot
from pytest_chalk.sandbox.workdir import ROOT_DATA_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_chalk.sandbox.guarantees import Guarantee
    from pytest_chalk.sandbox.layout import Level

_LOOK_TIME_LIMIT_S = 10.0
_LINGERER = "trap '' TERM HUP; (setsid sleep 60 &) ; setsid sleep 60 & sleep 0.1"
_LOOK = "id -u; ls -d /proc/[0-9]* | wc -l; mktemp -p /tmp chalk-check-XXXXXX"


@dataclass(frozen=True)
class Finding:
    """What came of putting one promise to the test."""

    guarantee: Guarantee
    promised: bool
    """Whether the level enforces it."""

    holds: bool | None
    """What the test showed; None where there is none."""

    how: str
    """How it was found out, and what was seen."""

    @property
    def is_broken(self) -> bool:
        """Whether the level does not keep its promise."""
        return self.promised and self.holds is False


@dataclass(frozen=True)
class Examination:
    """The level that can be had here, and what it is worth."""

    level: Level
    findings: tuple[Finding, ...]


def examine(secrets: Sequence[Path]) -> Examination:
    """Start a box, try everything in it, and leave nothing behind.

    Args:
        secrets: Paths of ours that no student should read: the project, its tasks, the records.

    Raises:
        RunOptionError: The level that was asked for cannot be had.
        MachineError: No slot can be had, or the box is broken.
    """
    slot = acquire_slot()
    box = Box(slot)
    try:
        box.reset()
        seen = dict(_look(box, secrets))
        findings = [
            Finding(
                guarantee,
                slot.level in guarantee.levels,
                *seen.get(guarantee.name, (None, "not tested")),
            )
            for guarantee in GUARANTEES
        ]
        return Examination(slot.level, tuple(findings))
    finally:
        box.close()
        release_slot()


def _look(box: Box, secrets: Sequence[Path]) -> Iterator[tuple[str, tuple[bool, str]]]:
    """Yield the name of a guarantee, whether it holds, and how that was found out."""
    slot = box.slot
    tried = try_box(box, [*secrets, slot.directory / ROOT_DATA_FOLDER])
    done = run_as_student(
        box, ("/bin/sh", "-c", _LOOK), time_limit_s=_LOOK_TIME_LIMIT_S, max_output_bytes=10_000
    )
    uid, processes, left = (*done.stdout.decode("utf-8", "replace").split(), "?", "?", "?")[:3]
    yield "uid", (uid != str(os.geteuid()), f"its shell has uid {uid}, ours is {os.geteuid()}")
    reaches = tried.signals_harness or tried.reads_environment
    yield "harness", (not reaches, "it tried to signal us and to open our environment")
    read = ", ".join(tried.readable) or "none"
    yield "tasks", (not tried.readable, f"it tried {len(secrets)} paths of ours and read: {read}")
    yield "records", (not tried.readable or slot.separates_uids, "the same, and modes are 0700")
    sees_few = processes.isdecimal() and int(processes) < 10
    yield "processes", (sees_few and slot.has_own_view, f"it sees {processes} processes")
    network = "it found a route" if tried.reaches_network else "it found no route"
    yield "network", (not tried.reaches_network, f"{network} to another host")
    yield "files", (not os.path.lexists(left), f"it made {left}, and we looked for it")
    yield "disk", _disk(slot.paths.workdir)
    yield "kill", _kill(box)


def _disk(workdir: Path) -> tuple[bool, str]:
    has_own = workdir.stat().st_dev != workdir.parent.stat().st_dev
    status = os.statvfs(workdir)
    size_gib = status.f_blocks * status.f_frsize / 1024**3
    return has_own, f"its workdir is on a disk of {size_gib:.1f} GiB and {status.f_files} files"


def _kill(box: Box) -> tuple[bool, str]:
    box.launch(Command(("/bin/sh", "-c", _LINGERER))).wait(_LOOK_TIME_LIMIT_S)
    box.kill_processes()
    how = "it left three processes behind, out of their session; "
    if not box.slot.separates_uids:
        return True, how + "the box reports none left"
    left = living_of_uid([box.slot.student_uid])
    return not left, how + f"{len(left)} of its uid were left after the kill"


def obstacles_text(obstacles: Mapping[Level, str], level: Level) -> str:
    """Return why the levels above `level` cannot be had, empty where it is the best."""
    better = list(obstacles)[: list(obstacles).index(level)]
    return "; ".join(f"{name}: {obstacles[name]}" for name in better)

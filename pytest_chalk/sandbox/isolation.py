"""Which level of isolation can be had here, found out by doing, and which one is chosen."""

from __future__ import annotations

import functools
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from pytest_chalk.errors import RunOptionError
from pytest_chalk.sandbox.layout import Level
from pytest_chalk.sandbox.process_table import ON_LINUX
from pytest_chalk.sandbox.supervisor_process import INIT_FILE, supervisor_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

Asked: TypeAlias = Literal["auto"] | Level

LEVELS: tuple[Level, ...] = ("isolated", "uid", "userns", "none")
"""In the order in which `auto` prefers them."""

SATISFIES: Mapping[Asked, tuple[Level, ...]] = {
    "auto": LEVELS,
    "isolated": ("isolated",),
    "uid": ("isolated", "uid"),
    "userns": ("isolated", "userns"),
    "none": LEVELS,
}
"""Which levels are enough for what was asked: what is asked is the least that will do."""

LEVEL_VARIABLE = "CHALK_ISOLATION"

PROBE_TIME_LIMIT_S = 20.0
"""The probe takes 50 ms; more is a machine that hangs."""

PROBED_FILE = (
    Path("/run/chalk/isolation.json")
    if os.geteuid() == 0
    else Path(tempfile.gettempdir(), f"chalk-{os.geteuid()}", "isolation.json")
)
"""What the last probes found: in a folder that nobody else can enter, if it is there already."""

_asked: list[tuple[Asked, str]] = []


def ask(level: Asked, source: str) -> None:
    """Set the least level that will do, before the process takes its slot."""
    _asked[:] = [(level, source)]


def asked_level() -> tuple[Asked, str]:
    """Return the least level that will do and where that was said.

    Raises:
        RunOptionError: The environment variable names no level.
    """
    if _asked:
        return _asked[0]
    text = os.environ.get(LEVEL_VARIABLE) or "auto"
    if text not in SATISFIES:
        fix = f"Give {', '.join(SATISFIES)}"
        raise RunOptionError(LEVEL_VARIABLE, f"{text!r} is no level of isolation", fix=fix)
    return cast("Asked", text), LEVEL_VARIABLE if text != "auto" else "default"


def find_level() -> Level:
    """Return the level at which this process holds its student.

    Raises:
        RunOptionError: What was asked for cannot be had here; says why.
    """
    asked, source = asked_level()
    return choose_level(asked, source, find_obstacles())


def choose_level(asked: Asked, source: str, obstacles: Mapping[Level, str]) -> Level:
    """Return the best level that has no obstacle and is enough for what was asked.

    Raises:
        RunOptionError: There is none.
    """
    enough = SATISFIES[asked]
    for level in enough:
        if not obstacles[level]:
            return level
    reasons = "; ".join(f"{level}: {obstacles[level]}" for level in enough)
    raise RunOptionError(
        source,
        f"asks for isolation of at least {asked!r}, which cannot be had here ({reasons})",
        fix="Run pytest as root on Linux, in a container with --privileged or --cap-add SYS_ADMIN "
        "where `isolated` is wanted; let users make namespaces where `userns` is; or ask for less",
    )


def find_obstacles() -> dict[Level, str]:
    """Return what stands in the way of each level, empty where nothing does."""
    is_root = os.geteuid() == 0
    if not ON_LINUX:
        return {**dict.fromkeys(LEVELS, "it needs Linux"), "none": ""}
    return {
        "isolated": isolated_obstacle() if is_root else "it needs root",
        "uid": "" if is_root else "it needs root",
        "userns": "it is for users without root" if is_root else probed("userns"),
        "none": "",
    }


def isolated_obstacle() -> str:
    """Return what keeps root from `isolated`; empty if nothing does."""
    if threading.current_thread() is not threading.main_thread():
        return "the student's folders are mounted for the main thread, and this is another"
    return probed("uid")


@functools.cache
def probed(kind: Literal["uid", "userns"]) -> str:
    """Return what the kernel refuses of a box with a view of its own; empty if nothing.

    Tried out in a process of its own, once for each kind of process on this machine.
    """
    circumstances = f"{kind} {_circumstances()}"
    known = _read_probed()
    if circumstances not in known:
        known[circumstances] = _probe(kind)
        _write_probed(known)
    return known[circumstances]


def _probe(kind: str) -> str:
    try:
        ended = subprocess.run(  # noqa: S603 - our own file, by our own interpreter
            [sys.executable, "-I", "-S", str(INIT_FILE), "probe", kind],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=supervisor_environment(),
            cwd="/",
            timeout=PROBE_TIME_LIMIT_S,
            check=False,
        )
        return str(json.loads(ended.stdout)["refused"])
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"the probe failed: {error}"


def _circumstances() -> str:
    """Return what decides about a probe's result: the boot, the namespace, the rights."""
    status = Path("/proc/self/status").read_text().splitlines()
    rights = [line for line in status if line.startswith(("CapEff", "CapBnd", "NoNewPr", "Secc"))]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return " ".join([boot, str(Path("/proc/self/ns/user").readlink()), *rights])


def _is_ours() -> bool:
    try:
        folder = PROBED_FILE.parent.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(folder.st_mode)
        and folder.st_uid == os.geteuid()
        and not folder.st_mode & 0o077
    )


def _read_probed() -> dict[str, str]:
    if not _is_ours():
        return {}
    with suppress(OSError, ValueError):
        known = json.loads(PROBED_FILE.read_text())
        if isinstance(known, dict):
            return known
    return {}


def _write_probed(known: Mapping[str, str]) -> None:
    if _is_ours():
        fresh = PROBED_FILE.with_name(f"isolation.{os.getpid()}")
        with suppress(OSError):  # a disk that is full costs the next process a probe
            fresh.write_text(json.dumps(dict(known)))
            fresh.replace(PROBED_FILE)

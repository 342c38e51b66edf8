"""A Python that the student can run, and a pytest that it can import."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError
from pytest_chalk.sandbox import Command, run_command
from pytest_chalk.sandbox.trial import let_everybody_read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chalk.sandbox import Box

OLDEST = (3, 11)
"""Version of Python that the judge's pytest runs on."""

PROBE_TIME_LIMIT_S = 20.0
"""For a look at one interpreter, which takes 50 ms."""

PACKAGES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
"""What pytest consists of."""

LEXERS = frozenset({"__init__", "_mapping", "diff", "python"})
"""Of pygments' hundreds, those that pytest loads: the rest is four fifths of all there is."""

DISTRIBUTIONS = ("pytest", "pluggy")
"""Those whose version is looked up in their metadata when pytest starts."""

_CHECK = """
import sys
sys.path.insert(0, sys.argv[1])
import pytest
sys.exit(pytest.main(["-c/dev/null", "-pno:cacheprovider", "--version"]))
"""

_PROBE = """
import importlib.util, json, sys
print(json.dumps([list(sys.version_info[:2]), sys.implementation.cache_tag,
                  importlib.util.find_spec("pytest") is not None]))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that the student can run.

    Attributes:
        path: Absolute, or a name that is found in the student's PATH.
        runtime: Where its pytest is; empty if it has one of its own.
    """

    path: str
    runtime: str


_known: dict[tuple[int, str | None], Interpreter] = {}


def find_interpreter(box: Box, wanted: str | None) -> Interpreter:
    """Return the Python that hidden tests run under, found out by trying, as the student.

    Args:
        box: The student's.
        wanted: The only one to be tried; None for our own, else any in the student's PATH.

    Raises:
        MachineError: The student can run none of them. Says what to do.
    """
    key = box.slot.student_uid, wanted
    if key not in _known or not _is_there(_known[key]):
        _known[key] = _search(box, wanted)
    return _known[key]


def _is_there(known: Interpreter) -> bool:
    return not known.runtime or Path(known.runtime).is_dir()


def _search(box: Box, wanted: str | None) -> Interpreter:
    tried = [wanted] if wanted else list(dict.fromkeys(_candidates()))
    for path in tried:
        version, tag, has_pytest = _probe(box, path)
        if version >= OLDEST:
            runtime = "" if has_pytest else str(_shared_runtime(box, path, tag))
            return Interpreter(path, runtime)
    message = (
        f"hidden tests cannot be run: the student can execute no Python {OLDEST[0]}.{OLDEST[1]} or "
        f"newer (tried {', '.join(tried)}). Install one for all users, or name it with "
        "HiddenTestsJudge(python=...)"
    )
    raise MachineError(message)


def _candidates() -> Iterator[str]:
    yield sys.executable
    yield os.path.realpath(sys.executable)
    yield from (f"python3.{minor}" for minor in range(sys.version_info.minor, OLDEST[1] - 1, -1))
    yield "python3"


def _probe(box: Box, path: str) -> tuple[tuple[int, int], str, bool]:
    """Return version, cache tag and whether it has pytest; version 0.0 if it cannot be run."""
    command = Command((path, "-I", "-B", "-c", _PROBE))
    with suppress(OSError, ValueError):
        completed = run_command(
            box, command, time_limit_s=PROBE_TIME_LIMIT_S, max_output_bytes=10_000
        )
        if completed.exit_code == 0:
            (major, minor), tag, has_pytest = json.loads(completed.stdout)
            return (major, minor), tag, has_pytest
    return (0, 0), "", False


def _shared_runtime(box: Box, python: str, tag: str) -> Path:
    """Return a copy of our pytest that every uid can read, made once per host and release.

    It lies beside the slots, where only we can write.

    Raises:
        MachineError: It does not run there.
    """
    above = box.slot.runtime_dir
    target = above / f"pytest-{metadata.version('pytest')}-{tag}"
    if target.is_dir():
        return target
    above.mkdir(mode=0o711, exist_ok=True)
    above.chmod(0o711)
    fresh = Path(tempfile.mkdtemp(dir=above))
    try:
        for package in PACKAGES:
            _copy_package(package, fresh, tag)
        for name in DISTRIBUTIONS:
            _write_version(name, fresh)
        fresh.chmod(0o755)
        _check_runtime(box, python, fresh)
        with suppress(OSError):  # another process was quicker
            fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def _check_runtime(box: Box, python: str, runtime: Path) -> None:
    completed = run_command(
        box,
        Command((python, "-I", "-B", "-c", _CHECK, str(runtime))),
        time_limit_s=PROBE_TIME_LIMIT_S,
        max_output_bytes=10_000,
    )
    if completed.exit_code != 0:
        said = completed.stderr.decode("utf-8", "replace")
        message = f"our pytest does not run under {python!r} as the student: {said}"
        raise MachineError(message)


def _write_version(name: str, folder: Path) -> None:
    version = metadata.version(name)
    information = folder / f"{name}-{version}.dist-info"
    information.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (information / "METADATA").write_text(text)
    let_everybody_read(information)


def _copy_package(package: str, folder: Path, tag: str) -> None:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        message = f"{package} cannot be found, and pytest needs it. Install pytest anew"
        raise MachineError(message)
    source = Path(spec.origin)
    if not spec.submodule_search_locations:
        let_everybody_read(Path(shutil.copy2(source, folder / source.name)))
        return
    source, target = source.parent, folder / package

    def leave_out(above: str, names: list[str]) -> set[str]:
        is_lexers = package == "pygments" and Path(above).name == "lexers"
        return {
            name
            for name in names
            if (name.endswith(".pyc") and not name.endswith(f".{tag}.pyc"))
            or (is_lexers and name != "__pycache__" and name.partition(".")[0] not in LEXERS)
        }

    # With their compiled forms and times: the student cannot write any, and to compile takes longer
    # than most tests.
    shutil.copytree(source, target, ignore=leave_out)
    let_everybody_read(target)

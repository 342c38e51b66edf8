"""Which judge scored a step: a hash of its code and arguments, to tell whether it has changed."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import re
import sys
from dataclasses import is_dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, cast

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.sandbox import find_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_chalk.authoring.step import Step

MAX_FILES = 500
"""Of a task's package. One that carries more than that has a data set beside it."""

MAX_FILE_BYTES = 1_048_576
"""Of one file. Code and answers are smaller; of a larger one its size counts."""

MAX_DEPTH = 8
"""Of arguments within arguments; composites of judges are two or three deep."""

MAX_PARTS = 10_000
"""Of a judge's arguments, values within values counted; what is beyond does not count."""

_SCALARS = (bool, int, float, str, bytes, type(None))
_NO_CODE = frozenset({"__pycache__", "cassettes"})


def judge_identity(step: Step, judge: Judge) -> str:
    """Return the identity of a step's judge, 16 hexadecimal digits.

    It changes with the code of judge and step (the module, or the whole package of a task, so that
    helpers, scoring scripts and expected answers count) and with the judge's arguments. The
    student's directory is taken out of these: it differs between workers.
    """
    digest = hashlib.blake2b(digest_size=8)
    for cls in (type(step), type(judge)):
        digest.update(_code_of(cls.__module__).encode())
    run = find_run()
    workdir = str(run.box.paths.workdir) if run is not None else ""
    text = "\0".join(itertools.islice(_described(judge, 0), MAX_PARTS))
    digest.update((text.replace(workdir, "{WORKDIR}") if workdir else text).encode())
    return digest.hexdigest()


@functools.cache
def _code_of(module: str) -> str:
    """Return the hash of a module's file, of all files of its directory where it is a package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file:
        return module
    digest = hashlib.blake2b(digest_size=8)
    for path in _files(Path(file)):
        try:
            size = path.stat().st_size
            text = path.read_bytes() if size <= MAX_FILE_BYTES else str(size).encode()
        except OSError as error:
            text = str(error.errno).encode()
        digest.update(f"{path.name}\0{len(text)}\0".encode("utf-8", "surrogateescape") + text)
    return digest.hexdigest()


def _files(file: Path) -> Iterator[Path]:
    if file.name != "__init__.py":
        yield file
        return
    count = 0
    for directory, names, files in os.walk(file.parent):
        names[:] = sorted(set(names) - _NO_CODE)
        for name in sorted(files):
            count += 1
            if count > MAX_FILES:
                return
            yield Path(directory, name)


def _described(value: object, depth: int) -> Iterator[str]:
    """Yield texts that are the same for equal arguments.

    Exact types only, so that no code of others runs; objects that are no judges and no plain data,
    such as models with their connections, count by their class.
    """
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}"
    if depth > MAX_DEPTH:
        return
    if kind in _SCALARS or isinstance(value, PurePath):
        yield repr(value) if kind in _SCALARS else str(value)
    elif isinstance(value, re.Pattern):
        yield f"{value.pattern!r} {value.flags}"
    elif kind in (set, frozenset):
        yield from sorted(" ".join(_described(member, depth + 1)) for member in _members(value))
    else:
        for member in _members(value):
            yield from _described(member, depth + 1)


def _members(value: object) -> Iterator[object]:
    """Yield what is in a collection, or the names and values of a judge's or a data class's own."""
    if type(value) in (list, tuple, set, frozenset):
        yield from cast("Collection[object]", value)
    elif type(value) is dict:
        yield from itertools.chain.from_iterable(value.items())
    elif isinstance(value, Judge) or is_dataclass(value) or hasattr(type(value), "model_fields"):
        yield from itertools.chain.from_iterable(sorted(vars(value).items()))

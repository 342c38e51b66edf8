"""The file that a command's `--output` names: as it was, until what replaces it is whole."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from pytest_chalk.errors import RunOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@contextmanager
def replacing(name: str) -> Iterator[BinaryIO]:
    """Open what is to become the file of that name if all goes well.

    A device or a pipe is written as it is.

    Raises:
        RunOptionError: It cannot be written. What the block itself raises passes, OSError too.
    """
    path = Path(os.path.realpath(name))
    is_special = path.exists() and not path.is_file()
    fresh = path if is_special else path.with_name(f".{path.name}.{os.getpid()}")
    with _blaming(name):
        opened = fresh.open("wb")
    try:
        yield cast("BinaryIO", _Output(name, opened))
        with _blaming(name):
            opened.close()
            if not is_special:
                if path.exists():
                    fresh.chmod(path.stat().st_mode & 0o7777)
                fresh.replace(path)
    finally:
        with suppress(OSError):  # already told, or of no account after another fault
            opened.close()
        if not is_special:
            fresh.unlink(missing_ok=True)


class _Output:
    """What exports ask of a file, with its faults told apart from those of what they read."""

    def __init__(self, name: str, opened: BinaryIO) -> None:
        self._name, self._opened = name, opened

    def write(self, data: bytes) -> int:
        with _blaming(self._name):
            return self._opened.write(data)

    def writelines(self, blocks: Iterable[bytes]) -> None:
        for block in blocks:
            self.write(block)


@contextmanager
def _blaming(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where, problem = f"--output {name}", f"cannot be written: {error}"
        raise RunOptionError(where, problem, fix="Name another file") from error

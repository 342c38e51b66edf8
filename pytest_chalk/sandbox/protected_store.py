"""Values that a task writes for its grader, where no student can read them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pytest_chalk.errors import ChalkError, TaskDefinitionError
from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.self_test import try_box
from pytest_chalk.sandbox.slots import peek_slot
from pytest_chalk.sandbox.workdir import PROTECTED_FOLDER

if TYPE_CHECKING:
    from pydantic import BaseModel

Value = TypeVar("Value", bound="str | bytes | BaseModel")


class SecretNotFoundError(TaskDefinitionError, LookupError):
    """Nothing was written to the protected store under that name."""


class PermissionCheckError(ChalkError):
    """The student can read the protected store."""


class ProtectedStore:
    """Named values that last for one run: written in a hook, read in a judge or scoring script.

    Every worker has its own, so that runs side by side do not meet. Text, bytes and pydantic models
    can be kept.
    """

    def __init__(self, directory: Path | str | None = None) -> None:
        """Use `directory`; by default that of this process's student, emptied after each run."""
        self.directory = Path(directory) if directory is not None else _own_directory()

    def write(self, name: str, value: str | bytes | BaseModel) -> None:
        """Keep a value; what the name held before is gone.

        Raises:
            ValueError: `name` is not one plain file name.
        """
        path = self._path(name)
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        fd, fresh = tempfile.mkstemp(dir=self.directory, prefix=".")
        with os.fdopen(fd, "wb") as file:
            file.write(_as_bytes(value))
        Path(fresh).replace(path)

    def read(self, name: str, kind: type[Value]) -> Value:
        """Return a value as `kind`: `str`, `bytes`, or the pydantic model it is one of.

        Raises:
            SecretNotFoundError: Nothing has that name.
            ValueError: `name` is not one plain file name, or the value is no such model.
        """
        try:
            content = self._path(name).read_bytes()
        except FileNotFoundError:
            raise SecretNotFoundError(
                where="ProtectedStore.read",
                problem=f"{name!r} was not written in this run (looked in {str(self.directory)!r})",
                fix="Write it in pre_hook or pre_scoring_hook",
            ) from None
        if issubclass(kind, str):
            return kind(content.decode())
        if issubclass(kind, bytes):
            return kind(content)
        return kind.model_validate_json(content)

    def clear(self) -> None:
        """Remove all values."""
        if self.directory.is_dir():
            for path in self.directory.iterdir():
                path.unlink()

    def check_permissions(self) -> None:
        """Try, as the student of the current run, to read the store; nothing happens without a run.

        Raises:
            PermissionCheckError: It can.
        """
        run = find_run()
        if run is None or run.box.level == "none":
            return
        self.write("canary", "sings")
        try:
            if try_box(run.box, [self.directory, self._path("canary")]).readable:
                message = f"the student can read {str(self.directory)!r}. Run `pytest-chalk check`"
                raise PermissionCheckError(message)
        finally:
            self._path("canary").unlink()

    def _path(self, name: str) -> Path:
        if not name.strip() or name != Path(name).name or name.startswith("."):
            message = f"invalid secret name {name!r}. Give a plain file name"
            raise ValueError(message)
        return self.directory / name


def _own_directory() -> Path:
    run = find_run()
    slot = run.box.slot if run is not None else peek_slot()
    return slot.directory / PROTECTED_FOLDER


def _as_bytes(value: str | bytes | BaseModel) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else value.model_dump_json().encode()

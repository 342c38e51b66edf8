"""Importing a task package, and saying in few words why it could not be imported."""

from __future__ import annotations

import os
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.discovery import module_names
from pytest_chalk.discovery.alias_path import explain_import_error
from pytest_chalk.discovery.resolution import module_location, same_path
from pytest_chalk.discovery.settings import DiscoverySettings
from pytest_chalk.errors import TaskImportError

if TYPE_CHECKING:
    from types import ModuleType

    from pytest_chalk.discovery.packages import TaskPackage
    from pytest_chalk.discovery.settings import Aliases

MAX_FRAMES = 4
"""Of the author's code in an import error: where it failed and how it came there, not more."""

_OUR_CODE = str(Path(__file__).parent.parent) + os.sep
_MACHINERY = ("<frozen ", os.path.dirname(os.__file__) + os.sep + "importlib" + os.sep, _OUR_CODE)  # noqa: PTH120


def import_task_package(package: TaskPackage) -> ModuleType:
    """Import a task package under its canonical name and return its module.

    Raises:
        TaskImportError: Its code raised (the original is the cause; the message ends with the
            author's frames of the traceback), it left through SystemExit, or the name leads to
            another module.
    """
    if "." in package.name:
        raise TaskImportError(
            str(package.path),
            "a directory with a dot in its name cannot be imported",
            fix="Rename the task package",
        )
    finder = module_names.installed_finder()
    if finder is None or not finder.owns(package.canonical_name):
        tasks_dir = package.path.parent
        finder = module_names.install_finder(DiscoverySettings(tasks_dir.parent, tasks_dir))
    module_names.check_prefix(finder)
    module = import_named(package.canonical_name, package.path, finder.settings.aliases)
    found = getattr(module, "__file__", None)
    wanted = package.path / "__init__.py"
    if found is None or not same_path(found, wanted):
        raise TaskImportError(
            str(wanted),
            f"its name {package.canonical_name!r} leads to {module_location(module)}",
            fix="Rename the task package, or remove the other module from the import path",
        )
    return module


def import_named(name: str, path: Path, mode: Aliases) -> ModuleType:
    """Import a module of the author, wrapping whatever its code raises.

    Exceptions that are no errors (pytest's skip, KeyboardInterrupt) pass.

    Raises:
        TaskImportError: The original is its cause.
    """
    try:
        return import_module(name)
    except TaskImportError:
        raise
    except (Exception, SystemExit) as error:
        module_names.forget_broken_aliases()
        explained = explain_import_error(error, mode)
        raise TaskImportError(
            str(path),
            f"cannot be imported as {name!r}{describe_error(error)}",
            fix=explained or "Mend the task package",
        ) from error


def describe_error(error: BaseException) -> str:
    """Return the author's frames of its traceback, oldest first, and what was raised."""
    frames = [
        f"\n  {frame.filename}:{frame.lineno}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_MACHINERY)
    ]
    raised = "".join(traceback.format_exception_only(error)).strip()
    raised = raised if raised.endswith("...") else raised.removesuffix(".")
    return "".join([*frames[-MAX_FRAMES:], "\n  ", raised.replace("\n", "\n  ")])

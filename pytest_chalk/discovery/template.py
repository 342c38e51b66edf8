"""Starting a task package from a template: the project's `_template`, else the package's own."""

from __future__ import annotations

import keyword
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.authoring.task import MAX_ID_LENGTH
from pytest_chalk.errors import RunOptionError, TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.discovery.settings import DiscoverySettings

PACKAGED_TEMPLATE = Path(__file__).parent.parent / "_template"
"""Its files end in `.py.txt`: they are text to copy, not modules of this package."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_ID_LINE = re.compile(
    r"""^([ \t]+id(?:[ \t]*:[^=\n]+)?[ \t]*=[ \t]*)(["'])([^"'\n]*)\2""", re.MULTILINE
)
_MODULE = "environment.tasks.{}."


@dataclass(frozen=True)
class CreatedTask:
    """A task package that was just made."""

    directory: Path
    task_id: str


def create_task_package(name: str, settings: DiscoverySettings) -> CreatedTask:
    """Copy the template to the tasks directory under `name` and set the class's id.

    The directory has underscores where the id has dashes.

    Raises:
        RunOptionError: `name` is none for a task package.
        TaskDefinitionError: The directory exists already, or the template sets no id.
    """
    package_name = _checked(name).replace("-", "_")
    task_id = package_name.replace("_", "-")
    directory = settings.tasks_dir / package_name
    if directory.exists():
        raise TaskDefinitionError(
            str(directory), "exists already", fix="Choose another name or remove it first"
        )
    own = settings.tasks_dir / "_template"
    texts = plan_files(own if own.is_dir() else PACKAGED_TEMPLATE, package_name, task_id)
    settings.tasks_dir.mkdir(parents=True, exist_ok=True)
    try:
        directory.mkdir()
        for relative, content in texts.items():
            target = directory / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return CreatedTask(directory, task_id)


def plan_files(template: Path, package_name: str, task_id: str) -> Mapping[str, bytes]:
    """Return the new package's files: relative path to content.

    Raises:
        TaskDefinitionError: The template's `__init__.py` sets no id.
    """
    planned: dict[str, bytes] = {}
    for path in sorted(template.rglob("*")):
        relative = path.relative_to(template)
        if path.is_file() and "__pycache__" not in relative.parts:
            name = str(relative).removesuffix(".txt") if _is_packaged(path) else str(relative)
            planned[name] = path.read_bytes()
    init = planned.get("__init__.py", b"").decode()
    old = _ID_LINE.search(init)
    if old is None:
        raise TaskDefinitionError(
            str(template),
            "its __init__.py sets no id",
            fix='Write id = "my-task" in its task class',
        )
    old_module = _MODULE.format(old[3].replace("-", "_")).encode()
    new_module = _MODULE.format(package_name).encode()
    planned["__init__.py"] = _ID_LINE.sub(rf"\g<1>\g<2>{task_id}\g<2>", init, count=1).encode()
    return {name: content.replace(old_module, new_module) for name, content in planned.items()}


def _is_packaged(path: Path) -> bool:
    return path.name.endswith(".py.txt")


def _checked(name: str) -> str:
    package_name = name.replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(package_name) or len(name) > MAX_ID_LENGTH:
        where = f"create-task {name!r}"
        raise RunOptionError(
            where,
            "is no name for a task",
            fix="Use lower-case words joined by dashes, for example my-task",
        )
    return name

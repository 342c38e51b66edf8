"""Where the tools of a project or task package are."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

DIRECTORY = "tools"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
"""What providers accept, as far as Python does too."""

_PROJECT_MARKS = (
    *("pyproject.toml", "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
    *("tox.ini", "setup.cfg", "setup.py", ".git"),
)


def tool_directories(module: str) -> tuple[Path, ...]:
    """Return the `tools` directories for tasks that a module defines, nearest first.

    These are in the directory of its file and in each one above, up to the one that has a
    pyproject.toml or another mark of a project's root.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    return _directories_from(Path(file).parent) if file else ()


def _directories_from(start: Path) -> tuple[Path, ...]:
    above = [start, *start.parents]
    roots = (number for number, directory in enumerate(above) if _is_project_root(directory))
    # Without a mark: the package, the tasks directory and what that is in.
    last = next(roots, 2)
    return tuple(found for d in above[: last + 1] if (found := d / DIRECTORY).is_dir())


@cache
def _is_project_root(directory: Path) -> bool:
    return any((directory / mark).exists() for mark in _PROJECT_MARKS)


def find_tool_file(name: str, search_dirs: Iterable[Path]) -> Path | None:
    """Return the file of a custom tool: `<name>.py`, or a package of that name."""
    if not _NAME.fullmatch(name):
        return None
    for directory in search_dirs:
        for path in (directory / f"{name}.py", directory / name / "__init__.py"):
            if path.is_file():
                return path
    return None

"""Imports a file under the name that other code of the project would use, so that it exists once.

`configure_tools` imports a tool's config class from `environment.tools.x` or `tools.x`; a second
copy of the module would have another class of that name.
"""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

from pytest_chalk.errors import TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType


def import_file(where: str, path: Path) -> ModuleType:
    """Return the module of `path`: loaded already, by a name that leads to it, or by one of ours.

    Raises:
        TaskDefinitionError: Its code raised, or left through SystemExit.
    """
    loaded = _find_loaded(path)
    if loaded is not None:
        return loaded
    try:
        return _import(path)
    except (Exception, SystemExit) as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        own = [f for f in frames if not f.filename.startswith("<frozen ")]
        place = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
        raise TaskDefinitionError(
            where,
            f"cannot be imported: {type(error).__name__}: {str(error).rstrip('.')}{place}",
            fix="Mend it",
        ) from error


def _find_loaded(path: Path) -> ModuleType | None:
    for module in list(sys.modules.values()):
        found = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(found, str) and found == str(path):
            return module
    return None


def _import(path: Path) -> ModuleType:
    for name in _candidate_names(path):
        if _leads_to(name, path):
            return import_module(name)
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    name = f"chalk_tool_{digest}_{stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:  # pragma: no cover - a .py file has a loader
        message = f"no loader for {path}"
        raise ImportError(message)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _candidate_names(path: Path) -> Iterator[str]:
    """Yield names that may lead to the file: through loaded packages, then the import path."""
    tails = dict(_tails(path))
    for directory, tail in tails.items():
        for package in list(sys.modules.values()):
            members = getattr(package, "__dict__", {})
            if directory in _entries(members.get("__path__")):
                yield f"{members['__name__']}.{tail}"
    for directory, tail in reversed(tails.items()):
        if directory in sys.path:
            yield tail


def _tails(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each directory above the file and the dotted rest, as long as it can be a name."""
    file = path.parent if path.name == "__init__.py" else path.with_suffix("")
    parts: list[str] = []
    while file.name.isidentifier():
        parts.insert(0, file.name)
        file = file.parent
        yield str(file), ".".join(parts)


def _entries(search_path: object) -> list[str]:
    try:
        return [entry for entry in search_path if isinstance(entry, str)]  # type: ignore[attr-defined]
    except TypeError:
        return []


def _leads_to(name: str, path: Path) -> bool:
    try:
        spec = find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return False
    origin = spec.origin if spec is not None else None
    return origin is not None and os.path.realpath(origin) == os.path.realpath(path)

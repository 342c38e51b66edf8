"""Who answers an import name, asked without importing anything."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ALIAS_ROOT = str(Path(__file__).parent.parent / "_alias_path")
"""Holds our own packages `chalk` and `environment`, each in a search directory of its name."""


def is_alias(location: str | None) -> bool:
    """Tell whether a file is one of the alias path."""
    return location is not None and location.startswith(ALIAS_ROOT + os.sep)


def resolve_without(
    name: str, ignored_entries: Collection[str], ignored_finders: tuple[type, ...] = ()
) -> ModuleSpec | None:
    """Return the spec of top-level `name` as if `ignored_entries` were not on `sys.path`.

    Asks every finder, not only the path: an editable install may answer through its own.
    """
    entries = [entry for entry in sys.path if entry not in ignored_entries]
    for finder in list(sys.meta_path):
        if isinstance(finder, ignored_finders):
            continue
        path = entries if finder is PathFinder else None
        spec = finder.find_spec(name, path)
        if spec is not None and not _lies_in(spec, ignored_entries):
            return spec
    return None


def is_regular(spec: ModuleSpec | None) -> bool:
    """Tell whether a module or package answers; a bare directory (namespace package) yields."""
    return spec is not None and not (
        spec.origin is None and spec.submodule_search_locations is not None
    )


def spec_location(spec: ModuleSpec) -> str:
    """Return where the module is, for a person to read."""
    return spec.origin or ", ".join(spec.submodule_search_locations or ()) or "built in"


def module_location(module: ModuleType) -> str:
    """Return where an imported module is, for a person to read."""
    return getattr(module, "__file__", None) or ", ".join(search_path(module)) or "built in"


def search_path(module: ModuleType) -> list[str]:
    """Return where submodules of `module` are looked for; empty if it is no package."""
    return list(getattr(module, "__path__", None) or ())


def same_path(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Compare two paths, symbolic links resolved."""
    return os.fspath(first) == os.fspath(second) or os.path.realpath(first) == os.path.realpath(
        second
    )


def holds_path(entries: Iterable[str], directory: str | os.PathLike[str]) -> bool:
    """Tell whether `directory` is one of `entries`."""
    return any(same_path(entry, directory) for entry in entries)


def _lies_in(spec: ModuleSpec, entries: Collection[str]) -> bool:
    origin = spec.origin or ""
    return any(origin.startswith(entry + os.sep) for entry in entries)

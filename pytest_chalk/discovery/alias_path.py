"""The alias path: the import names `chalk`, `chalkcompute` and `environment`, as thin re-exports.

One search directory per name under `pytest_chalk/_alias_path`, so that each name can be ours or
somebody else's by itself. They go on this process's `sys.path` and on the `PYTHONPATH` of scoring
scripts; nowhere else.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from pytest_chalk.discovery.module_names import (
    canonical_prefix,
    install_finder,
    installed_finder,
    own_environment,
)
from pytest_chalk.discovery.resolution import (
    ALIAS_ROOT,
    is_alias,
    is_regular,
    module_location,
    resolve_without,
    spec_location,
)
from pytest_chalk.discovery.scoring_child import (
    PREFIX_VARIABLE,
    ROOT_VARIABLE,
    TASKS_DIR_VARIABLE,
    add_typing_override,
)
from pytest_chalk.discovery.settings import find_root, read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.discovery.settings import Aliases, DiscoverySettings

_NAMES = ("chalk", "chalkcompute", "environment")
_OURS = "ours"

_OUR_ENVIRONMENT = ("environment", "environment.paths", "environment.submissions")
"""What seed code may miss in a project's own `environment`; the rest of it is the project's."""


class AliasReport(NamedTuple):
    """Who answers each name of the alias path.

    Attributes:
        owners: `ours`, the file that answers instead, or None where nothing does.
    """

    owners: Mapping[str, str | None]

    @property
    def ours(self) -> list[str]:
        """The names that our packages answer."""
        return [name for name, owner in self.owners.items() if owner == _OURS]

    @property
    def text(self) -> str:
        """One line for the pytest header: `chalk, chalkcompute, environment: ours`."""
        parts = [f"{', '.join(self.ours)}: ours"] if self.ours else []
        parts += [
            f"{name} is {owner}" if owner else f"{name}: nobody"
            for name, owner in self.owners.items()
            if owner != _OURS
        ]
        return "; ".join(parts)


def alias_directories() -> dict[str, str]:
    """Return, by import name, the directory to search for it."""
    return {name: os.path.join(ALIAS_ROOT, name) for name in _NAMES}  # noqa: PTH118 - sys.path text


def install_aliases(mode: Aliases) -> None:
    """Make the names importable in this process, each by `mode`.

    `auto` leaves a name to a real package that has it, `first` puts ours before it, `off` changes
    nothing. Calling it again with another mode moves the directories.
    """
    directories = alias_directories()
    sys.path[:] = [entry for entry in sys.path if entry not in directories.values()]
    if mode == "off":
        return
    add_typing_override()
    if mode == "first":
        sys.path[:0] = directories.values()
        return
    for name, directory in directories.items():
        if not is_regular(resolve_without(name, directories.values())):
            sys.path.append(directory)


def prepare_imports(settings: DiscoverySettings) -> None:
    """Make task code importable in this process: one module per task file, and the aliases."""
    install_finder(settings)
    install_aliases(settings.aliases)


def report_aliases() -> AliasReport:
    """Return who answers each name now, without importing any."""
    return AliasReport({name: _owner(name) for name in _NAMES})


def _owner(name: str) -> str | None:
    module = sys.modules.get(name)
    if module is not None:
        found = module_location(module)
    else:
        spec = resolve_without(name, ())
        if spec is None or not is_regular(spec):
            return None
        found = spec_location(spec)
    return _OURS if is_alias(found) else found


def child_environment(settings: DiscoverySettings | None = None) -> dict[str, str]:
    """Return the variables to set for a scoring script's process, and only there.

    `PYTHONPATH` gets the directories of those names that this process resolved to us: it comes
    before site-packages, so another name's directory would hide a real package there. Empty
    entries are dropped, for they mean the current directory, where a student may have written.

    Args:
        settings: Of the project; None for those this process was prepared with, else those of the
            current directory.
    """
    if settings is None:
        finder = installed_finder()
        settings = finder.settings if finder else read_settings(find_root(Path.cwd()))
    variables = {
        "PYTHONPATH": _child_search_path(settings),
        TASKS_DIR_VARIABLE: str(settings.tasks_dir),
        PREFIX_VARIABLE: canonical_prefix(settings),
        ROOT_VARIABLE: str(settings.root),
    }
    slot = os.environ.get("CHALK_SLOT")
    return variables if slot is None else {**variables, "CHALK_SLOT": slot}


def _child_search_path(settings: DiscoverySettings) -> str:
    inherited = os.environ.get("PYTHONPATH", "")
    loaded = tuple(id(sys.modules.get(name)) for name in _NAMES)
    return _known_search_path(settings, inherited, tuple(sys.path), loaded)


@lru_cache(maxsize=16)
def _known_search_path(
    settings: DiscoverySettings,
    pythonpath: str,
    search_path: tuple[str, ...],  # noqa: ARG001 - who answers a name depends on it
    loaded: tuple[int, ...],  # noqa: ARG001 - and on what is loaded
) -> str:
    directories = alias_directories()
    ours = [directories[name] for name in report_aliases().ours]
    inherited = [
        entry
        for entry in pythonpath.split(os.pathsep)
        if entry and entry not in directories.values()
    ]
    home = own_environment(settings)
    project = [str(settings.root)] if home is None else [str(home.parent), str(settings.root)]
    first = settings.aliases == "first"
    aliases_and_inherited = [*ours, *inherited] if first else [*inherited, *ours]
    return os.pathsep.join(dict.fromkeys([*aliases_and_inherited, *project]))


def explain_import_error(error: BaseException, mode: Aliases) -> str | None:
    """Return why a seed's import failed, if the reason is that a foreign package has its name.

    None where the failure has nothing to do with the names of the alias path.
    """
    name = _failed_name(error)
    owner = _owner(name) if name else None
    if name is None or owner == _OURS:
        return None
    if mode == "off":
        found = f"{name!r} is {owner}" if owner else f"there is no {name!r}"
        return (
            f"{found}, for chalk_aliases is off. Set chalk_aliases = auto, or import from "
            f"{_new_home(name)}"
        )
    if owner is None:
        return None
    return (
        f"{name!r} is {owner} ({_distribution(name)}), not pytest-chalk's. Set "
        f"chalk_aliases = first to prefer ours, or import from {_new_home(name)}"
    )


def _failed_name(error: BaseException) -> str | None:
    """Return the top-level name of the alias path that `error` is about."""
    if isinstance(error, ImportError):
        name = error.name or ""
    elif isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        name = error.obj.__name__
    else:
        return None
    top = name.partition(".")[0]
    return top if top in {"chalk", "chalkcompute"} or name in _OUR_ENVIRONMENT else None


def _new_home(name: str) -> str:
    homes = {"chalk": "pytest_chalk", "chalkcompute": "pytest_chalk.evaluations"}
    return homes.get(name, "pytest_chalk.sandbox")


def _distribution(name: str) -> str:
    """Name the installed distribution that owns `name`. Slow (0.6 s in a large environment)."""
    from importlib import metadata  # noqa: PLC0415 - only when something failed

    owners = metadata.packages_distributions().get(name)
    if not owners:
        return "of no installed distribution"
    return ", ".join(f"{owner} {metadata.version(owner)}" for owner in sorted(set(owners)))

"""One module per task file: the canonical name, and the finder that leads other names to it.

The same folder could be imported as `tasks.x`, as `environment.tasks.x` (seed code) and as `x`
(pytest's prepend mode puts the tasks directory itself on `sys.path`). Two of them would be two
copies of every class in it, which compare unequal. So one name is canonical and the others are
entries of `sys.modules` for the same module object.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.discovery.resolution import (
    holds_path,
    is_alias,
    is_regular,
    module_location,
    resolve_without,
    same_path,
    search_path,
    spec_location,
)
from pytest_chalk.errors import TaskImportError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

    from typing_extensions import override

    from pytest_chalk.discovery.settings import DiscoverySettings
else:
    from pytest_chalk.cheap_override import override

SEED_PREFIX = "environment.tasks"
"""What seed code and the commands of scoring scripts call the tasks directory."""


def own_environment(settings: DiscoverySettings) -> Path | None:
    """Return the project's own `environment` package if the tasks directory lies in it."""
    for directory in settings.tasks_dir.parents:
        if directory.name == "environment" and (directory / "__init__.py").is_file():
            return directory
        if directory == settings.root:
            return None
    return None


def canonical_prefix(settings: DiscoverySettings) -> str:
    """Return the name under which the tasks directory is imported.

    `environment.tasks` where the project's own `environment` package contains it (and
    `chalk_aliases = first` does not put ours before that), else the directory's own name.
    """
    home = own_environment(settings) if settings.aliases != "first" else None
    if home is None:
        return settings.tasks_dir.name
    return ".".join([home.name, *settings.tasks_dir.relative_to(home).parts])


def install_finder(settings: DiscoverySettings) -> TaskFinder:
    """Put the finder of `settings` first in `sys.meta_path`, in place of an earlier one.

    Where the tasks are in the project's own `environment` package, the directory that holds it is
    appended to `sys.path` if it is not there, but before the alias path.
    """
    remove_finder()
    home = own_environment(settings)
    if home is not None and settings.aliases != "first" and str(home.parent) not in sys.path:
        aliases = [index for index, entry in enumerate(sys.path) if is_alias(entry)]
        sys.path.insert(aliases[0] if aliases else len(sys.path), str(home.parent))
    finder = TaskFinder(settings, canonical_prefix(settings))
    insert_finder(finder)
    if "." not in finder.prefix and not (settings.tasks_dir / "__init__.py").exists():
        # Runs no code. Without it pytest's importlib mode makes up a package for tasks/conftest.py.
        with suppress(TaskImportError):
            check_prefix(finder)
            import_module(finder.prefix)
    return finder


def insert_finder(finder: TaskFinder) -> None:
    """Put `finder` first in `sys.meta_path`."""
    sys.meta_path.insert(0, finder)


def remove_finder() -> None:
    """Take the finder out; modules that are imported stay."""
    sys.meta_path[:] = [entry for entry in sys.meta_path if not isinstance(entry, TaskFinder)]


def installed_finder() -> TaskFinder | None:
    """Return the finder of this process, if there is one."""
    return next((entry for entry in sys.meta_path if isinstance(entry, TaskFinder)), None)


def check_prefix(finder: TaskFinder) -> None:
    """Raise if the canonical name belongs, or would belong, to something outside the project.

    Raises:
        TaskImportError: Names the canonical name, where it leads, and what to do.
    """
    top = finder.prefix.partition(".")[0]
    home = finder.home
    module = sys.modules.get(top)
    if module is not None:
        if not holds_path(search_path(module), home):
            raise _foreign(finder, module_location(module))
        return
    spec = resolve_without(top, (), (TaskFinder,))
    if spec is not None and _is_foreign(spec, home):
        raise _foreign(finder, spec_location(spec))


def forget_broken_aliases() -> None:
    """Drop other names of task modules whose import failed, as the import system did with theirs.

    An alias may have been made while the module was still running.
    """
    finder = installed_finder()
    for name, module in list(sys.modules.items()):
        real_name = getattr(module, "__name__", name)
        if (
            finder is not None
            and real_name != name
            and isinstance(real_name, str)
            and finder.owns(real_name)
            and sys.modules.get(real_name) is not module
        ):
            del sys.modules[name]


class TaskFinder:
    """Leads every name of a task module to the canonical one; first in `sys.meta_path`.

    Modules below the canonical prefix are found by the ordinary machinery (which includes pytest's
    assertion rewriting). It never takes a name away from a module that is not in the tasks
    directory.
    """

    def __init__(self, settings: DiscoverySettings, prefix: str) -> None:
        self.settings, self.prefix = settings, prefix
        self.tasks_dir = str(settings.tasks_dir)
        self.home = self.tasks_dir if "." not in prefix else _ancestor(settings.tasks_dir, prefix)
        self._dir_name = settings.tasks_dir.name
        self._parent_dir = str(settings.tasks_dir.parent)
        self._below = prefix + "."

    def owns(self, name: str) -> bool:
        """Tell whether `name` is the canonical prefix or below it."""
        return name == self.prefix or name.startswith(self._below)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,  # noqa: ARG002 - the protocol of finders
    ) -> ModuleSpec | None:
        """Return a spec for the tasks directory and for other names of what is in it."""
        parent, _, tail = fullname.rpartition(".")
        if parent:
            return self._find_below(fullname, parent, tail, path or ())
        if fullname == self.prefix:
            return self._find_prefix()
        if fullname == self._dir_name:
            return self._find_directory(fullname, None)
        return self._find_bare(fullname, path)

    def _find_below(
        self, fullname: str, parent: str, tail: str, path: Sequence[str]
    ) -> ModuleSpec | None:
        real_parent = getattr(sys.modules.get(parent), "__name__", parent)
        if real_parent != parent:
            return (
                self._alias(fullname, f"{real_parent}.{tail}") if self.owns(real_parent) else None
            )
        if fullname == self.prefix:
            return None
        if fullname == SEED_PREFIX or (
            tail == self._dir_name and holds_path(path, self._parent_dir)
        ):
            return self._find_directory(fullname, path)
        return None

    def _find_prefix(self) -> ModuleSpec | None:
        """Find the top-level package that is the tasks directory, also when no path leads there."""
        spec = resolve_without(self.prefix, (), (TaskFinder,))
        if spec is not None and is_regular(spec):
            return None  # the ordinary machinery finds it; whether it is ours, check_prefix says
        others = list(spec.submodule_search_locations or ()) if spec else []
        locations = list(dict.fromkeys([self.tasks_dir, *others]))
        init = Path(self.tasks_dir, "__init__.py")
        if init.is_file():
            return spec_from_file_location(self.prefix, init, submodule_search_locations=locations)
        found = ModuleSpec(self.prefix, None, is_package=True)
        found.submodule_search_locations = locations
        return found

    def _find_directory(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """Lead another name of the tasks directory to the canonical one, unless it is taken."""
        spec = (
            resolve_without(fullname, (), (TaskFinder,))
            if path is None
            else PathFinder.find_spec(fullname, path)
        )
        if spec is not None and _is_foreign(spec, self.tasks_dir) and not is_alias(spec.origin):
            return None
        check_prefix(self)
        return self._alias(fullname, self.prefix)

    def _find_bare(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """Lead `x` to the task package `x` where the tasks directory itself is searched.

        It is when pytest's prepend mode put it on `sys.path`; its importlib mode asks with the
        package's own directory as the path.
        """
        searched = self.tasks_dir in sys.path
        if not searched and path is None:
            return None
        candidate = os.path.join(self.tasks_dir, name)  # noqa: PTH118 - on every import
        if not (os.path.isdir(candidate) or os.path.isfile(candidate + ".py")):  # noqa: PTH112, PTH113
            return None
        if path is not None and (candidate in path or self.tasks_dir in path):
            return self._alias(name, self._below + name)
        if name in sys.stdlib_module_names:
            return resolve_without(name, (self.tasks_dir,), (TaskFinder,))
        spec = resolve_without(name, (), (TaskFinder,))
        found = spec is not None and (
            holds_path(spec.submodule_search_locations or (), candidate)
            or same_path(spec.origin or "", candidate + ".py")
        )
        return self._alias(name, self._below + name) if found else None

    @staticmethod
    def _alias(fullname: str, canonical: str) -> ModuleSpec | None:
        real = find_spec(canonical)
        if real is None:
            return None
        spec = ModuleSpec(
            fullname,
            AliasLoader(canonical, real),
            origin=real.origin,
            is_package=real.submodule_search_locations is not None,
        )
        spec.has_location = real.has_location
        return spec


class AliasLoader(Loader):
    """Puts the canonical module into `sys.modules` under another name and leaves it untouched.

    The import system sets `__spec__` on whatever `create_module` returns; `exec_module` puts the
    module's own back. Replacing the module in `sys.modules` there would be the cleaner way, but
    pytest's importlib mode keeps the object it got first. `get_code` is what `python -m` asks for.
    """

    def __init__(self, canonical: str, spec: ModuleSpec) -> None:
        self._canonical, self._spec = canonical, spec
        self.own_spec: ModuleSpec | None = None

    @override
    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - the protocol's
        """Return the module under its canonical name."""
        module = import_module(self._canonical)
        self.own_spec = module.__spec__
        if self.own_spec is not None and isinstance(self.own_spec.loader, AliasLoader):
            self.own_spec = self.own_spec.loader.own_spec  # another thread is in between
        return module

    @override
    def exec_module(self, module: ModuleType) -> None:
        """Give the module back its own spec; it has been executed."""
        module.__spec__ = self.own_spec

    def get_code(self, _: str) -> CodeType | None:
        """Return the code of the canonical module."""
        code: CodeType | None = getattr(self._spec.loader, "get_code")(self._canonical)  # noqa: B009
        return code


def _ancestor(tasks_dir: Path, prefix: str) -> str:
    """Return the directory of the top-level package of a dotted prefix."""
    return str(tasks_dir.parents[prefix.count(".") - 1])


def _is_foreign(spec: ModuleSpec, directory: str) -> bool:
    return is_regular(spec) and not holds_path(spec.submodule_search_locations or (), directory)


def _foreign(finder: TaskFinder, location: str) -> TaskImportError:
    top = finder.prefix.partition(".")[0]
    return TaskImportError(
        finder.tasks_dir,
        f"its packages are imported as {finder.prefix}.<name>, but {top!r} leads to {location}",
        fix=f"Rename the tasks directory and name it in the ini key chalk_tasks, or remove the "
        f"other {top!r} from the import path",
    )

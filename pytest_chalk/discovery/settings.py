"""What a project says about its tasks: ini keys `chalk_tasks`, `_include`, `_exclude`, `_aliases`.

The plugin passes what pytest read to `make_settings`; `read_settings` reads the files itself, as
pytest would, for the command line.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

Aliases: TypeAlias = Literal["auto", "first", "off"]

DEFAULT_TASKS_DIR = "tasks"
_KEYS = ("chalk_tasks", "chalk_include", "chalk_exclude", "chalk_aliases")

_CONFIG_SECTIONS = {
    "pytest.toml": ("pytest",),
    ".pytest.toml": ("pytest",),
    "pytest.ini": ("pytest",),
    ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool.pytest", "tool.pytest.ini_options"),
    "tox.ini": ("pytest",),
    "setup.cfg": ("tool:pytest",),
}
"""pytest's own files in its order of precedence, and the tables of each."""

_ALWAYS_THE_SOURCE = frozenset({"pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"})
"""These end pytest's search even when they hold no table of pytest."""


class DiscoverySettings(NamedTuple):
    """Where the tasks of a project are and which of them count.

    Attributes:
        root: pytest's rootdir.
        tasks_dir: Absolute; the packages in it are the task packages.
        tasks_dir_is_explicit: Whether the project named it. If not, it may be somebody else's
            `tasks/`, and only packages whose text mentions chalk are imported.
        include: Task ids; empty for all.
        exclude: Task ids.
        aliases: Whether the names `chalk` and `environment` come after a real package of that
            name, before it, or not at all.
    """

    root: Path
    tasks_dir: Path
    tasks_dir_is_explicit: bool = False
    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    aliases: Aliases = "auto"


def make_settings(
    root: Path, ini: Mapping[str, object], environ: Mapping[str, str]
) -> DiscoverySettings:
    """Return the settings that `ini` gives, each overridden by its environment variable.

    `ini` maps `chalk_...` to text or a list of texts; a missing key, None and an empty value mean
    that the project says nothing.

    Raises:
        RunOptionError: `chalk_aliases` is none of auto, first and off.
    """
    said = {key: environ.get(key.upper()) or ini.get(key) or "" for key in _KEYS}
    tasks = str(said["chalk_tasks"]).strip()
    return DiscoverySettings(
        root=root,
        tasks_dir=Path(os.path.normpath(root / (tasks or DEFAULT_TASKS_DIR))),
        tasks_dir_is_explicit=bool(tasks),
        include=parse_ids(said["chalk_include"]),
        exclude=parse_ids(said["chalk_exclude"]),
        aliases=_checked_aliases(str(said["chalk_aliases"]).strip() or "auto"),
    )


def parse_ids(value: object) -> frozenset[str]:
    """Return the task ids in a text (separated by commas, blanks or lines) or a list of texts."""
    texts = [value] if isinstance(value, str) else cast("list[object]", value or [])
    return frozenset(word for text in texts for word in str(text).replace(",", " ").split())


def _checked_aliases(value: str) -> Aliases:
    if value in {"auto", "first", "off"}:
        return cast("Aliases", value)
    from pytest_chalk.errors import RunOptionError  # noqa: PLC0415 - not in a run without tasks

    raise RunOptionError(
        "chalk_aliases",
        f"found {value!r}",
        fix="Write auto (a real package wins), first (ours wins) or off",
    )


def read_settings(root: Path) -> DiscoverySettings:
    """Return the settings of the project at `root` from its pytest configuration file.

    Raises:
        RunOptionError: A value or the file itself cannot be used.
    """
    return make_settings(root, read_ini(root), os.environ)


def find_root(start: Path) -> Path:
    """Return the directory pytest would take as rootdir when it is called in `start`.

    The nearest one upwards with a pytest configuration, else with a pyproject.toml, else with a
    setup.py, else `start` itself.
    """
    upwards = [start, *start.parents]
    for directory in upwards:
        if _find_table(directory) is not None:
            return directory
    for name in ("pyproject.toml", "setup.py"):
        for directory in upwards:
            if (directory / name).is_file():
                return directory
    return start


def read_ini(root: Path) -> Mapping[str, object]:
    """Return the pytest table of the configuration file in `root`; empty where there is none."""
    return _find_table(root) or {}


def find_session_base(given: str | None = None, *, start: Path | None = None) -> Path:
    """Return where sessions and the store are kept, as pytest would choose it in `start`, or here.

    That is the directory `given`, `CHALK_SESSION_DIR`, the project's ini `chalk_session_dir`, or
    `.chalk` in its root.
    """
    said = given or os.environ.get("CHALK_SESSION_DIR")
    here = start or Path.cwd()
    if said:
        return here / said
    root = find_root(here)
    return root / str(read_ini(root).get("chalk_session_dir") or ".chalk")


def read_paths(root: Path, key: str) -> list[Path]:
    """Return the paths of an ini key such as `pythonpath`, relative ones from `root`."""
    found = read_ini(root).get(key) or ""
    texts = found.split() if isinstance(found, str) else cast("list[object]", found)
    return [root / str(text) for text in texts]


def _find_table(directory: Path) -> Mapping[str, object] | None:
    for name, sections in _CONFIG_SECTIONS.items():
        path = directory / name
        if not path.is_file():
            continue
        table = _read_table(path, sections)
        if table is not None:
            return table
        if name in _ALWAYS_THE_SOURCE:
            return {}
    return None


def _read_table(path: Path, sections: tuple[str, ...]) -> Mapping[str, object] | None:
    """Return the first non-empty of `sections`; an empty one still makes the file the source."""
    tables = _toml_tables(path, sections) if path.suffix == ".toml" else _ini_tables(path, sections)
    found = [table for table in tables if table is not None]
    return next((table for table in found if table), found[0] if found else None)


def _toml_tables(path: Path, sections: tuple[str, ...]) -> list[Mapping[str, object] | None]:
    import tomllib  # noqa: PLC0415 - only the command line reads files

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    return [_toml_table(document, section.split(".")) for section in sections]


def _toml_table(document: Mapping[str, object], keys: list[str]) -> Mapping[str, object] | None:
    table: object = document
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        return None
    if keys == ["tool", "pytest"]:
        return {key: value for key, value in table.items() if key != "ini_options"} or None
    return table


def _ini_tables(path: Path, sections: tuple[str, ...]) -> list[Mapping[str, object] | None]:
    import configparser  # noqa: PLC0415 - only the command line reads files

    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (configparser.Error, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    return [dict(parser[section]) if section in parser else None for section in sections]


def _unreadable(path: Path, error: Exception) -> Exception:
    from pytest_chalk.errors import RunOptionError  # noqa: PLC0415 - not in a run without tasks

    return RunOptionError(str(path), f"cannot be read: {error}", fix="Mend the file")

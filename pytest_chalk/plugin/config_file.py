"""The run config that every run of a session starts from: a file, and what overrides it."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.config_models import FIELDS, read_config_models
from pytest_chalk.plugin.parsers import (
    boolean,
    one_of,
    positive_count,
    positive_seconds,
    temperature,
    word,
)
from pytest_chalk.schemas.run_config import RunConfig

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_chalk.plugin.config_models import ConfigModels
    from pytest_chalk.plugin.option_reader import OptionReader
    from pytest_chalk.plugin.options import Given

_NOT_OURS = frozenset(
    {
        "agent",
        "mcp_server_config",
        "websocket_config",
        "transcript_file",
        "use_fake_model",
        "backend_uri",
    }
)
"""Fields that run configs written for the seeds may hold and that mean nothing here."""

_FIELDS = {
    "turn_limit": "turn-limit",
    "step_time_limit_seconds": "step-time-limit",
    "on_limit": "on-limit",
    "use_hints": "no-hints",
    "temperature": "temperature",
    "reasoning_effort": "reasoning-effort",
    "extra_config": "extra",
}
"""Fields of the run config that have an option of their own."""


def read_run_config(reader: OptionReader) -> tuple[RunConfig, ConfigModels]:
    """Return the config file's values with what options say instead, and what it says of models.

    An option overrides a field of the file if it comes from at least as near to the user: one in
    an ini file does not override a file named on the command line.

    Raises:
        RunOptionError: The file or a value in it cannot be used.
    """
    given, path = reader.given("config"), reader.path("config")
    where = f"{given.source}={given.text}" if given else "options"
    found = _read_file(path, where) if path else {}
    models = read_config_models(found, where, given.rank if given else 0)
    fields = {name: value for name, value in found.items() if name in RunConfig.model_fields}
    checked = _validated(fields, where)
    overrides = {
        field: value
        for field, value in _options(reader, checked.extra_config).items()
        if field not in fields or _rank(reader, _FIELDS[field]) >= (given.rank if given else 0)
    }
    return _validated({**checked.model_dump(), **overrides}, "options"), models


def _rank(reader: OptionReader, noun: str) -> int:
    given = reader.given(noun)
    return given.rank if given else -1


def _options(reader: OptionReader, extra_in_file: dict[str, Any] | None) -> dict[str, Any]:
    """Return what options say, by field; nothing where they say nothing."""
    extra = reader.given("extra")
    values: dict[str, Any] = {
        "turn_limit": reader.read("turn-limit", positive_count, None),
        "step_time_limit_seconds": reader.read("step-time-limit", positive_seconds, None),
        "on_limit": reader.read("on-limit", one_of("score", "error"), None),
        "use_hints": False if reader.read("no-hints", boolean, default=False) else None,
        "temperature": reader.read("temperature", temperature, None),
        "reasoning_effort": reader.read("reasoning-effort", word, None),
        "extra_config": _extra(extra_in_file, extra) if extra else None,
    }
    return {field: value for field, value in values.items() if value is not None}


def _extra(from_file: object, given: Given) -> dict[str, Any]:
    """Return the file's entries with those of the command line added."""
    extra = dict(from_file) if isinstance(from_file, dict) else {}
    for text in given.texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise RunOptionError(
                given.source, f"{text!r} is no entry", fix="Give K=V, for example difficulty=hard"
            )
        try:
            extra[key] = json.loads(value)
        except ValueError:
            extra[key] = value
    return extra


def _read_file(path: Path, where: str) -> dict[str, Any]:
    """Return the fields of a config file, all of which are known."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunOptionError(where, f"cannot be read: {error}", fix="Name a JSON file") from None
    if not isinstance(found, dict):
        raise RunOptionError(
            where, f"holds a {type(found).__name__}", fix="Write a JSON object of run config fields"
        )
    known = set(RunConfig.model_fields)
    for name in sorted(set(found) - known - FIELDS - _NOT_OURS):
        near = get_close_matches(name, known, n=1)
        raise RunOptionError(
            where,
            f"has the unknown field {name!r}",
            fix=f"Write {near[0]!r}" if near else f"Use fields of: {', '.join(sorted(known))}",
        )
    return found


def _validated(fields: dict[str, Any], where: str) -> RunConfig:
    try:
        return RunConfig.model_validate({"run_id": "", "task_id": "", "model": "", **fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "config"
        raise RunOptionError(
            where,
            f"{field} is {first['input']!r}",
            fix=f"Give what the field takes: {first['msg']}",
        ) from None

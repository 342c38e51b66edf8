"""The options of a session, read once into values; what cannot be used is a usage error."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.options import Given, find_given
from pytest_chalk.schemas.record import PassRule
from pytest_chalk.schemas.run_config import RunConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

T = TypeVar("T")

_NOT_OURS = frozenset(
    {
        "agent",
        "model_api_key",
        "rubric_judge_model",
        "rubric_judge_api_key",
        "mcp_server_config",
        "websocket_config",
        "transcript_file",
        "use_fake_model",
        "backend_uri",
    }
)
"""Fields that run configs written for the seeds may hold and that mean nothing here."""


@dataclass(frozen=True)
class Gate:
    """When the session as a whole passes. `fail_under` None: any mean will do."""

    each: bool = True
    mean: bool = False
    fail_under: float | None = None
    min_scored: float = 1.0


@dataclass(frozen=True)
class SessionSettings:
    """What was asked of the session.

    Attributes:
        run_config: The config every run starts from; `run_id` and `model` are filled in per run.
        only_task_id: From the config file's `task_id`; empty for all tasks.
    """

    models: tuple[str, ...]
    epochs: int
    run_config: RunConfig
    only_task_id: str
    pass_rule: PassRule
    gate: Gate
    session_base: Path
    keep_sessions: int
    junit_steps: bool
    junit_properties: bool


def read_settings(config: pytest.Config) -> SessionSettings:
    """Return the session's settings.

    Raises:
        RunOptionError: A value cannot be used; names the source, what was found and what is
            accepted.
    """
    reader = _Reader(config)
    file_config = _read_config_file(reader.given("config"))
    pass_score = reader.read("pass-score", finite, None)
    given_base = reader.given("session-dir")
    models = reader.given("model")
    from_file = (file_config.model,) if file_config.model else ("oracle",)
    return SessionSettings(
        models=tuple(dict.fromkeys(models.texts)) if models else from_file,
        epochs=reader.read("epochs", positive_count, 1),
        run_config=_with_flags(file_config, reader),
        only_task_id=file_config.task_id,
        pass_rule=PassRule(pass_score=pass_score, source=reader.source("pass-score")),
        gate=_read_gate(reader),
        session_base=Path(given_base.text) if given_base else config.rootpath / ".chalk",
        keep_sessions=reader.read("keep-sessions", positive_count, 10),
        junit_steps=reader.read("junit-steps", boolean, default=True),
        junit_properties=reader.read("junit-properties", boolean, default=True),
    )


class _Reader:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def given(self, noun: str) -> Given | None:
        return find_given(self._config, noun)

    def source(self, noun: str) -> str:
        given = self.given(noun)
        return given.source if given else "default"

    def read(self, noun: str, parse: Callable[[str], T], default: T) -> T:
        given = self.given(noun)
        if given is None:
            return default
        try:
            return parse(given.text)
        except ValueError as error:
            raise RunOptionError(
                given.source, f"{given.text!r} cannot be used", fix=f"Give {error}"
            ) from None


def positive_count(text: str) -> int:
    """Parse an int of at least 1."""
    if not text.strip().isdecimal() or int(text) < 1:
        message = "a whole number of at least 1"
        raise ValueError(message)
    return int(text)


def positive_seconds(text: str) -> float:
    """Parse a finite number above 0."""
    number = _number(text)
    if number is None or number <= 0:
        message = "seconds as a number above 0"
        raise ValueError(message)
    return number


def finite(text: str) -> float:
    """Parse a finite number."""
    number = _number(text)
    if number is None:
        message = "a finite number, for example 0.8"
        raise ValueError(message)
    return number


def share(text: str) -> float:
    """Parse a number from 0 to 1."""
    number = _number(text)
    if number is None or not 0 <= number <= 1:
        message = "a number from 0 to 1"
        raise ValueError(message)
    return number


def boolean(text: str) -> bool:
    """Parse true or false."""
    if text.lower() in {"true", "1", "yes", "on"}:
        return True
    if text.lower() in {"false", "0", "no", "off"}:
        return False
    message = "true or false"
    raise ValueError(message)


def one_of(*accepted: str) -> Callable[[str], str]:
    """Return a parser that takes one of these words."""

    def parse(text: str) -> str:
        if text not in accepted:
            message = " or ".join(accepted)
            raise ValueError(message)
        return text

    return parse


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _read_gate(reader: _Reader) -> Gate:
    which = reader.read("gate", one_of("each", "mean"), "")
    fail_under = reader.read("fail-under", finite, None)
    mean = which == "mean" or fail_under is not None
    return Gate(
        each=which == "each" or not mean,
        mean=mean,
        fail_under=fail_under,
        min_scored=reader.read("min-scored", share, 1.0),
    )


def _with_flags(config: RunConfig, reader: _Reader) -> RunConfig:
    """Return the config file's values with what flags, variables and ini keys say instead."""
    changes: dict[str, Any] = {
        "turn_limit": reader.read("turn-limit", positive_count, None),
        "step_time_limit_seconds": reader.read("step-time-limit", positive_seconds, None),
        "on_limit": reader.read("on-limit", one_of("score", "error"), None),
        "use_hints": False if reader.read("no-hints", boolean, default=False) else None,
        "extra_config": _extra(config, reader.given("extra")),
    }
    given = {name: value for name, value in changes.items() if value is not None}
    return _validated({**config.model_dump(), **given}, reader.source("extra"))


def _extra(config: RunConfig, given: Given | None) -> dict[str, Any] | None:
    if given is None:
        return config.extra_config
    extra = dict(config.extra_config or {})
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


def _read_config_file(given: Given | None) -> RunConfig:
    if given is None:
        return RunConfig.placeholder()
    where = f"{given.source}={given.text}"
    try:
        found = json.loads(Path(given.text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunOptionError(where, f"cannot be read: {error}", fix="Name a JSON file") from None
    if not isinstance(found, dict):
        raise RunOptionError(
            where, f"holds a {type(found).__name__}", fix="Write a JSON object of run config fields"
        )
    known = set(RunConfig.model_fields)
    for name in sorted(set(found) - known - _NOT_OURS):
        near = get_close_matches(name, known, n=1)
        raise RunOptionError(
            where,
            f"has the unknown field {name!r}",
            fix=f"Write {near[0]!r}" if near else f"Use fields of: {', '.join(sorted(known))}",
        )
    ours = {name: value for name, value in found.items() if name in known}
    return _validated({"run_id": "", "task_id": "", "model": "", **ours}, where)


def _validated(fields: dict[str, Any], where: str) -> RunConfig:
    try:
        return RunConfig.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "config"
        raise RunOptionError(
            where,
            f"{field} is {first['input']!r}",
            fix=f"Give what the field takes: {first['msg']}",
        ) from None

"""The options of a session, read once into values; what cannot be used is a usage error."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

from pytest_chalk.errors import RunOptionError
from pytest_chalk.models.settings import ModelSettings
from pytest_chalk.plugin.config_file import read_run_config
from pytest_chalk.plugin.option_reader import OptionReader
from pytest_chalk.plugin.options import ON_COMMAND_LINE, Given
from pytest_chalk.plugin.parsers import (
    boolean,
    epochs,
    finite,
    one_of,
    positive_amount,
    positive_count,
    progress_interval,
    share,
    whole_number,
    word,
)
from pytest_chalk.plugin.result_settings import ResultSettings, read_result_settings
from pytest_chalk.reports.epochs import Epochs
from pytest_chalk.sandbox.isolation import SATISFIES
from pytest_chalk.schemas.record import PassRule
from pytest_chalk.schemas.spending import Budget

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_chalk.models.cassette import CassetteMode
    from pytest_chalk.models.pricing import PriceTable
    from pytest_chalk.plugin.config_models import ApiKeys, ConfigModels
    from pytest_chalk.plugin.rejudged import Rejudged
    from pytest_chalk.sandbox.isolation import Asked
    from pytest_chalk.schemas.run_config import RunConfig


PROGRESS_S: float | None = 30.0
"""Between two lines about a run. Short enough to tell a slow run from a hanging one."""


@dataclass(frozen=True)
class Gate:
    """When the session as a whole passes. `fail_under` None: any mean will do."""

    each: bool = True
    mean: bool = False
    fail_under: float | None = None
    min_scored: float = 1.0


@dataclass(frozen=True)
class JudgeChoice:
    """Which model judges ask. `name` None: none was chosen for the session."""

    name: str | None = None
    source: str = ""
    is_typed: bool = False


@dataclass(frozen=True)
class SessionSettings:
    """What was asked of the session.

    Attributes:
        run_config: The config every run starts from; `run_id` and `model` are filled in per run.
        only_task_id: From the config file's `task_id`; empty for all tasks.
        judge: The model that judges ask where they name none.
        allow_paid_everywhere: Whether models that cost money may be named in code and files.
        cassette_is_given: Whether recordings were asked for, or switched off, by anybody.
        prices: Of the user's own file; None without one.
        progress_s: Seconds between two lines about a run where there is no terminal; None for no
            word about runs that are under way, nowhere.
    """

    models: tuple[str, ...]
    models_source: str
    model_settings: ModelSettings
    api_keys: ApiKeys
    budget: Budget
    prices: PriceTable | None
    judge: JudgeChoice
    allow_paid: bool
    allow_paid_everywhere: bool
    isolation: Asked
    allow_readable_tasks: bool
    keep_box: bool
    cassette: Literal["off"] | CassetteMode
    cassette_is_given: bool
    cassette_dir: Path | None
    epochs: Epochs
    epochs_typed: bool
    run_config: RunConfig
    only_task_id: str
    pass_rule: PassRule
    gate: Gate
    session_base: Path
    keep_sessions: int
    junit_steps: bool
    junit_properties: bool
    progress_s: float | None
    results: ResultSettings

    def settings_of(self, name: str, *, for_judge: bool) -> ModelSettings:
        """Return what the model of that name is made with."""
        key = self.api_keys.find(name, for_judge=for_judge)
        return replace(self.model_settings, api_key=key)


def read_settings(config: pytest.Config) -> SessionSettings:
    """Return the session's settings.

    Raises:
        RunOptionError: A value cannot be used; names the source, what was found and what is
            accepted.
    """
    reader = OptionReader(config)
    run_config, file = read_run_config(reader)
    pass_score = reader.read("pass-score", finite, None)
    models = _models(reader, run_config)
    allow_paid = reader.read("allow-paid", boolean, default=False)
    return SessionSettings(
        models=models.texts,
        models_source=models.source,
        model_settings=_model_settings(reader, run_config),
        api_keys=file.keys(models.texts),
        budget=Budget(
            token_limit=reader.read("token-limit", positive_count, None),
            usd_limit=reader.read("usd-limit", positive_amount, None),
        ),
        prices=_read_prices(reader),
        judge=_judge(reader, file),
        allow_paid=models.rank == ON_COMMAND_LINE or allow_paid,
        allow_paid_everywhere=allow_paid,
        isolation=cast("Asked", reader.read("isolation", one_of(*SATISFIES), "auto")),
        allow_readable_tasks=reader.read("allow-readable-tasks", boolean, default=False),
        keep_box=reader.read("keep-box", boolean, default=False),
        cassette=_cassette_mode(reader),
        cassette_is_given=reader.given("cassette") is not None,
        cassette_dir=reader.path("cassette-dir"),
        epochs=reader.read("epochs", epochs, Epochs()),
        epochs_typed=reader.is_typed("epochs"),
        run_config=run_config,
        only_task_id=run_config.task_id,
        pass_rule=PassRule(pass_score=pass_score, source=reader.source("pass-score")),
        gate=_read_gate(reader),
        session_base=reader.path("session-dir") or config.rootpath / ".chalk",
        keep_sessions=reader.read("keep-sessions", positive_count, 10),
        junit_steps=reader.read("junit-steps", boolean, default=True),
        junit_properties=reader.read("junit-properties", boolean, default=True),
        progress_s=reader.read("progress", progress_interval, PROGRESS_S),
        results=read_result_settings(reader),
    )


def _cassette_mode(reader: OptionReader) -> Literal["off"] | CassetteMode:
    mode = reader.read("cassette", one_of("off", "replay", "record", "auto"), "off")
    return cast("CassetteMode", mode)


def as_then(settings: SessionSettings, rejudged: Rejudged | None) -> SessionSettings:
    """Return the settings with the students and epochs of what is judged again or validated."""
    if settings.results.validate:  # one item each; its own students come and go in it
        return replace(settings, models=("oracle",), epochs=Epochs(), epochs_typed=True)
    if rejudged is None:
        return settings
    models = settings.models if settings.models_source != "default" else rejudged.models
    repeats = Epochs(rejudged.epochs) if settings.epochs == Epochs() else settings.epochs
    return replace(settings, models=models, epochs=repeats)


def _read_gate(reader: OptionReader) -> Gate:
    which = reader.read("gate", one_of("each", "mean"), "")
    fail_under = reader.read("fail-under", finite, None)
    # With a baseline it is the comparison that decides, and what was not measured.
    mean = which == "mean" or fail_under is not None or reader.given("baseline") is not None
    return Gate(
        each=which == "each" or not mean,
        mean=mean,
        fail_under=fail_under,
        min_scored=reader.read("min-scored", share, 1.0),
    )


def _model_settings(reader: OptionReader, run_config: RunConfig) -> ModelSettings:
    return ModelSettings(
        base_url=reader.read("base-url", word, None),
        temperature=run_config.temperature,
        max_tokens=reader.read("max-tokens", positive_count, None),
        seed=reader.read("seed", whole_number, None),
        reasoning_effort=run_config.reasoning_effort,
    )


def _read_prices(reader: OptionReader) -> PriceTable | None:
    given, path = reader.given("prices"), reader.path("prices")
    if given is None or path is None:
        return None
    from pytest_chalk.models.pricing import parse_prices

    try:
        return parse_prices(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        where = f"{given.source}={given.text}"
        raise RunOptionError(
            where,
            str(error),
            fix='Name a JSON file such as {"openai/gpt-5": {"input": 1.25, "output": 10}}, in US '
            "dollars per million tokens",
        ) from None


def _judge(reader: OptionReader, file: ConfigModels) -> JudgeChoice:
    given = reader.given("judge-model")
    if file.judge is not None and (given is None or given.rank < file.rank):
        source = "the run config's rubric_judge_model"
        return JudgeChoice(file.judge, source, file.rank == ON_COMMAND_LINE)
    if given is None:
        return JudgeChoice()
    name = reader.read("judge-model", word, None)
    return JudgeChoice(name, given.source, given.rank == ON_COMMAND_LINE)


def _models(reader: OptionReader, run_config: RunConfig) -> Given:
    """Return the students' names, each once, and where they were given."""
    given = reader.given("model")
    if given is None and run_config.model:
        file = reader.given("config")
        rank = file.rank if file else 0
        given = Given((run_config.model,), "the run config's model", rank)
    if given is None:
        return Given(("oracle",), "default")
    return given._replace(texts=tuple(dict.fromkeys(given.texts)))

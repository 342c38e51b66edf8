"""What a run config file says about models beside `model`: the judges' one, and where keys are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.errors import RunOptionError
from pytest_chalk.runner.students import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FIELDS = frozenset({"model_api_key", "rubric_judge_model", "rubric_judge_api_key"})

_VARIABLE = re.compile(r"\$(\w+|\{\w+\})", re.ASCII)


@dataclass(frozen=True)
class ConfigModels:
    """Fields of a run config file that belong to the session rather than to a task.

    They are no part of the run config: that is written to records, and these are not.

    Attributes:
        where: The file, as messages name it.
        rank: How near to the user the file was named; see `Given.rank`.
        student: Its `model`; empty where it names none.
        student_key: `$NAME` of the variable with the key of that model's provider.
        judge: Its `rubric_judge_model`.
        judge_key: `$NAME` of the variable with that model's key.
    """

    where: str = ""
    rank: int = 0
    student: str = ""
    student_key: str | None = None
    judge: str | None = None
    judge_key: str | None = None

    def keys(self, students: Iterable[str]) -> ApiKeys:
        """Return whose keys they are, where these are the session's students.

        Raises:
            RunOptionError: There is a key, and students of several providers who might have it, or
                of none. That nobody but `oracle` works today is no mistake in the file.
        """
        names = {self.student} if self.student else {*students} - {*BUILT_IN}
        providers = {_provider(name) for name in names} - {""}
        if self.student_key is not None and names and not providers:
            raise RunOptionError(
                self.where,
                "has a model_api_key and no model of a provider",
                fix="Name there as `model` the one whose key it is, as openai/gpt-5",
            )
        if self.student_key is not None and len(providers) > 1:
            raise RunOptionError(
                self.where,
                f"has a model_api_key, and the models are of {', '.join(sorted(providers))}",
                fix="Name there as `model` the one whose key it is",
            )
        provider = next(iter(providers), "")
        return ApiKeys(provider, self.student_key, self.judge or "", self.judge_key)


@dataclass(frozen=True)
class ApiKeys:
    """Variables that hold keys, as `$NAME`, and whose keys these are; see `ConfigModels`."""

    provider: str = ""
    key: str | None = None
    judge: str = ""
    judge_key: str | None = None

    def find(self, name: str, *, for_judge: bool) -> str | None:
        """Return `$NAME` for a model; None for the provider's usual variable.

        A key is sent to no other provider than its own.
        """
        if for_judge and self.judge_key is not None and name == self.judge:
            return self.judge_key
        return self.key if self.provider and _provider(name) == self.provider else None


def read_config_models(found: Mapping[str, object], where: str, rank: int) -> ConfigModels:
    """Return what the fields of a config file say.

    Raises:
        RunOptionError: A key stands in the file itself, a name is no text, or there is a judges'
            key without their model. The message does not show the key.
    """
    judge, student = found.get("rubric_judge_model"), found.get("model")
    if judge is not None and not (isinstance(judge, str) and judge.strip()):
        raise RunOptionError(
            where, f"rubric_judge_model is {judge!r:.100}", fix="Name a model, as openai/gpt-5"
        )
    key, judge_key = (_key(found, f"{whose}_api_key", where) for whose in ("model", "rubric_judge"))
    if judge_key is not None and judge is None:
        raise RunOptionError(
            where,
            "has a rubric_judge_api_key and no rubric_judge_model",
            fix="Name the model whose key it is",
        )
    return ConfigModels(
        where,
        rank,
        student if isinstance(student, str) else "",
        key,
        judge,
        judge_key,
    )


def _key(found: Mapping[str, object], field: str, where: str) -> str | None:
    value = found.get(field)
    if value is None:
        return None
    if isinstance(value, str) and _VARIABLE.fullmatch(value):
        return value
    raise RunOptionError(
        where,
        f"has a {field} that is no name of a variable",
        fix='Put the key into the environment and write the name here, for example "$TEAM_KEY"',
    )


def _provider(name: str) -> str:
    prefix, slash, _ = name.partition("/")
    return prefix if slash else ""

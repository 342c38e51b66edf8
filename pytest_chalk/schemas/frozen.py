"""The base of every schema: immutable, validated, closed to unknown fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict

from pytest_chalk.schemas.plain import plain

Text: TypeAlias = Annotated[str, BeforeValidator(plain)]
"""Text that students and their tools can shape: valid UTF-8, lone surrogates as escapes."""

JsonObject: TypeAlias = Annotated[dict[str, Any], BeforeValidator(plain)]
"""A JSON object. Objects that JSON does not know pass through: `reports.clean` makes those text."""

Outcome: TypeAlias = Literal["passed", "failed", "misbehaved", "error", "not_run", "skipped"]
"""What became of a step or a run. Four of these say why there is no good score, and differ:
the work fell short, the student attacked, something broke, nothing was tried."""

Blame: TypeAlias = Literal["author", "student", "machine"]


class Frozen(BaseModel):
    """A value: compare it, pass it on, never change it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="strings"
    )

"""The base of every schema: immutable, validated, closed to unknown types."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object. The values are JSON once `reports.clean` has seen them, and not before."""

Outcome: TypeAlias = Literal["passed", "failed", "misbehaved", "error", "not_run", "skipped"]
"""What became of a step or a run. Four of these say why there is no good score, and differ:
the work fell short, the student attacked, something broke, nothing was tried."""

Blame: TypeAlias = Literal["author", "student", "machine"]


class Frozen(BaseModel):
    """A value: compare it, pass it on, never change it."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=False, ser_json_inf_nan="null")

"""What a judge returns."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from pydantic import field_validator

from pytest_chalk.schemas.frozen import Frozen


class Scoring(Frozen):
    """The verdict on one step: a finite score, why, and whether the task goes on.

    Attributes:
        score: A finite number, never a bool. 1 is full marks by convention; nothing is clamped.
        metadata: Anything that helps a reader; made JSON when it is written down.
        continue_task: False ends the task after this step.
        void: Why this score must not count, for a judge that could not measure what it was to
            measure (a scoring script that does not exist). None for every real verdict.
    """

    score: float
    metadata: dict[str, Any]
    continue_task: bool
    void: str | None = None

    def __init__(
        self,
        score: float,
        metadata: dict[str, Any],
        continue_task: bool,  # noqa: FBT001 - the seeds pass the three by name and by position
        void: str | None = None,
    ) -> None:
        super().__init__(score=score, metadata=metadata, continue_task=continue_task, void=void)

    @field_validator("score", mode="before")
    @classmethod
    def _is_a_finite_number(cls, score: object) -> float:
        if isinstance(score, bool) or not isinstance(score, Real):
            raise ValueError(f"a score is a number, found {score!r} ({type(score).__name__})")
        number = float(score)
        if not math.isfinite(number):
            raise ValueError(f"a score is a finite number, found {score!r}")
        return number

    @field_validator("continue_task", mode="before")
    @classmethod
    def _is_a_bool(cls, continue_task: object) -> object:
        if type(continue_task).__name__ in {"bool", "bool_"}:  # numpy's has its own type
            return bool(continue_task)
        raise ValueError(f"continue_task is True or False, found {continue_task!r}")

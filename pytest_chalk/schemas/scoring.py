"""What a judge returns."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

from pydantic import field_validator

from pytest_chalk.schemas.frozen import Blame, Frozen
from pytest_chalk.schemas.plain import as_bool, as_finite, encodable

_FIELDS = ("score", "metadata", "continue_task", "void")


class Scoring(Frozen):
    """The verdict on one step: a finite score, why, and whether the task goes on.

    Attributes:
        score: A finite number, never a bool. 1 is full marks by convention; nothing is clamped.
        metadata: Anything that helps a reader, by name; made JSON when it is written down.
        continue_task: False ends the task after this step.
        void: Why this score must not count, for a judge that could not measure what it was to
            measure (a scoring script that does not exist). None for every real verdict.
        void_blame: Who can put that right.
    """

    score: float
    metadata: dict[str, Any]
    continue_task: bool
    void: str | None = None
    void_blame: Blame = "author"

    if TYPE_CHECKING:

        def __init__(
            self,
            score: float,
            metadata: dict[str, Any],
            continue_task: bool,  # noqa: FBT001 - the seeds pass the three by name and by position
            void: str | None = None,
            *,
            void_blame: Blame = "author",
        ) -> None: ...

    else:

        def __init__(self, *values: object, **fields: object) -> None:
            # Not the signature above: pydantic comes here with what it read, and a field that is
            # missing there must be a validation error, not a TypeError.
            if len(values) > len(_FIELDS):
                message = f"Scoring takes {len(_FIELDS)} values at most, found {len(values)}"
                raise TypeError(message)
            by_position = dict(zip(_FIELDS, values, strict=False))
            if twice := sorted(by_position.keys() & fields.keys()):
                message = f"Scoring got {', '.join(twice)} both by position and by name"
                raise TypeError(message)
            super().__init__(**by_position, **fields)

    @field_validator("score", mode="before")
    @classmethod
    def _is_a_finite_number(cls, score: object) -> float:
        if isinstance(score, bool) or not isinstance(score, Real):
            message = f"a score is a number, found {_shown(score)} ({type(score).__name__})"
            raise ValueError(message)  # noqa: TRY004 - pydantic collects only ValueErrors
        number = as_finite(score)
        if number is None:
            message = f"a score is a finite number, found {_shown(score)}"
            raise ValueError(message)
        return number

    @field_validator("metadata", mode="before")
    @classmethod
    def _has_text_for_names(cls, metadata: object) -> object:
        if not isinstance(metadata, dict):
            return metadata
        return {_name(key): value for key, value in metadata.items()}

    @field_validator("continue_task", mode="before")
    @classmethod
    def _is_a_bool(cls, continue_task: object) -> bool:
        found = as_bool(continue_task)
        if found is None:
            message = f"continue_task is True or False, found {_shown(continue_task)}"
            raise ValueError(message)
        return found


def _shown(value: object) -> str:
    return f"{value!r:.100}" if not isinstance(value, int) or abs(value) < 1e100 else "a huge int"


def _name(key: object) -> str:
    return encodable(key if isinstance(key, str) else str(key))

"""Numbers that judges are built with, checked there: a slip of the author's must not become a 0."""

from __future__ import annotations

import math

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.schemas.plain import as_finite

MAX_SECONDS = 100_000_000
"""Three years: more than a timer takes is no limit, and no limit is what a judge must not have."""


def as_time_limit(judge: str, value: object) -> float:
    """Return the seconds that a judge may take.

    Raises:
        TaskDefinitionError: It is no number above 0, or no limit at all.
    """
    seconds = as_finite(value)
    if seconds is None or not 0 < seconds <= MAX_SECONDS:
        raise TaskDefinitionError(
            judge,
            f"timeout_s is {value!r:.200}",
            fix=f"Give a number of seconds above 0, at most {MAX_SECONDS:,}",
        )
    return seconds


def as_threshold(judge: str, value: object) -> float:
    """Return the score from which on a task goes on; infinite for always or never.

    Raises:
        TaskDefinitionError: It is no number.
    """
    if isinstance(value, float) and math.isinf(value):
        return value
    number = as_finite(value)
    if number is None:
        raise TaskDefinitionError(
            judge, f"continue_threshold is {value!r:.200}", fix="Give a number"
        )
    return number

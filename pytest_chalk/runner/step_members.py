"""What the author of a step has declared, checked when it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.schemas.plain import as_finite
from pytest_chalk.schemas.record import PassRule

if TYPE_CHECKING:
    from pytest_chalk.authoring.judge import Judge
    from pytest_chalk.authoring.step import Step


def instructions_of(step: Step) -> str:
    """Return the step's instructions.

    Raises:
        TaskDefinitionError: They are no text.
    """
    instructions = step.instructions
    if isinstance(instructions, str):
        return instructions
    raise TaskDefinitionError(
        where=f"{type(step).__name__}.instructions",
        problem=f"is {instructions!r}, which is no text",
        fix="Declare it with @property and return a str",
    )


def judge_of(step: Step) -> Judge:
    """Return the step's judge.

    Raises:
        TaskDefinitionError: It cannot judge.
    """
    judge = step.judge
    if callable(getattr(judge, "evaluate", None)):
        return judge
    raise TaskDefinitionError(
        where=f"{type(step).__name__}.judge",
        problem=f"is {judge!r}, which is no judge",
        fix="Declare it with @property and return a Judge, for example RegexJudge([...])",
    )


def rule_of(step: Step) -> PassRule | None:
    """Return the step's own pass rule; None where it has none.

    Raises:
        TaskDefinitionError: Its pass score is no finite number.
    """
    own = step.pass_score
    if own is None:
        return None
    where = f"{type(step).__name__}.pass_score"
    pass_score = as_finite(own)
    if pass_score is None:
        raise TaskDefinitionError(
            where=where,
            problem=f"is {own!r}, which is no finite number",
            fix="Return a number, or None to leave it to the options",
        )
    return PassRule(pass_score=pass_score, source=where)

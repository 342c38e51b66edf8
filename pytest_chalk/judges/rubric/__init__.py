"""`RubricJudge`: asks a model whether the student's work meets each criterion of a rubric."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.grading.arguments import as_threshold, as_time_limit
from pytest_chalk.judges.rubric.contexts import (
    AnswersContext,
    FileContext,
    RubricContext,
    TranscriptContext,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript

__all__ = [
    "AnswersContext",
    "FileContext",
    "RubricContext",
    "RubricCriterion",
    "RubricJudge",
    "TranscriptContext",
]

RUBRIC_TIME_LIMIT_S = 600.0
"""For all questions about one step together. A model that thinks takes a minute for one; a provider
in trouble is asked again for several."""

MAX_VOTES = 25
"""For each criterion. More cost money and decide nothing."""


class RubricCriterion(TypedDict):
    """A statement about the work, and what it adds to the score if it is true."""

    criterion: str
    weight: float


class RubricJudge(Judge):
    """Scores the sum of the weights of the criteria that a model says are met.

    Each criterion is a question of its own, asked once more if the reply is no verdict. A criterion
    that nobody could judge makes the step an error, whatever the others came to.
    """

    def __init__(  # noqa: PLR0913 - all but the rubric have a default, and are given by name
        self,
        rubric: Sequence[RubricCriterion],
        context: Sequence[RubricContext] | None = None,
        model: Model | str | None = None,
        continue_threshold: float = 0.0,
        *,
        votes: int = 1,
        timeout_s: float = RUBRIC_TIME_LIMIT_S,
    ) -> None:
        """Take a rubric and what to judge by it.

        Args:
            rubric: `{"criterion": text, "weight": number}`, each. Weights may be negative, and
                need not add up to 1.
            context: What the model is shown; the transcript where nothing is given.
            model: A model or its name; None for `--chalk-judge-model`, else the run's own.
            continue_threshold: The task goes on if the score is above this.
            votes: How often each question is asked, an odd number; the majority decides.
            timeout_s: Seconds for all questions together.

        Raises:
            TaskDefinitionError: One of these cannot be used.
        """
        from pytest_chalk.grading.rubric import parse_rubric  # noqa: PLC0415 - needs pydantic

        self.criteria = parse_rubric(rubric)
        self.context = tuple(context) if context else (TranscriptContext(),)
        for one in self.context:
            if not callable(getattr(one, "render", None)):
                raise _bad("context", one, "Give contexts such as FileContext([path])")
        self.model = model
        self.continue_threshold = as_threshold("RubricJudge", continue_threshold)
        if isinstance(votes, bool) or votes not in range(1, MAX_VOTES + 1, 2):
            raise _bad("votes", votes, f"Give an odd number from 1 to {MAX_VOTES}")
        self.votes = votes
        self.timeout_s = as_time_limit("RubricJudge", timeout_s)

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Ask the model and return the sum.

        Raises:
            RunOptionError: There is no model to ask.
        """
        # Here and not at the top: a scoring script that imports its task asks no model.
        from pytest_chalk.judges.rubric.asking import judge_by_rubric  # noqa: PLC0415

        return judge_by_rubric(self, transcript)


def _bad(name: str, value: object, fix: str) -> TaskDefinitionError:
    return TaskDefinitionError("RubricJudge", f"{name} is {value!r:.200}", fix=fix)

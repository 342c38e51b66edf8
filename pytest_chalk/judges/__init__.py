"""Judges that come with the package. Combine them with `&` and `|`; write your own on `Judge`."""

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.judges.executable import ExecutableJudge
from pytest_chalk.judges.file import FileJudge
from pytest_chalk.judges.hidden_tests import HiddenTestsJudge
from pytest_chalk.judges.regex import RegexJudge
from pytest_chalk.judges.rubric import (
    AnswersContext,
    FileContext,
    RubricContext,
    RubricCriterion,
    RubricJudge,
    TranscriptContext,
)
from pytest_chalk.judges.simple import AlwaysPassJudge

__all__ = [
    "AlwaysPassJudge",
    "AnswersContext",
    "ExecutableJudge",
    "FileContext",
    "FileJudge",
    "HiddenTestsJudge",
    "Judge",
    "RegexJudge",
    "RubricContext",
    "RubricCriterion",
    "RubricJudge",
    "TranscriptContext",
]

"""`chalk.judges`: alias of `pytest_chalk.judges`."""

from pytest_chalk.judges import (
    AlwaysPassJudge,
    AnswersContext,
    ExecutableJudge,
    FileContext,
    FileJudge,
    HiddenTestsJudge,
    Judge,
    RegexJudge,
    RubricContext,
    RubricCriterion,
    RubricJudge,
    TranscriptContext,
)

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

"""`chalk.judges`: alias of `pytest_chalk.judges`."""

from pytest_chalk.judges import (
    AlwaysPassJudge,
    ExecutableJudge,
    FileJudge,
    HiddenTestsJudge,
    Judge,
    RegexJudge,
)

__all__ = [
    "AlwaysPassJudge",
    "ExecutableJudge",
    "FileJudge",
    "HiddenTestsJudge",
    "Judge",
    "RegexJudge",
]

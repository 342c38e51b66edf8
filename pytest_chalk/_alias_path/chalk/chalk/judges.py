"""`chalk.judges`: alias of `pytest_chalk.judges`."""

from pytest_chalk.judges import (
    AlwaysPassJudge,
    ExecutableJudge,
    Judge,
    RegexJudge,
)

__all__ = [
    "AlwaysPassJudge",
    "ExecutableJudge",
    "Judge",
    "RegexJudge",
]

"""`chalk.schemas.run_config`: alias of `pytest_chalk.schemas.run_config`."""

from pytest_chalk.schemas.run_config import (
    EvaluationRunConfig,
    OnLimit,
    RunConfig,
)

__all__ = [
    "EvaluationRunConfig",
    "OnLimit",
    "RunConfig",
]

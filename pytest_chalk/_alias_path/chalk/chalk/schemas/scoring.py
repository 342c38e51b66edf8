"""`chalk.schemas.scoring`: alias of `pytest_chalk.schemas.scoring`."""

from pytest_chalk.schemas.scoring import (
    Scoring,
)

__all__ = [
    "Scoring",
]

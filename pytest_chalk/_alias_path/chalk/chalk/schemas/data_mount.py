"""`chalk.schemas.data_mount`: alias of `pytest_chalk.schemas.data_mount`."""

from pytest_chalk.schemas.data_mount import (
    DataMount,
)

__all__ = [
    "DataMount",
]

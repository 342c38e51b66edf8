"""`environment.submissions`: alias of the functions of `pytest_chalk.sandbox`."""

from pytest_chalk.sandbox import (
    collect_submission,
    delete_files,
    kill_processes,
    save_artifact,
    save_submission,
)

__all__ = [
    "collect_submission",
    "delete_files",
    "kill_processes",
    "save_artifact",
    "save_submission",
]

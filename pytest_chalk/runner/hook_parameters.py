"""What a task's `pre_hook` asks for beyond itself."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chalk.authoring.task import Task


def hook_parameters(task_class: type[Task]) -> list[str]:
    """Return the names of `pre_hook`'s parameters beyond self: fixtures under pytest."""
    parameters = list(inspect.signature(task_class.pre_hook).parameters.values())[1:]
    return [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]

"""A tool of ours that is a plain function of the student's files."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_chalk.tools.signature import ToolSignature, read_signature
from pytest_chalk.tools.student_files import StudentFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_chalk.authoring.tool import ToolAnswer
    from pytest_chalk.sandbox import Box


class FileTool:
    """Calls a function with the student's files and what the model gave."""

    uses_box = True

    def __init__(self, function: Callable[..., ToolAnswer], box: Box) -> None:
        signature = _signature(function)
        self.name = function.__name__
        self.description = signature.description
        self.parameters: Mapping[str, Any] = signature.parameters
        self._signature, self._function, self._box = signature, function, box

    def call(self, arguments: Mapping[str, Any], *, time_limit_s: float | None) -> ToolAnswer:
        """Carry out one call.

        Raises:
            ToolRefusalError: The arguments or the file cannot be used.
            BoxError: The box is broken.
        """
        given = self._signature.bind(arguments)
        return self._function(StudentFiles(self._box, time_limit_s), **given)

    def close(self) -> None:
        """Do nothing: a call leaves nothing behind."""


@cache
def _signature(function: Callable[..., ToolAnswer]) -> ToolSignature:
    name = function.__name__
    description = inspect.getdoc(function) or name
    return read_signature(f"tool {name!r}", function, description=description, without_first=True)

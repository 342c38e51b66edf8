"""Tools by name, and the toolbox of one run: it answers calls, well-formed or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.ports import ToolSchema
from pytest_chalk.authoring.tool import Tool, ToolAnswer, ToolRefusalError
from pytest_chalk.errors import TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.chat import ToolCall


def _make_bash(box: Box) -> Tool:
    from pytest_chalk.tools.bash import BashTool

    return BashTool(box)


_MAKERS: Mapping[str, Callable[[Box], Tool]] = {"bash": _make_bash}


def tool_names() -> tuple[str, ...]:
    """Return the names of the tools there are."""
    return tuple(sorted(_MAKERS))


def check_tool_names(owner: str, names: Iterable[str]) -> None:
    """Raise unless every name is a tool.

    Raises:
        TaskDefinitionError: Names the first unknown one and those there are.
    """
    for name in names:
        if name not in _MAKERS:
            raise TaskDefinitionError(
                owner,
                f"tools lists {name!r}, which is no tool",
                fix=f"Use one of: {', '.join(tool_names())}",
            )


class Toolbox:
    """The tools of one run. What a student calls wrongly is answered, never raised."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    @classmethod
    def open(cls, owner: str, names: Sequence[str], box: Box) -> Toolbox:
        """Make the tools that a task lists.

        Raises:
            TaskDefinitionError: One of the names is no tool.
        """
        check_tool_names(owner, names)
        return cls([_MAKERS[name](box) for name in dict.fromkeys(names)])

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The tools as the model sees them."""
        return tuple(
            ToolSchema(tool.name, tool.description, tool.parameters)
            for tool in self._tools.values()
        )

    def answer(self, tool_call: ToolCall, *, time_limit_s: float | None) -> ToolAnswer:
        """Carry out a call within `time_limit_s` seconds; None leaves the tool its own limit.

        Raises:
            MachineError: The box is broken.
        """
        name = tool_call.function.name or ""
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolAnswer(f"Error: there is no tool {name!r}. Tools: {known}.", is_error=True)
        arguments = parse_arguments(tool_call.function.arguments)
        if isinstance(arguments, str):
            return ToolAnswer(f"Error: {arguments}", is_error=True)
        try:
            return tool.call(arguments, time_limit_s=time_limit_s)
        except ToolRefusalError as refusal:
            return ToolAnswer(f"Error: {refusal}", is_error=True)

    def close(self) -> None:
        """Close every tool."""
        for tool in self._tools.values():
            tool.close()


def parse_arguments(text: str) -> dict[str, Any] | str:
    """Return the arguments of a call, or what is wrong with them in words for the student."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        return f"the tool arguments are no valid JSON ({type(error).__name__})."
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        return "the tool arguments must be a JSON object."
    return arguments

"""Tools by name, and the toolbox of one run: it answers calls, well-formed or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.ports import ToolSchema
from pytest_chalk.authoring.tool import Tool, ToolAnswer, ToolRefusalError
from pytest_chalk.errors import TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.chat import ToolCall
    from pytest_chalk.tools.custom import CallUser


def _make_bash(box: Box) -> Tool:
    from pytest_chalk.tools.bash import BashTool

    return BashTool(box)


def _make_replace_in_file(box: Box) -> Tool:
    from pytest_chalk.tools.file_tool import FileTool
    from pytest_chalk.tools.replace_in_file import replace_in_file

    return FileTool(replace_in_file, box)


def _make_submit_answer(_box: Box) -> Tool:
    from pytest_chalk.tools.submit_answer import SubmitAnswerTool

    return SubmitAnswerTool()


def _make_view_image_file(box: Box) -> Tool:
    from pytest_chalk.tools.file_tool import FileTool
    from pytest_chalk.tools.view_image_file import view_image_file

    return FileTool(view_image_file, box)


def _make_view_lines_in_file(box: Box) -> Tool:
    from pytest_chalk.tools.file_tool import FileTool
    from pytest_chalk.tools.view_lines_in_file import view_lines_in_file

    return FileTool(view_lines_in_file, box)


_MAKERS: Mapping[str, Callable[[Box], Tool]] = {
    "bash": _make_bash,
    "replace_in_file": _make_replace_in_file,
    "submit_answer": _make_submit_answer,
    "view_image_file": _make_view_image_file,
    "view_lines_in_file": _make_view_lines_in_file,
}
"""The tools that come with the package. Each is imported where a task uses it."""


def tool_names() -> tuple[str, ...]:
    """Return the names of the tools that come with the package."""
    return tuple(sorted(_MAKERS))


def check_tool_names(owner: str, names: Iterable[str], search_dirs: Sequence[Path] = ()) -> None:
    """Raise unless every name is a tool that can be used; imports those of the project.

    Raises:
        TaskDefinitionError: Names the first that is none, or what is wrong with its file.
    """
    from pytest_chalk.tools.tool_file import find_tool_file

    for name in names:
        path = find_tool_file(name, search_dirs)
        if path is not None:
            from pytest_chalk.tools.tool_code import load_tool

            load_tool(name, path)
        elif name not in _MAKERS:
            raise _unknown(owner, name, search_dirs)


def _unknown(owner: str, name: str, search_dirs: Sequence[Path]) -> TaskDefinitionError:
    looked = f" and has no file in {' or '.join(map(str, search_dirs))}" if search_dirs else ""
    return TaskDefinitionError(
        owner,
        f"tools lists {name!r}, which is no tool{looked}",
        fix=f"Use one of: {', '.join(tool_names())}; or write tools/{name}.py beside the task, "
        "with a function of that name",
    )


class Toolbox:
    """The tools of one run. What a student calls wrongly is answered, never raised."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    @classmethod
    def open(
        cls,
        owner: str,
        names: Sequence[str],
        box: Box,
        *,
        search_dirs: Sequence[Path] = (),
        call_user: CallUser | None = None,
    ) -> Toolbox:
        """Make the tools that a task lists; one of the project goes before ours of that name.

        `call_user` calls what authors wrote; without it, what their tools raise goes on.

        Raises:
            TaskDefinitionError: One of the names is no tool, or the tool cannot be used.
        """
        check_tool_names(owner, names, search_dirs)
        return cls([_make(name, box, search_dirs, call_user) for name in dict.fromkeys(names)])

    @property
    def uses_box(self) -> bool:
        """Whether one of the tools runs something as the student."""
        return any(getattr(tool, "uses_box", False) for tool in self._tools.values())

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


def _make(name: str, box: Box, search_dirs: Sequence[Path], call_user: CallUser | None) -> Tool:
    from pytest_chalk.tools.tool_file import find_tool_file

    path = find_tool_file(name, search_dirs)
    if path is None:
        return _MAKERS[name](box)
    from pytest_chalk.tools.custom import CustomTool, call_directly
    from pytest_chalk.tools.tool_code import load_tool

    return CustomTool(load_tool(name, path), call_user or call_directly)


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

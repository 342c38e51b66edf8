"""The turns of a scripted student: what `ScriptedModel` plays and `Step.solution` may hold."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from pytest_chalk.schemas.frozen import Frozen


class Call(Frozen):
    """One tool call of a scripted turn."""

    tool: str
    arguments: dict[str, Any]

    @property
    def arguments_json(self) -> str:
        """The arguments as a model would write them."""
        return json.dumps(self.arguments)


Turn: TypeAlias = str | Call | list[Call]
"""One model turn: a message without tool calls, or a turn with one or several tool calls."""


def call(tool: str, /, **arguments: Any) -> Call:  # noqa: ANN401 - whatever the tool takes
    """Return a call of `tool`, for example `call("bash", command="ls")`."""
    return Call(tool=tool, arguments=arguments)

"""What a tool is to the message loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ToolAnswer:
    """What the student is told (`text`), and what a reader of the transcript may look at."""

    text: str
    is_error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


class ToolRefusalError(Exception):
    """A call the tool will not carry out; its message is the answer the student gets."""


class Tool(Protocol):
    """One tool of one run.

    Attributes:
        name: How the model calls it.
        description: For the model.
        parameters: JSON schema of the arguments, an object schema.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class

    @property
    def description(self) -> str: ...  # noqa: D102 - see the class

    @property
    def parameters(self) -> Mapping[str, Any]: ...  # noqa: D102 - see the class

    def call(self, arguments: Mapping[str, Any], *, time_limit_s: float | None) -> ToolAnswer:
        """Carry out one call within `time_limit_s` seconds (None: the tool's own limit).

        Raises:
            ToolRefusalError: The arguments cannot be used; the message is for the student.
            MachineError: The box is broken; the run cannot go on.
        """
        ...

    def close(self) -> None:
        """Give up what the tool holds; called once at the end of the run."""
        ...

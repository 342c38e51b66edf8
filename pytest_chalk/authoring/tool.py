"""What a tool is to the message loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class ToolAnswer:
    """What came of a call.

    Attributes:
        text: What the student is told.
        is_error: Whether the call did not do what was asked.
        details: For readers of the transcript; the student does not see them.
        parts: What the student is shown after the text, as parts of a chat message, for example
            `{"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}`.
        answers: What the student handed in with this call, by name.
    """

    text: str
    is_error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Mapping[str, Any]] = ()
    answers: Mapping[str, str] = field(default_factory=dict)


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

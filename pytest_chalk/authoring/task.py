"""`Task`: what the student sees, which tools it gets, and the steps its work is scored in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from typing_extensions import override

from pytest_chalk.authoring.properties import refuse_plain_methods

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_chalk.authoring.step import Step
    from pytest_chalk.schemas.data_mount import DataMount
    from pytest_chalk.schemas.run_config import RunConfig

MAX_ID_LENGTH = 255
"""Characters of a task id: it becomes a file name, and no file system takes a longer one."""

_PROPERTIES = frozenset(
    {"data_mounts", "required_hardware", "steps", "submission_paths", "system_prompt", "tools"}
)


class Task(ABC):
    """Subclass it in a task package, set `id`, and implement `system_prompt`, `steps`, `tools`.

    A task is built with its run's config. It is also built with a placeholder config (empty
    `run_id`, `task_id` and `model`) to read `tools`, `steps`, `required_hardware`,
    `submission_paths` and `data_mounts`, which must work with it.

    Attributes:
        id: Unique within the project, at most 255 characters.
        config: The run's config.
    """

    id: ClassVar[str] = ""

    def __init__(self, config: RunConfig) -> None:
        self.config: Final = config

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        refuse_plain_methods(cls, cls.__dict__, _PROPERTIES)

    def __new__(cls, *_args: object, **_kwargs: object) -> Self:
        """Refuse a class that still lacks members, naming them all."""
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        if missing:
            message = (
                f"{cls.__module__}.{cls.__qualname__} cannot be built: it does not implement "
                f"{', '.join(missing)}. Write each as a property, for example\n"
                f"    @property\n    def {missing[0]}(self): ...\n"
                "(return None from system_prompt for no system message)"
            )
            raise TypeError(message)
        return super().__new__(cls)

    @property
    @abstractmethod
    def system_prompt(self) -> str | None:
        """The system message; None or empty for none."""

    @property
    @abstractmethod
    def steps(self) -> Iterable[Step]:
        """The steps, in order. Read once per run; state lives on the steps it returns."""

    @property
    @abstractmethod
    def tools(self) -> list[str]:
        """Names of the tools the student may call."""

    @property
    def required_hardware(self) -> str | None:
        """A hardware name that a plugin defines; None for any machine."""
        return None

    @property
    def submission_paths(self) -> tuple[Path, ...]:
        """Every step's submission paths, in order, each once."""
        paths = [path for step in self.steps for path in step.submission_paths or ()]
        return tuple(dict.fromkeys(paths))

    @property
    def data_mounts(self) -> list[DataMount]:
        """Data sets that have to be there: a backend mounts them, or somebody put them there."""
        return []

    def configure_tools(self) -> None:  # noqa: B027 - a hook that most tasks leave alone
        """Configure tools; called before the task's tools are made."""

    def pre_hook(self) -> dict[str, Any] | None:
        """Prepare the task; called once before the first step.

        The dict it returns is recorded in the transcript. Further parameters are pytest fixtures.
        """
        return {}

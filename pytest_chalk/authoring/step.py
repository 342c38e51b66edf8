"""`Step`: instructions for the student, and the judge that scores what came of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import override

from pytest_chalk.authoring.properties import refuse_plain_methods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.authoring.judge import Judge
    from pytest_chalk.authoring.script import Turn
    from pytest_chalk.schemas.run_config import RunConfig


class Step(ABC):
    """Subclass it and implement `instructions` and `judge`.

    Attributes:
        config: The run's config, shared with the task.
        submission_paths: Where the student writes what it hands in: absolute paths in a tuple, as
            a property or a class attribute; None for nothing.
        name: How reports call the step; the class name if empty.
        pass_score: The score from which on the step passes; None leaves it to the options.
        solution: How the oracle solves the step: a shell script, run in the box as the student,
            whose output becomes its final message; or a list of turns as for `ScriptedModel`.
    """

    submission_paths: ClassVar[Any] = None
    name: ClassVar[Any] = ""
    pass_score: ClassVar[Any] = None
    solution: ClassVar[Any] = None

    if TYPE_CHECKING:
        _solution_type: str | Sequence[Turn] | None

    def __init__(self, config: RunConfig) -> None:
        self.config: Final = config

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - passed on untouched
        super().__init_subclass__(**kwargs)
        refuse_plain_methods(cls, cls.__dict__, ("submission_paths",))
        _check_submission_paths(cls)

    @property
    @abstractmethod
    def instructions(self) -> str:
        """What the student is told."""

    @property
    @abstractmethod
    def judge(self) -> Judge:
        """Who scores the step. Read after `pre_scoring_hook`, so it can use what that prepared."""

    def pre_scoring_hook(self) -> None:
        """Stop the student and collect its submission; called when it has finished the step."""

    def post_hook(self) -> None:
        """Clean up; called whenever the step began, also after an error or a limit."""


def validated_submission_paths(owner: str, paths: object) -> tuple[Path, ...] | None:
    """Return `paths` unchanged if a step may name them.

    Raises:
        TypeError: They are neither None nor a tuple.
        ValueError: One of them is not an absolute `Path`.
    """
    if paths is None:
        return None
    if not isinstance(paths, tuple):
        raise TypeError(
            f"{owner}: submission_paths must be a tuple of paths, got {type(paths).__name__}"
        )
    for path in paths:
        if not isinstance(path, Path) or not path.is_absolute():
            raise ValueError(
                f"{owner}: submission_paths must be absolute, got {str(path)!r}. "
                "Write a Path such as STUDENT_DATA_DIR / 'answer.txt'"
            )
    return paths


def _check_submission_paths(cls: type[Step]) -> None:
    declared = cls.__dict__.get("submission_paths")
    owner = f"{cls.__module__}.{cls.__qualname__}"
    if isinstance(declared, property):
        if declared.fget is not None and not getattr(declared.fget, "__isabstractmethod__", False):
            cls.submission_paths = _validating(owner, declared)
    elif not hasattr(type(declared), "__get__"):
        validated_submission_paths(owner, declared)


def _validating(owner: str, declared: property) -> property:
    getter = declared.fget
    if getter is None:  # pragma: no cover - the caller looked
        return declared

    @wraps(getter)
    def read(self: Step) -> tuple[Path, ...] | None:
        return validated_submission_paths(owner, getter(self))

    return property(read, declared.fset, declared.fdel, declared.__doc__)

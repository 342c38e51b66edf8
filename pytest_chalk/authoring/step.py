"""`Step`: instructions for the student, and the judge that scores what came of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from typing_extensions import override

from pytest_chalk.authoring.properties import refuse_plain_methods
from pytest_chalk.schemas.plain import as_finite

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chalk.authoring.judge import Judge
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

    def __init__(self, config: RunConfig) -> None:
        self.config: Final = config

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        refuse_plain_methods(cls, cls.__dict__, ("submission_paths",))
        _check_submission_paths(cls)
        _check_pass_score(cls)

    @property
    @abstractmethod
    def instructions(self) -> str:
        """What the student is told."""

    @property
    @abstractmethod
    def judge(self) -> Judge:
        """Who scores the step. Read after `pre_scoring_hook`, so it can use what that prepared."""

    def pre_scoring_hook(self) -> None:  # noqa: B027 - a hook that many steps leave alone
        """Stop the student and collect its submission; called when it has finished the step."""

    def post_hook(self) -> None:  # noqa: B027 - a hook that most steps leave alone
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
        message = f"{owner}: submission_paths must be a tuple of paths, got {type(paths).__name__}"
        raise TypeError(message)
    for path in paths:
        if not isinstance(path, Path) or not path.is_absolute():
            message = (
                f"{owner}: submission_paths must be absolute, got {str(path)!r} "
                f"({type(path).__name__}). Write a Path such as STUDENT_DATA_DIR / 'answer.txt'"
            )
            raise ValueError(message)
    return paths


def _check_submission_paths(cls: type[Step]) -> None:
    declared = cls.__dict__.get("submission_paths")
    owner = _owner(cls)
    if isinstance(declared, property):
        # An abstract one is left alone: the wrapper would hide from ABC that it is abstract.
        if declared.fget is not None and not declared.__isabstractmethod__:
            cls.submission_paths = declared.getter(_validating(owner, declared.fget))
    elif isinstance(declared, cached_property):
        checked = cached_property(_validating(owner, declared.func))
        checked.__set_name__(cls, "submission_paths")
        cls.submission_paths = checked
    elif not hasattr(type(declared), "__get__"):
        validated_submission_paths(owner, declared)


def _validating(
    owner: str, getter: Callable[[Any], Any]
) -> Callable[[Any], tuple[Path, ...] | None]:
    @wraps(getter)
    def read(self: Step) -> tuple[Path, ...] | None:
        return validated_submission_paths(owner, getter(self))

    return read


def _check_pass_score(cls: type[Step]) -> None:
    declared = cls.__dict__.get("pass_score")
    if declared is None or hasattr(type(declared), "__get__"):
        return
    if as_finite(declared) is None:
        message = f"{_owner(cls)}: pass_score must be a finite number or None, got {declared!r}"
        raise TypeError(message)


def _owner(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"

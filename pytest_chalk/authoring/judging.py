"""What the run lends to a judge that asks a model: the model, its recording, and a place for usage.

Only one step is judged at a time in a process, so a judge finds it here without being handed it.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_chalk.authoring.ports import Model, ModelReply


class JudgeModels(Protocol):
    """Finds the models that judges ask, and stands between the two."""

    def find(self, wanted: Model | str | None) -> Model:
        """Return the model to ask: the one that is wanted, by name or itself, or the default.

        Raises:
            RunOptionError: There is none, or it may not be asked. Says what to do.
        """
        ...

    def converse(self, model: Model, label: str) -> Model:
        """Return the model as it is asked in one conversation of a run, recorded or replayed.

        `label` is unique in the run and the same in every run.
        """
        ...


@dataclass(frozen=True)
class Judging:
    """One step being judged.

    Attributes:
        step: From 0.
        take_down: Told of every reply, with the name of the model, in the order of the questions.
        numbers: A number for each judge that asks, from 1 in the order in which they do.
    """

    step: int
    models: JudgeModels
    take_down: Callable[[str, ModelReply], None]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))


_current: list[Judging] = []


@contextmanager
def enter_judging(judging: Judging) -> Iterator[None]:
    """Make `judging` the current one until the block ends."""
    _current.append(judging)
    try:
        yield
    finally:
        _current.remove(judging)


def find_judging() -> Judging | None:
    """Return the innermost, None outside of a run."""
    return _current[-1] if _current else None

"""`@pytest.mark.chalk(...)` on a task class: how often it runs, and what its runs have to reach."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.plugin.items import class_marks
from pytest_chalk.plugin.parsers import epochs as parse_epochs
from pytest_chalk.reports.epochs import Bars, Epochs
from pytest_chalk.schemas.plain import as_finite

if TYPE_CHECKING:
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.plugin.settings import SessionSettings

DECLARATION = (
    "chalk(epochs, min_mean, min_pass_rate, confidence): how often a task is run by each student, "
    "and the mean score and the share of passes that its runs have to reach together"
)
_KEYS = ("epochs", "min_mean", "min_pass_rate", "confidence")


@dataclass(frozen=True)
class TaskMark:
    """What the marks of a task say; of several the one nearest to the class wins, key by key."""

    epochs: Epochs | None
    bars: Bars


_NO_MARK = TaskMark(None, Bars())


@functools.cache
def read_mark(task_class: type[Task]) -> TaskMark:
    """Return what the marks of a task say.

    Raises:
        TaskDefinitionError: One of them says what cannot be used.
    """
    marks = class_marks(task_class)
    if not any(mark.name == "chalk" for mark in marks):
        return _NO_MARK
    said: dict[str, Any] = {}
    for mark in marks:
        if mark.name == "chalk":
            unknown = [repr(value) for value in mark.args] + sorted(mark.kwargs.keys() - set(_KEYS))
            if unknown:
                raise _unusable(task_class, f"has {', '.join(unknown)}", f"Use {', '.join(_KEYS)}")
            said |= mark.kwargs
    epochs = said.get("epochs")
    confidence = _number(task_class, said, "confidence", highest=1)
    bars = Bars(
        min_mean=_number(task_class, said, "min_mean"),
        min_pass_rate=_number(task_class, said, "min_pass_rate", highest=1),
    )
    if confidence is not None:
        if not 0 < confidence < 1:
            raise _unusable(task_class, f"has confidence={confidence:g}", "Give one as 0.95")
        bars = Bars(bars.min_mean, bars.min_pass_rate, confidence)
    return TaskMark(None if epochs is None else _epochs(task_class, epochs), bars)


def epochs_of(task_class: type[Task], settings: SessionSettings) -> Epochs:
    """Return how often a task runs: command line, then its marks, then environment and ini file."""
    marked = read_mark(task_class).epochs
    return settings.epochs if marked is None or settings.epochs_typed else marked


def bars_of(task_class: type[Task], settings: SessionSettings) -> Bars | None:
    """Return what a task's runs have to reach together; None where each has to pass by itself."""
    bars = read_mark(task_class).bars
    if not bars.is_set:
        return None
    auto = epochs_of(task_class, settings).auto
    return Bars(bars.min_mean, bars.min_pass_rate, bars.confidence, auto)


def _epochs(task_class: type[Task], found: object) -> Epochs:
    try:
        return parse_epochs(repr(found) if isinstance(found, bool) else str(found))
    except ValueError as error:
        raise _unusable(task_class, f"has epochs={found!r}", f"Give {error}") from None


def _number(
    task_class: type[Task], said: dict[str, Any], key: str, *, highest: float | None = None
) -> float | None:
    found = said.get(key)
    if found is None:
        return None
    number = as_finite(found)
    if number is None or (highest is not None and not 0 <= number <= highest):
        wanted = "a finite number" if highest is None else f"a number from 0 to {highest:g}"
        raise _unusable(task_class, f"has {key}={found!r}", f"Give {wanted}")
    return number


def _unusable(task_class: type[Task], problem: str, fix: str) -> TaskDefinitionError:
    return TaskDefinitionError(f"@pytest.mark.chalk of {task_class.__qualname__}", problem, fix=fix)

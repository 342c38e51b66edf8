"""What a rescore copies and what it calls: a plan, from two definitions and the cells that failed.

Pure: no store, no clock, no user code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.schemas.evaluation import Definition, ScorerSpec

TASK = 0
"""The task's position among the cells of a row; scorers follow from 1."""


@dataclass(frozen=True)
class Action:
    """What becomes of one column of cells.

    Attributes:
        copy_from: The position in the source run that it is copied from; None calls every row.
        recall: Rows that are called although the others are copied.
    """

    copy_from: int | None = None
    recall: tuple[int, ...] = ()

    @cached_property
    def recalled(self) -> frozenset[int]:
        """The same rows, for looking one up."""
        return frozenset(self.recall)

    def calls(self, row: int) -> bool:
        """Tell whether a row is called."""
        return self.copy_from is None or row in self.recalled

    @property
    def calls_every_row(self) -> bool:
        """Whether nothing is copied."""
        return self.copy_from is None


@dataclass(frozen=True)
class RunPlan:
    """One action for the task and one for each scorer, in the order of the definition."""

    task: Action
    scorers: tuple[Action, ...]

    @property
    def actions(self) -> tuple[Action, ...]:
        """All of them, by position."""
        return (self.task, *self.scorers)

    def as_json(self) -> dict[str, Any]:
        """Return it as the store keeps it."""
        return {"actions": [[a.copy_from, list(a.recall)] for a in self.actions]}

    @staticmethod
    def from_json(kept: Mapping[str, Any]) -> RunPlan:
        """Return the plan that `as_json` gave."""
        task, *scorers = [Action(source, tuple(rows)) for source, rows in kept["actions"]]
        return RunPlan(task, tuple(scorers))


@dataclass(frozen=True)
class Ran:
    """A run that succeeded, as far as a plan needs it.

    Attributes:
        failed: By position, the rows whose call failed.
        by_policy: Whether a policy was called in place of the task.
    """

    definition: Definition
    failed: Mapping[int, Sequence[int]] = field(default_factory=dict)
    by_policy: bool = False


def plan_run(definition: Definition) -> RunPlan:
    """Return the plan of a run that is no rescore: everything is called."""
    return RunPlan(Action(), tuple(Action() for _ in definition.scorers))


def plan_rescore(ran: Ran, target: Definition, *, retry_failed_task: bool = False) -> RunPlan:
    """Return what a rescore of `ran` into `target` copies and calls.

    The output is copied if both have the same task and no policy stood in for it. A scorer is
    copied if the run had the same one, unless it depends on a call that is made again. Where a
    scorer that is copied had failed, it is called; SQL scorers are not.

    Args:
        ran: The source.
        target: The definition to rescore into, on the same revision.
        retry_failed_task: Whether rows whose task failed are called again, and on these rows what
            depends on it.
    """
    same_task = ran.definition.task.version_id == target.task.version_id and not ran.by_policy
    retried = tuple(ran.failed.get(TASK, ())) if retry_failed_task and same_task else ()
    task = Action(TASK, retried) if same_task else Action()
    return RunPlan(task, tuple(_scorer_action(ran, scorer, task) for scorer in target.scorers))


def _scorer_action(ran: Ran, scorer: ScorerSpec, task: Action) -> Action:
    source = _position_of_same(ran.definition.scorers, scorer)
    if source is None or (task.calls_every_row and scorer.reads_the_call):
        return Action()
    recall = set(task.recall) if scorer.reads_the_call else set()
    if scorer.kind == "sql":
        return Action() if recall else Action(source)
    return Action(source, tuple(sorted(recall.union(ran.failed.get(source, ())))))


def _position_of_same(scorers: Sequence[ScorerSpec], wanted: ScorerSpec) -> int | None:
    for position, scorer in enumerate(scorers, TASK + 1):
        if scorer.same_as(wanted):
            return position
    return None


def called_rows(plan: RunPlan, definition: Definition, n_rows: int) -> Sequence[int]:
    """Return the rows on which the task or a function is called, in order.

    SQL scorers are not: they are computed over all rows at once when the run is finalized.
    """
    kinds = ("function", *(scorer.kind for scorer in definition.scorers))
    actions = [a for a, kind in zip(plan.actions, kinds, strict=True) if kind != "sql"]
    if any(action.calls_every_row for action in actions):
        return range(n_rows)
    return sorted({row for action in actions for row in action.recall})


def chunks_of(rows: Sequence[int], max_rows: int) -> list[tuple[int, int]]:
    """Return `rows` as ranges of neighbours, at most `max_rows` in each."""
    chunks: list[tuple[int, int]] = []
    for row in rows:
        if chunks and chunks[-1][1] == row and row - chunks[-1][0] < max_rows:
            chunks[-1] = (chunks[-1][0], row + 1)
        else:
            chunks.append((row, row + 1))
    return chunks


def describe(plan: RunPlan, definition: Definition, n_rows: int) -> dict[str, str]:
    """Return the plan in words, by `task` and the scorers' names."""
    names = ("task", *(scorer.name for scorer in definition.scorers))
    return {name: _words(a, n_rows) for name, a in zip(names, plan.actions, strict=True)}


def _words(action: Action, n_rows: int) -> str:
    if action.calls_every_row:
        return f"call {n_rows} rows"
    if action.recall:
        return f"copy {n_rows - len(action.recall)} rows, call {len(action.recall)}"
    return f"copy {n_rows} rows"

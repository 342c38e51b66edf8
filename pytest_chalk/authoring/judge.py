"""`Judge`: scores a step from its transcript; and the `&` and `|` of judges.

A composite keeps each child's `Scoring` as structured metadata (`children`) beside a tree that a
person can read (`judges`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from pytest_chalk.errors import ScoringError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript


class Judge(ABC):
    """Subclass it and implement `evaluate`."""

    @abstractmethod
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Return the verdict on the step that the transcript ends with.

        Raise `StudentMisbehaviorError` for what looks like an attack: the step scores 0. Anything
        else that is raised is an error of the judge and no score at all.
        """

    def __and__(self, other: Judge) -> Judge:
        return AndJudge([*_children(self, AndJudge), other])

    def __or__(self, other: Judge) -> Judge:
        return OrJudge([*_children(self, OrJudge), other])


def checked_scoring(judge: Judge, returned: object) -> Scoring:
    """Return what a judge returned if it is a scoring.

    Raises:
        ScoringError: It is something else.
    """
    # Here and not at the top: a scoring script that imports a task needs no pydantic.
    from pytest_chalk.schemas.scoring import Scoring  # noqa: PLC0415

    if isinstance(returned, Scoring):
        return returned
    raise ScoringError(
        f"{type(judge).__name__}.evaluate",
        f"returned {returned!r}, which is no Scoring",
        fix="Return Scoring(score=..., metadata={...}, continue_task=...)",
    )


class CompositeJudge(Judge):
    """Runs its judges in order until one decides. Pass or fail is `continue_task` alone."""

    display_name: ClassVar[str]
    decides_on: ClassVar[bool]

    def __init__(self, judges: Sequence[Judge]) -> None:
        """Take the judges in the order they run.

        Raises:
            ValueError: There are none.
        """
        if not judges:
            raise ValueError(f"{type(self).__name__} needs at least one judge")
        self.judges = tuple(judges)

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        from pytest_chalk.schemas.scoring import Scoring  # noqa: PLC0415 - see checked_scoring

        scorings: list[Scoring] = []
        for judge in self.judges:
            scoring = checked_scoring(judge, judge.evaluate(transcript))
            scorings.append(scoring)
            if scoring.continue_task is self.decides_on or scoring.void is not None:
                break  # a judge that broke ends the tree: no other verdict can stand in for its own
        last = scorings[-1]
        metadata = {
            "judges": self._render_tree(scorings),
            "children": [self._child(i, scorings) for i in range(len(self.judges))],
        }
        return Scoring(last.score, metadata, last.continue_task, last.void)

    def _child(self, index: int, scorings: Sequence[Scoring]) -> dict[str, Any]:
        judge = _judge_name(self.judges[index])
        if index >= len(scorings):
            return {"judge": judge, "evaluated": False}
        scoring = scorings[index]
        return {
            "judge": judge,
            "evaluated": True,
            "score": scoring.score,
            "continue_task": scoring.continue_task,
            "metadata": scoring.metadata,
        }

    def _render_tree(self, scorings: Sequence[Scoring]) -> str:
        lines = [_headline(_judge_name(self), scorings[-1])]
        for index, judge in enumerate(self.judges):
            last = index == len(self.judges) - 1
            branch, indent = ("└─ ", "   ") if last else ("├─ ", "│  ")
            if index >= len(scorings):
                lines.append(f"{branch}⊘  {_judge_name(judge)} (not evaluated)")
                continue
            lines.append(branch + _headline(_judge_name(judge), scorings[index]))
            lines.extend(indent + line for line in _details(judge, scorings[index].metadata))
        return "\n".join(lines)


class AndJudge(CompositeJudge):
    """Stops at the first judge that does not continue, as `and` does."""

    display_name = "And"
    decides_on = False


class OrJudge(CompositeJudge):
    """Stops at the first judge that continues, as `or` does."""

    display_name = "Or"
    decides_on = True


def _children(judge: Judge, kind: type[CompositeJudge]) -> tuple[Judge, ...]:
    """Flatten a left operand of the same kind: `a & b & c` is one composite of three."""
    return judge.judges if isinstance(judge, kind) else (judge,)


def _judge_name(judge: Judge) -> str:
    return judge.display_name if isinstance(judge, CompositeJudge) else type(judge).__name__


def _headline(name: str, scoring: Scoring) -> str:
    icon = "✔ " if scoring.continue_task else "❗"
    return f"{icon} {name} (score: {scoring.score:g})"


def _details(judge: Judge, metadata: dict[str, Any]) -> list[str]:
    if isinstance(judge, CompositeJudge):
        return str(metadata.get("judges", "")).splitlines()[1:]
    return [
        line for key, value in metadata.items() for line in f"{key}: {value}".splitlines() or [""]
    ]

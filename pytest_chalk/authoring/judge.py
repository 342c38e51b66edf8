"""`Judge`: scores a step from its transcript; and the `&` and `|` of judges.

A composite keeps each child's `Scoring` as structured metadata (`children`) beside a tree that a
person can read (`judges`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, final

from typing_extensions import override

from pytest_chalk.errors import ScoringError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript

MAX_TREE_VALUE_CHARS = 500
"""Of one metadata value in a composite's tree. A script's output may be long, and then nobody sees
the tree for it; `children` has the whole."""


class Judge(ABC):
    """Subclass it and implement `evaluate`."""

    @abstractmethod
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Return the verdict on the step that the transcript ends with.

        Raise `StudentMisbehaviorError` for what looks like an attack: the step scores 0. Anything
        else that is raised is an error of the judge and no score at all.
        """

    def __and__(self, other: Judge) -> AndJudge:
        return (
            AndJudge([*_children(self, AndJudge), other]) if _can_judge(other) else NotImplemented
        )

    def __or__(self, other: Judge) -> OrJudge:
        return OrJudge([*_children(self, OrJudge), other]) if _can_judge(other) else NotImplemented


def checked_scoring(judge: Judge, returned: object) -> Scoring:
    """Return what a judge returned if it is a scoring.

    Raises:
        ScoringError: It is something else.
    """
    # Here and not at the top: a scoring script that imports a task needs no pydantic.
    from pytest_chalk.schemas.scoring import Scoring  # noqa: PLC0415 - see above

    if isinstance(returned, Scoring):
        return returned
    raise ScoringError(
        where=f"{type(judge).__name__}.evaluate",
        problem=f"returned {returned!r:.200}, which is no Scoring",
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
            TypeError: One of them is no judge.
        """
        self.judges = tuple(judges)
        if not self.judges:
            message = f"{type(self).__name__} needs at least one judge"
            raise ValueError(message)
        for judge in self.judges:
            if not _can_judge(judge):
                message = f"{type(self).__name__} combines judges, got {judge!r:.200}"
                raise TypeError(message)

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
        metadata: dict[str, Any] = {
            "judges": self._render_tree(scorings),
            "children": [self._child(i, scorings) for i in range(len(self.judges))],
        }
        if "error" in last.metadata:
            metadata["error"] = last.metadata["error"]
        return Scoring(
            last.score, metadata, last.continue_task, last.void, void_blame=last.void_blame
        )

    def _child(self, index: int, scorings: Sequence[Scoring]) -> dict[str, Any]:
        name = _judge_name(self.judges[index])
        if index >= len(scorings):
            return {"judge": name, "evaluated": False}
        scoring = scorings[index]
        child = {
            "judge": name,
            "evaluated": True,
            "score": scoring.score,
            "continue_task": scoring.continue_task,
            "metadata": scoring.metadata,
        }
        return child if scoring.void is None else {**child, "void": scoring.void}

    def _render_tree(self, scorings: Sequence[Scoring]) -> str:
        lines = [_headline(self, scorings[-1]), "│"]
        for index, judge in enumerate(self.judges):
            is_last = index == len(self.judges) - 1
            branch, indent = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            if index >= len(scorings):
                lines.append(f"{branch}⊘  {_judge_name(judge)} (not evaluated)")
                continue
            lines.append(branch + _headline(judge, scorings[index]))
            lines.extend(f"{indent}{line}".rstrip() for line in _details(judge, scorings[index]))
            if isinstance(judge, CompositeJudge) and not is_last:
                lines.append("│")
        return "\n".join(lines)


@final
class AndJudge(CompositeJudge):
    """Stops at the first judge that does not continue, as `and` does."""

    display_name = "And"
    decides_on = False


@final
class OrJudge(CompositeJudge):
    """Stops at the first judge that continues, as `or` does."""

    display_name = "Or"
    decides_on = True


def _can_judge(judge: object) -> bool:
    return callable(getattr(judge, "evaluate", None)) and not isinstance(judge, type)


def _children(judge: Judge, kind: type[CompositeJudge]) -> tuple[Judge, ...]:
    """Flatten a left operand of the same kind: `a & b & c` is one composite of three."""
    return judge.judges if isinstance(judge, kind) else (judge,)


def _judge_name(judge: Judge) -> str:
    return judge.display_name if isinstance(judge, CompositeJudge) else type(judge).__name__


def _headline(judge: Judge, scoring: Scoring) -> str:
    icon = "✔ " if scoring.continue_task else "❗"
    return f"{icon} {_judge_name(judge)} (score: {scoring.score})"


def _details(judge: Judge, scoring: Scoring) -> list[str]:
    """Return what stands below a judge's line: its own tree, or its metadata, a line per key."""
    if isinstance(judge, CompositeJudge):
        return ["│", *str(scoring.metadata["judges"]).split("\n")[2:]]
    lines: list[str] = []
    last = len(scoring.metadata) - 1
    for index, (key, value) in enumerate(scoring.metadata.items()):
        branch, indent = ("└─ ", "   ") if index == last else ("├─ ", "│  ")
        first, *more = f"{key}: {_shown(value)}".splitlines()
        lines += [branch + first, *(indent + line for line in more)]
    return lines


def _shown(value: object) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = str(value)
    cut = len(text) - MAX_TREE_VALUE_CHARS
    return text if cut <= 0 else f"{text[:MAX_TREE_VALUE_CHARS]} [... {cut:,} characters cut]"

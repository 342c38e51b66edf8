"""How far a run is that is under way. Plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RunProgress:
    """A run under way.

    Attributes:
        elapsed_s: Since it began.
        step: From 1; 0 before its first step, or where that is not known.
        of: How many steps the task has; 0 where that is not known.
        turns: The student's.
        tokens: Of prompts and replies, judges included, as providers counted them.
        usd: What they cost, where prices are known.
    """

    nodeid: str
    elapsed_s: float
    step: int = 0
    of: int = 0
    turns: int = 0
    tokens: int = 0
    usd: float | None = None

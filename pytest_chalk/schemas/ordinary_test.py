"""What came of a test that is no task, as a JUnit file tells it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class JunitVerdict(NamedTuple):
    """One element of a testcase: `failure`, `error` or `skipped`.

    Attributes:
        kind: Its `type`; empty where pytest gives none.
    """

    tag: str
    message: str
    text: str = ""
    kind: str = ""


@dataclass(frozen=True)
class OrdinaryTest:
    """One testcase.

    Attributes:
        place: How many testcases, those of tasks included, were begun before it.
    """

    nodeid: str
    place: int
    duration_s: float = 0.0
    verdicts: tuple[JunitVerdict, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()

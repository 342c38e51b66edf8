"""What a session holds already when it is gone on with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chalk.store.session_log import SessionLog


@dataclass(frozen=True)
class Resumed:
    """The session that this one continues.

    Attributes:
        part: How many processes it had before this one; part of new run ids, so that what a
            killed run left is never overwritten.
        finished: Node ids of the runs that were measured.
        log: None in workers.
    """

    part: int
    finished: frozenset[str]
    log: SessionLog | None = None

"""A line on the terminal that says how far a run is."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.schemas.evaluation import RunState

QUIET_S = 1.0
"""A run that is over by then shows nothing."""

REDRAW_S = 0.2


class Progress:
    """Shows rows done out of all, where standard error is a terminal.

    Attributes:
        interval_s: Between calls of `show`; infinite where nothing is shown.
    """

    def __init__(self, place: Place, run_id: str) -> None:
        self._place, self._run_id = place, run_id
        self._begun_s = time.monotonic()
        self._is_shown = False
        self.interval_s = REDRAW_S if sys.stderr.isatty() else float("inf")

    def show(self, state: RunState) -> None:
        """Draw the line anew."""
        spent_s = time.monotonic() - self._begun_s
        if self.interval_s == float("inf") or spent_s < QUIET_S:
            return
        done = self._place.ledger.rows_done(self._run_id)
        line = (
            f"run {state.id[:8]}: {done}/{state.n_rows} rows, {state.status.value}, {spent_s:.0f} s"
        )
        sys.stderr.write(f"\r{line:<78}")
        sys.stderr.flush()
        self._is_shown = True

    def end(self) -> None:
        """Leave the line."""
        if self._is_shown:
            sys.stderr.write("\n")

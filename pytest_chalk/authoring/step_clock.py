"""The time of one step: how much is left, and the record when it is over."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from pytest_chalk.schemas.record import LimitHit


@dataclass(frozen=True)
class StepClock:
    """Runs from a step's instructions on. `limit_s` None: for ever."""

    limit_s: float | None
    started_s: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float | None:
        """Return the seconds left, at least 0; None where there is no limit."""
        if self.limit_s is None:
            return None
        return max(0.0, self.started_s + self.limit_s - time.monotonic())

    def find_hit(self) -> LimitHit | None:
        """Return the limit if it is reached."""
        used_s = time.monotonic() - self.started_s
        if self.limit_s is None or used_s < self.limit_s:
            return None
        return LimitHit(limit="step time", value=self.limit_s, used=round(used_s, 3), unit="s")

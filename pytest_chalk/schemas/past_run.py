"""What a run took in an earlier session. Plain data."""

from __future__ import annotations

from typing import NamedTuple


class PastRun(NamedTuple):
    """A run that was measured.

    Attributes:
        usd: What it cost, as far as prices were known, judges included.
        is_price_known: Whether that is all it cost.
    """

    session_id: str
    nodeid: str
    epoch: int
    model: str
    duration_s: float
    usd: float = 0.0
    is_price_known: bool = True

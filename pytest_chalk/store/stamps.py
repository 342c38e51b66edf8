"""Ids and times, as the store writes them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """Return a new id."""
    return str(uuid.uuid4())


def as_text(moment: datetime) -> str:
    """Return a time as text that sorts like it."""
    return moment.isoformat(timespec="microseconds")


def as_time(text: str | None) -> datetime | None:
    """Return the time that `as_text` wrote."""
    return datetime.fromisoformat(text) if text else None

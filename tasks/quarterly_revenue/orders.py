"""The orders, the same in every run, and the revenue that they add up to."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

SEED = 20250331
ORDERS = 400
STATUSES = ("paid", "paid", "paid", "paid", "refunded", "cancelled")
BOUNDARIES = [datetime(2025, month, 1, tzinfo=UTC) for month in (1, 4, 7, 10)]


def orders() -> list[tuple[datetime, str, int]]:
    """Return moment, status and amount in cents of each order; half are near a boundary."""
    rng = random.Random(SEED)  # noqa: S311 - test data, not a secret
    made = []
    for number in range(ORDERS):
        near = timedelta(minutes=rng.randint(-600, 600))
        anywhere = timedelta(minutes=rng.randint(0, 60 * 24 * 89))
        moment = rng.choice(BOUNDARIES) + (near if number % 2 else anywhere)
        zone = timezone(timedelta(minutes=rng.choice((-480, -210, 0, 60, 120, 330, 765))))
        made.append((moment.astimezone(zone), rng.choice(STATUSES), rng.randint(99, 99_999)))
    return made


def orders_csv() -> str:
    """Return the file that the student gets."""
    rows = [
        f"{moment.isoformat()},{status},{cents // 100}.{cents % 100:02}"
        for moment, status, cents in orders()
    ]
    return "\n".join(["placed_at,status,amount", *rows]) + "\n"


def revenue_cents() -> dict[str, int]:
    """Return the right answer: cents by quarter, oldest first."""
    signs = {"paid": 1, "refunded": -1, "cancelled": 0}
    total: Counter[str] = Counter()
    for moment, status, cents in orders():
        utc = moment.astimezone(UTC)
        total[f"{utc.year}-Q{(utc.month + 2) // 3}"] += signs[status] * cents
    return dict(sorted(total.items()))

"""What models used, and what a session may use. Plain data."""

from __future__ import annotations

from dataclasses import dataclass

NANO = 1_000_000_000
"""Money is counted in billionths of a dollar, as whole numbers: the same sum in any order. The
cheapest token costs five of them."""


@dataclass(frozen=True)
class Spent:
    """Tokens, of prompts and of replies, and billionths of a dollar."""

    tokens: int = 0
    nano_usd: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.tokens + other.tokens, self.nano_usd + other.nano_usd)

    @property
    def usd(self) -> float:
        """The money in dollars."""
        return self.nano_usd / NANO


@dataclass(frozen=True)
class Budget:
    """The most that all models of a session may use together; None: no bound."""

    token_limit: int | None = None
    usd_limit: float | None = None

    @property
    def is_bound(self) -> bool:
        """Whether there is any bound."""
        return self.token_limit is not None or self.usd_limit is not None

    def why_spent(self, spent: Spent) -> str:
        """Return which bound was reached, in a sentence that begins with `budget`; else ""."""
        if self.token_limit is not None and spent.tokens >= self.token_limit:
            return f"budget: {spent.tokens:,} of {self.token_limit:,} tokens are spent"
        if self.usd_limit is not None and spent.nano_usd >= round(self.usd_limit * NANO):
            return f"budget: {show_usd(spent.usd)} of {show_usd(self.usd_limit)} are spent"
        return ""

    def describe(self, spent: Spent | None = None) -> str:
        """Return the bounds, for example `20,000 tokens, $5.00`; with what is spent of each."""
        parts = []
        if self.token_limit is not None:
            used = f"{spent.tokens:,} of " if spent else ""
            parts.append(f"{used}{self.token_limit:,} tokens")
        if self.usd_limit is not None:
            used = f"{show_usd(spent.usd)} of " if spent else ""
            parts.append(used + show_usd(self.usd_limit))
        return ", ".join(parts)


def show_usd(usd: float) -> str:
    """Return an amount as people write it, small ones with more digits: `$12.50`, `$0.0042`."""
    if usd >= 1 or usd == 0:
        return f"${usd:,.2f}"
    digits = f"{usd:.4f}" if usd >= 0.00005 else f"{usd:.9f}".rstrip("0")
    return f"${digits}"

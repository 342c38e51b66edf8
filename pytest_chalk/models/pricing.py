"""What tokens cost: the providers' own prices, and those of a file that the user gives. Pure.

Prices are in US dollars per million tokens, as providers print them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from pytest_chalk.schemas.plain import as_finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.authoring.ports import ModelReply

_DATED = re.compile(r"-(\d{4}-\d\d-\d\d|\d{8}|latest)$")
"""What a name may have behind the one in the list: `gpt-4o-2024-11-20` costs what `gpt-4o` does."""

MAX_AMOUNT = 1_000_000_000
"""Of dollars per million tokens, and of tokens in a prompt. More is a slip."""


@dataclass(frozen=True)
class Price:
    """Of one model. What is None costs as much as `input`.

    Attributes:
        cache_read: For tokens of the prompt that came from the provider's cache.
        cache_write: For tokens of the prompt that went into it.
        long_prompt_tokens: Of a prompt above which the whole turn costs `long_prompt`.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    long_prompt_tokens: int | None = None
    long_prompt: Price | None = None

    def cost_nano_usd(self, reply: ModelReply) -> int:
        """Return what a turn cost, in billionths of a dollar, rounded up."""
        above = self.long_prompt_tokens
        if self.long_prompt is not None and above is not None and reply.input_tokens > above:
            return self.long_prompt.cost_nano_usd(reply)
        read, written = reply.cache_read_tokens or 0, reply.cache_write_tokens or 0
        plain = max(0, reply.input_tokens - read - written)
        usd_per_million = math.fsum(
            [
                plain * self.input,
                read * (self.input if self.cache_read is None else self.cache_read),
                written * (self.input if self.cache_write is None else self.cache_write),
                reply.output_tokens * self.output,
            ]
        )
        return math.ceil(round(usd_per_million * 1000, 6))


FREE = Price(0.0, 0.0)
"""A server on this machine, and students that do not think."""


@dataclass(frozen=True)
class PriceTable:
    """Prices by name. One that ends in `*` is the beginning of others; the longest fit counts."""

    prices: Mapping[str, Price] = field(default_factory=dict)

    def find(self, name: str) -> Price | None:
        """Return the price of a model, or None."""
        if name in self.prices:
            return self.prices[name]
        fits = [
            known for known in self.prices if known.endswith("*") and name.startswith(known[:-1])
        ]
        return self.prices[max(fits, key=len)] if fits else None


def find_list_price(prices: Mapping[str, Price], name: str) -> Price | None:
    """Return the price in a provider's list; a date behind the name makes no other model of it."""
    return prices.get(name) or prices.get(_DATED.sub("", name))


def parse_prices(found: object) -> PriceTable:
    """Return the table that a JSON document holds.

    Raises:
        ValueError: It holds something else; says what and where.
    """
    if not isinstance(found, dict):
        message = f"holds a {type(found).__name__}, not an object of prices by model"
        raise ValueError(message)  # noqa: TRY004 - the value of a file
    return PriceTable({name: _parse_price(name, value) for name, value in found.items()})


def _parse_price(where: str, found: object) -> Price:
    known = [one.name for one in fields(Price)]
    if not isinstance(found, dict) or not {"input", "output"} <= set(found) <= set(known):
        message = f"{where!r} is {found!r}, which is no price of {', '.join(known)}"
        raise ValueError(message)
    values: dict[str, Any] = dict(found)
    if "long_prompt" in values:
        values["long_prompt"] = _parse_price(f"{where} long_prompt", values["long_prompt"])
    if ("long_prompt" in values) != ("long_prompt_tokens" in values):
        message = f"{where!r} has long_prompt without long_prompt_tokens, or the reverse"
        raise ValueError(message)
    for name, value in values.items():
        if name != "long_prompt" and not _is_amount(value):
            message = f"{where!r} has {name} {value!r}, which is no number from 0 to {MAX_AMOUNT:,}"
            raise ValueError(message)
    return Price(**values)


def _is_amount(value: object) -> bool:
    number = as_finite(value)
    return number is not None and 0 <= number <= MAX_AMOUNT

"""The providers' own prices, as they published them in November 2026. A user's file overrides them.

Only models whose whole price fits: what the format does not count, such as what a cache was given
in chat completions, must cost nothing extra. A model that is missing here has no price, which is an
error where money is bounded; a wrong price would be a broken promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.models.pricing import Price

if TYPE_CHECKING:
    from collections.abc import Mapping


def _openai(given: float, said: float, read: float) -> Price:
    return Price(given, said, cache_read=read)


def _claude(given: float, said: float, *, read: float = 0.1) -> Price:
    """Return Anthropic's price: a write costs 1.25 of what is given, a read `read` of it."""
    return Price(given, said, cache_read=round(given * read, 6), cache_write=round(given * 1.25, 6))


_LONG_GPT = 272_000
_SONNET_LONG = Price(6.0, 22.5, cache_read=0.6, cache_write=7.5)

PRICES: Mapping[str, Price] = {
    "openai/gpt-4o": _openai(2.5, 10.0, 1.25),
    "openai/gpt-4o-mini": _openai(0.15, 0.6, 0.075),
    "openai/gpt-4.1": _openai(2.0, 8.0, 0.5),
    "openai/gpt-4.1-mini": _openai(0.4, 1.6, 0.1),
    "openai/gpt-4.1-nano": _openai(0.1, 0.4, 0.025),
    "openai/o3": _openai(2.0, 8.0, 0.5),
    "openai/o4-mini": _openai(1.1, 4.4, 0.275),
    "openai/gpt-5": _openai(1.25, 10.0, 0.125),
    "openai/gpt-5-mini": _openai(0.25, 2.0, 0.025),
    "openai/gpt-5-nano": _openai(0.05, 0.4, 0.005),
    "openai/gpt-5.1": _openai(1.25, 10.0, 0.125),
    "openai/gpt-5.2": _openai(1.75, 14.0, 0.175),
    "openai/gpt-5.4": Price(
        2.5, 15.0, 0.25, long_prompt_tokens=_LONG_GPT, long_prompt=_openai(5.0, 22.5, 0.5)
    ),
    "openai/gpt-5.4-mini": _openai(0.75, 4.5, 0.075),
    "openai/gpt-5.4-nano": _openai(0.2, 1.25, 0.02),
    "openai/gpt-5.5": Price(
        5.0, 30.0, 0.5, long_prompt_tokens=_LONG_GPT, long_prompt=_openai(10.0, 45.0, 1.0)
    ),
    "anthropic/claude-3-5-haiku": _claude(0.8, 4.0),
    "anthropic/claude-3-7-sonnet": _claude(3.0, 15.0),
    "anthropic/claude-haiku-4-5": _claude(1.0, 5.0),
    "anthropic/claude-sonnet-4": Price(
        3.0, 15.0, 0.3, 3.75, long_prompt_tokens=200_000, long_prompt=_SONNET_LONG
    ),
    "anthropic/claude-sonnet-4-5": Price(
        3.0, 15.0, 0.3, 3.75, long_prompt_tokens=200_000, long_prompt=_SONNET_LONG
    ),
    "anthropic/claude-sonnet-4-6": _claude(3.0, 15.0),
    "anthropic/claude-sonnet-5": _claude(2.0, 10.0),
    "anthropic/claude-opus-4": _claude(15.0, 75.0),
    "anthropic/claude-opus-4-1": _claude(15.0, 75.0),
    "anthropic/claude-opus-4-5": _claude(5.0, 25.0),
    "anthropic/claude-opus-4-6": _claude(5.0, 25.0),
    "anthropic/claude-opus-4-7": _claude(5.0, 25.0),
    "anthropic/claude-opus-4-8": _claude(5.0, 25.0),
    "anthropic/claude-opus-5": _claude(5.0, 25.0),
    "anthropic/claude-opus-5-5": _claude(4.0, 20.0, read=0.05),
}

"""What a model of a provider is made with: where it is, how it is paid, how it shall think."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_chalk.errors import RunOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

IDLE_LIMIT_S = 120.0
"""Silence on an open connection. Providers send a byte every few seconds while a model thinks; a
connection that a firewall dropped is silent for ever."""

REPLY_LIMIT_S = 3600.0
"""One attempt, where the step has no time limit. The longest replies take some 20 minutes; a
provider that drips a byte a minute would otherwise hold the run for days."""

EFFORT_LEVELS: Mapping[str, str] = {"min": "low", "max": "high"}
"""For OpenAI's `reasoning_effort`: what every reasoning model takes. Others pass as they are."""

THINKING_BUDGETS: Mapping[str, int] = {
    "none": 0,
    "min": 1_024,  # the least that the Messages API accepts
    "minimal": 1_024,
    "low": 4_096,
    "medium": 12_288,
    "high": 24_576,
    "max": 32_000,  # above it Anthropic advises against waiting on one connection
}
"""For Anthropic's `thinking`: tokens a turn may think, beside `max_tokens` for what it says."""


@dataclass(frozen=True)
class ModelSettings:
    """How to reach and ask a model. None: the environment's or the provider's default.

    Attributes:
        base_url: Else `OPENAI_BASE_URL` or `ANTHROPIC_BASE_URL`, else the provider's own.
        api_key: A key, or `$NAME` for the one in that environment variable.
        max_tokens: Of one reply; for `anthropic/` without what it thinks.
        reasoning_effort: `min`, `max`, or a level as the provider calls it.
        idle_limit_s: Seconds without a byte after which a connection counts as dead.
        reply_limit_s: Seconds for one attempt.
        max_attempts: Most attempts of one turn, below what the kind of failure deserves.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    idle_limit_s: float = IDLE_LIMIT_S
    reply_limit_s: float = REPLY_LIMIT_S
    max_attempts: int | None = None

    def effort_level(self) -> str | None:
        """Return the effort in OpenAI's words."""
        effort = self.reasoning_effort
        return None if effort is None else EFFORT_LEVELS.get(effort, effort)

    def thinking_budget(self, where: str) -> int:
        """Return the tokens a turn of Anthropic's models may think; 0: it does not.

        Raises:
            RunOptionError: The effort is no known level.
        """
        budget = THINKING_BUDGETS.get(self.reasoning_effort or "none")
        if budget is None:
            raise RunOptionError(
                where,
                f"the reasoning effort {self.reasoning_effort!r} is unknown",
                fix=f"Use one of: {', '.join(THINKING_BUDGETS)}",
            )
        return budget

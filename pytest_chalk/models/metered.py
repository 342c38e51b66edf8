"""A model whose turns are counted, priced, and refused once the budget is spent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pytest_chalk.models.estimate import (
    estimated_input_tokens,
    estimated_output_tokens,
    is_counted,
)
from pytest_chalk.schemas.spending import NANO, Spent

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Model, ModelReply, ModelRequest
    from pytest_chalk.models.pricing import Price


class Purse(Protocol):
    """What turns are paid from."""

    def check(self) -> None:
        """Raise BudgetSpent if nothing more may be asked."""
        ...

    def pay(self, spent: Spent) -> None:
        """Take away what a turn used."""
        ...


class MeteredModel:
    """Stands where a model stands. Its replies say what they cost, where the price is known."""

    def __init__(self, model: Model, price: Price | None, purse: Purse) -> None:
        self.name = model.name
        self.trusted = bool(getattr(model, "trusted", False))
        self._model, self._price, self._purse = model, price, purse

    def reply(self, request: ModelRequest) -> ModelReply:
        """Return the model's turn, paid for.

        Raises:
            BudgetSpent: Nothing was asked.
        """
        self._purse.check()
        reply = self._model.reply(request)
        counted = reply if is_counted(reply) else _estimated(request, reply)
        nano_usd = 0 if self._price is None else self._price.cost_nano_usd(counted)
        self._purse.pay(Spent(counted.input_tokens + counted.output_tokens, nano_usd))
        return reply if self._price is None else replace(reply, usd=nano_usd / NANO)


def _estimated(request: ModelRequest, reply: ModelReply) -> ModelReply:
    return replace(
        reply,
        input_tokens=estimated_input_tokens(request),
        output_tokens=estimated_output_tokens(reply),
    )

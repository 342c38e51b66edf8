"""A model that pays for its turns."""

from __future__ import annotations

import pytest

from pytest_chalk.authoring.ports import ModelReply, ModelRequest, ToolSchema
from pytest_chalk.errors import BudgetSpent
from pytest_chalk.models.metered import MeteredModel
from pytest_chalk.models.pricing import Price
from pytest_chalk.schemas.chat import Function, Message, ToolCall
from pytest_chalk.schemas.spending import Spent

REQUEST = ModelRequest(
    [Message(role="user", content="x" * 300)], (ToolSchema("bash", "Run.", {"type": "object"}),)
)


class Purse:
    def __init__(self, left: int = 99) -> None:
        self.left, self.paid = left, []

    def check(self) -> None:
        if len(self.paid) >= self.left:
            raise BudgetSpent("budget: all is spent")

    def pay(self, spent: Spent) -> None:
        self.paid.append(spent)


class Says:
    name, trusted = "acme/m", False

    def __init__(self, reply: ModelReply) -> None:
        self.answer, self.asked = reply, 0

    def reply(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        return self.answer


def test_a_turn_is_paid_for_and_says_what_it_cost():
    purse = Purse()
    metered = MeteredModel(Says(ModelReply(Message(content="hi"), "stop", 100, 10)),
                           Price(2.0, 8.0), purse)  # fmt: skip

    reply = metered.reply(REQUEST)

    assert purse.paid == [Spent(110, 280_000)]
    assert (reply.usd, reply.input_tokens, reply.message.content) == (0.00028, 100, "hi")
    assert (metered.name, metered.trusted) == ("acme/m", False)


def test_without_a_price_tokens_are_counted_and_nothing_is_said_of_money():
    purse = Purse()

    reply = MeteredModel(Says(ModelReply(Message(), "stop", 100, 10)), None, purse).reply(REQUEST)

    assert purse.paid == [Spent(110, 0)]
    assert reply.usd is None


def test_with_a_spent_budget_nothing_is_asked():
    model, purse = Says(ModelReply(Message(), "stop", 1, 1)), Purse(left=1)
    metered = MeteredModel(model, None, purse)
    metered.reply(REQUEST)

    with pytest.raises(BudgetSpent, match="all is spent"):
        metered.reply(REQUEST)

    assert model.asked == 1


def test_a_turn_that_nobody_counted_is_paid_for_by_its_length():
    calls = (ToolCall(id="1", function=Function(name="bash", arguments="y" * 60)),)
    said = Message(content="z" * 30, reasoning_content="w" * 30, tool_calls=calls)
    purse = Purse()

    reply = MeteredModel(Says(ModelReply(said)), Price(1.0, 1.0), purse).reply(REQUEST)

    (paid,) = purse.paid
    assert 100 + 40 <= paid.tokens <= 130 + 42
    assert reply.usd == paid.usd > 0
    assert (reply.input_tokens, reply.output_tokens) == (0, 0)  # nobody's count is made up


def test_a_spent_budget_is_no_exception_that_a_judge_could_make_a_score_of():
    assert not issubclass(BudgetSpent, Exception)

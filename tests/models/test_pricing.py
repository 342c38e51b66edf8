"""What tokens cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.models.estimate import token_count
from pytest_chalk.models.price_list import PRICES
from pytest_chalk.models.pricing import (
    FREE,
    Price,
    PriceTable,
    find_list_price,
    parse_prices,
)
from pytest_chalk.models.registry import list_price
from pytest_chalk.models.settings import ModelSettings
from pytest_chalk.schemas.chat import Message

COUNTS = st.integers(0, 3_000_000)


def turn(given_tokens: int, said: int, read: int | None = None, written: int | None = None):
    return ModelReply(Message(), None, given_tokens, said, read, written)


@pytest.mark.parametrize(
    ("reply", "nano_usd"),
    [
        (turn(1_000_000, 0), 2_000_000_000),
        (turn(0, 1_000_000), 8_000_000_000),
        (turn(1_000_000, 0, read=1_000_000), 200_000_000),
        (turn(1_000_000, 0, written=1_000_000), 2_500_000_000),
        (turn(1_000, 10, read=600, written=300), 200_000 + 120_000 + 750_000 + 80_000),
        (turn(0, 0), 0),
    ],
)
def test_each_kind_of_token_has_its_own_price(reply: ModelReply, nano_usd: int):
    price = Price(2.0, 8.0, cache_read=0.2, cache_write=2.5)

    assert price.cost_nano_usd(reply) == nano_usd


def test_the_cache_costs_what_the_prompt_does_where_it_has_no_price():
    assert Price(2.0, 8.0).cost_nano_usd(turn(10, 0, read=5, written=5)) == 20_000


def test_a_part_of_a_billionth_counts_as_a_whole_one():
    assert Price(0.0125, 0).cost_nano_usd(turn(1, 0)) == 13


def test_a_long_prompt_makes_the_whole_turn_dearer():
    price = Price(2.5, 15.0, long_prompt_tokens=200_000, long_prompt=Price(5.0, 22.5))

    assert price.cost_nano_usd(turn(200_000, 10)) == 500_000_000 + 150_000
    assert price.cost_nano_usd(turn(200_001, 10)) == 1_000_005_000 + 225_000


@given(COUNTS, COUNTS, COUNTS, st.sampled_from(sorted(PRICES)))
def test_a_cache_never_makes_a_turn_cost_less_than_nothing(asked, said, read, name):
    assert PRICES[name].cost_nano_usd(turn(asked, said, read=read, written=read)) >= 0


@given(COUNTS, COUNTS, COUNTS, st.sampled_from(sorted(PRICES)))
def test_more_tokens_never_cost_less(asked, said, more, name):
    price = PRICES[name]

    assert price.cost_nano_usd(turn(asked + more, said)) >= price.cost_nano_usd(turn(asked, said))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("openai/gpt-4o", "openai/gpt-4o"),
        ("openai/gpt-4o-2024-11-20", "openai/gpt-4o"),
        ("anthropic/claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5"),
        ("anthropic/claude-3-7-sonnet-latest", "anthropic/claude-3-7-sonnet"),
    ],
)
def test_a_date_behind_the_name_makes_no_other_model_of_it(name: str, known: str):
    assert find_list_price(PRICES, name) is PRICES[known]


@pytest.mark.parametrize(
    "name", ["openai/gpt-5-pro", "openai/gpt-5-mini-x", "gpt-5", "openai/gpt", "acme/gpt-5"]
)
def test_a_name_that_is_only_like_one_in_the_list_has_no_price(name: str):
    assert find_list_price(PRICES, name) is None


def test_the_list_holds_for_the_providers_own_address_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    assert list_price("openai/gpt-5") is PRICES["openai/gpt-5"]
    assert list_price("openai/gpt-5", ModelSettings(base_url="https://gateway.test/v1")) is None
    assert list_price("openai/gpt-5", ModelSettings(base_url="http://localhost:8000/v1")) is FREE
    assert list_price("acme/gpt-5") is None


def test_a_name_that_ends_in_a_star_is_the_beginning_of_others():
    table = PriceTable({"openai/*": FREE, "openai/big*": Price(1, 1), "openai/big-2": Price(2, 2)})

    assert table.find("openai/small") is FREE
    assert table.find("openai/big-1") == Price(1, 1)
    assert table.find("openai/big-2") == Price(2, 2)
    assert table.find("anthropic/x") is None


def test_a_file_of_prices_is_read():
    long = {"input": 2, "output": 3}
    table = parse_prices(
        {
            "a": {"input": 1, "output": 2.5, "cache_read": 0},
            "b": {"input": 1, "output": 2, "long_prompt_tokens": 9, "long_prompt": long},
        }
    )

    assert table.find("a") == Price(1, 2.5, cache_read=0)
    assert table.find("b") == Price(1, 2, long_prompt_tokens=9, long_prompt=Price(2, 3))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "holds a list"),
        ({"a": 1}, "'a' is 1, which is no price of input, output"),
        ({"a": {"input": 1}}, "'a' is"),
        ({"a": {"input": 1, "output": 1, "inptu": 2}}, "inptu"),
        ({"a": {"input": -1, "output": 1}}, "input -1"),
        ({"a": {"input": "1", "output": 1}}, "input '1'"),
        ({"a": {"input": True, "output": 1}}, "input True"),
        ({"a": {"input": float("nan"), "output": 1}}, "input nan"),
        ({"a": {"input": 10**400, "output": 1}}, "input 1000"),
        ({"a": {"input": 1, "output": 1e300}}, "output 1e\\+300"),
        ({"a": {"input": 1, "output": 1, "long_prompt_tokens": 5}}, "without"),
        (
            {
                "a": {
                    "input": 1,
                    "output": 1,
                    "long_prompt_tokens": 5,
                    "long_prompt": {"input": None, "output": 1},
                }
            },
            "'a long_prompt' has input None",
        ),
    ],
)
def test_what_is_no_price_is_named(found: object, message: str):
    with pytest.raises(ValueError, match=message):
        parse_prices(found)


@pytest.mark.parametrize("given", [10**400, -1, True, 2.5, "7", None])
def test_what_a_provider_cannot_have_counted_is_no_count(given: object):
    assert token_count(given) is None


def test_a_count_is_taken_as_it_is():
    assert (token_count(0), token_count(200_000)) == (0, 200_000)

"""Budgets, and what is spent of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.schemas.spending import Budget, Spent, show_usd

AMOUNTS = st.builds(Spent, st.integers(0, 10**12), st.integers(0, 10**15))


@pytest.mark.parametrize(
    ("budget", "spent", "why"),
    [
        (Budget(), Spent(10**9, 10**15), ""),
        (Budget(token_limit=100), Spent(99, 10**15), ""),
        (Budget(token_limit=1000), Spent(1012), "budget: 1,012 of 1,000 tokens are spent"),
        (Budget(usd_limit=0.5), Spent(10**9, 499_999_999), ""),
        (Budget(usd_limit=0.5), Spent(0, 500_000_000), "budget: $0.5000 of $0.5000 are spent"),
        (Budget(5, 1.0), Spent(5, 0), "budget: 5 of 5 tokens are spent"),
    ],
)
def test_a_budget_is_spent_when_a_bound_is_reached(budget: Budget, spent: Spent, why: str):
    assert budget.why_spent(spent) == why


@given(st.lists(AMOUNTS))
def test_a_sum_is_the_same_in_any_order(amounts):
    assert sum(amounts, Spent()) == sum(reversed(amounts), Spent())


def test_ten_dimes_are_a_dollar():
    spent = sum([Spent(1, 100_000_000)] * 10, Spent())

    assert Budget(usd_limit=1.0).why_spent(spent)


def test_a_budget_tells_its_bounds_and_what_is_spent_of_each():
    budget = Budget(20_000, 2.5)

    assert budget.describe() == "20,000 tokens, $2.50"
    assert budget.describe(Spent(1_500, 31_000_000)) == "1,500 of 20,000 tokens, $0.0310 of $2.50"
    assert Budget(usd_limit=3).describe(Spent()) == "$0.00 of $3.00"


@pytest.mark.parametrize(
    ("usd", "shown"),
    [(0, "$0.00"), (1234.5, "$1,234.50"), (0.0042, "$0.0042"), (0.00000002, "$0.00000002")],
)
def test_small_amounts_have_more_digits(usd: float, shown: str):
    assert show_usd(usd) == shown

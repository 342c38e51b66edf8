"""Student's t and the beta distribution, as far as intervals need them. Standard library only.

A dependency on scipy would weigh ten times what this package does; the tests compare with it.
"""

from __future__ import annotations

import math
from functools import lru_cache

_MAX_TERMS = 10_000
"""Of a continued fraction. It converges within about the square root of the larger parameter: this
is enough for a hundred million scores."""

_TINY = 1e-300
_PRECISION = 1e-15

_HALVINGS = 200
"""Of an interval that holds a quantile; doubles are exhausted after about a hundred."""


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), for a and b above 0."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(log_beta_front(a, b, x))
    if x < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, x) / a
    return 1.0 - front * _continued_fraction(b, a, 1.0 - x) / b


def log_beta(a: float, b: float) -> float:
    """Return the logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_beta_front(a: float, b: float, x: float) -> float:
    """Return the logarithm of x^a (1-x)^b / B(a, b)."""
    return a * math.log(x) + b * math.log1p(-x) - log_beta(a, b)


def t_tail(t: float, df: float) -> float:
    """Return the probability that Student's t with `df` degrees of freedom is above `t`."""
    square = t * t
    if square < df:  # of the two forms the one that loses no digits
        tail = 0.5 - 0.5 * incomplete_beta(0.5, df / 2, square / (df + square))
    else:
        tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + square))
    return tail if t >= 0 else 1.0 - tail


@lru_cache(maxsize=4_096)
def t_quantile(tail: float, df: float) -> float:
    """Return the t above which lies the probability `tail`, from 0 to 0.5 exclusive of 0."""
    low, high = 0.0, 1.0
    while t_tail(high, df) > tail:
        low, high = high, high * 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_tail(middle, df) > tail else (low, middle)
    return (low + high) / 2


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    product = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            product *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return product


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY

"""Ranges of whole numbers, each a pair (first, last) with both ends included."""


def merge(ranges):
    """Return the fewest ranges that cover the same numbers, lowest first.

    Ranges that touch, such as (1, 2) and (3, 4), are one. The argument is not changed.
    """
    merged = []
    for first, last in ranges:
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged


def count(ranges):
    """Return how many numbers the ranges cover, each counted once."""
    return sum(last - first + 1 for first, last in merge(ranges))

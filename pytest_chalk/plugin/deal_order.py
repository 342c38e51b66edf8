"""In which order the longest runs must stand so that xdist deals them out first. Pure.

Its schedulers give each worker several items at once, so the first ones in the list are not those
that start first: of a chunk only the head does, and the others wait for it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

LEAST_CHUNK = 2
"""Items that `load` gives a worker at first, at least: one to run and one to go on with."""


class Dealing(NamedTuple):
    """How items are dealt out.

    Attributes:
        mode: xdist's `--dist`.
        workers: How many there are.
        max_chunk: The most that `load` gives a worker at once; None for no bound.
    """

    mode: str
    workers: int
    max_chunk: int | None = None


def start_order(dealing: Dealing, count: int) -> list[int] | None:
    """Return the places of a list of `count` items in the order in which long ones go there.

    First the items that workers begin with; then those that are dealt out as workers become free;
    last those that wait behind a first one, which should be short. None where the mode keeps items
    together, or gives them to every worker: there the order is not ours to change.
    """
    workers = dealing.workers
    if workers < 1:
        return None
    if dealing.mode == "load":
        return _of_load(count, workers, dealing.max_chunk or count)
    if dealing.mode == "loadgroup":
        first, second = min(workers, count), min(2 * workers, count)
        return [*range(first), *range(second, count), *range(first, second)]
    if dealing.mode == "worksteal":
        return _of_worksteal(count, workers)
    return None


def _of_load(count: int, workers: int, max_chunk: int) -> list[int]:
    if count < LEAST_CHUNK * workers:
        return list(range(count))
    chunk = max(LEAST_CHUNK, min(count // workers // 4, max_chunk))
    dealt = min(chunk * workers, count)
    heads = range(0, dealt, chunk)
    return [*heads, *range(dealt, count), *(place for place in range(dealt) if place % chunk)]


def _of_worksteal(count: int, workers: int) -> list[int]:
    """Each has a part of the list from the beginning; others steal from its end."""
    starts, left = [0], count
    for number in range(workers):
        starts.append(starts[-1] + left // (workers - number))
        left = count - starts[-1]
    parts = [range(start, end) for start, end in itertools.pairwise(starts)]
    longest = max(map(len, parts))
    return [part[turn] for turn in range(longest) for part in parts if turn < len(part)]


def dealt_out(
    items: Sequence[T], tasks: Sequence[T], order: Sequence[int], is_task: Callable[[T], bool]
) -> list[T]:
    """Return the items with `tasks`, the longest first, where they start first.

    The others keep their order. Those that stand before the first task stay there: who runs cheap
    tests before dear ones has a reason.

    Args:
        items: All of them, in their order.
        tasks: Those of them that are tasks, in the order in which they are to start.
        order: See `start_order`.
        is_task: Tells them apart.
    """
    result = list(items)
    first = next(place for place, item in enumerate(items) if is_task(item))
    places = [place for place in order if place >= first]
    others = [item for item in items[first:] if not is_task(item)]
    for place, item in zip(places, tasks, strict=False):
        result[place] = item
    for place, item in zip(sorted(places[len(tasks) :]), others, strict=True):
        result[place] = item
    return result

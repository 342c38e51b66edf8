"""The box of this process, made at first need and given back when the process ends."""

from __future__ import annotations

import atexit
import functools

from pytest_chalk.sandbox import Box, acquire_slot


@functools.cache
def process_box() -> Box:
    """Return this process's box; it holds the slot until the process dies.

    Raises:
        SlotError: No slot can be had on this machine.
    """
    box = Box(acquire_slot())
    box.reset()
    atexit.register(box.close)
    return box

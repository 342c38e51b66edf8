"""A step as one of pytest's sub-tests, with what was printed during it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_chalk.plugin.verdicts import raise_for_step
from pytest_chalk.schemas.record import StepRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType

    from pytest_chalk.plugin.items import TaskItem
    from pytest_chalk.reports.failure_text import Signposts

CURRENT_STEP = pytest.StashKey[StepRecord | None]()
"""The step whose sub-test is about to be reported; None between steps."""

NOT_REACHED = pytest.StashKey[str]()
"""Name of the unreached step whose sub-test is about to be reported; empty otherwise."""


class StepSubtest:
    """The sub-test of one step. Use it as a context manager, like pytest's own, which is in it.

    pytest would open two temporary files for each to capture its output, which takes as long as
    all the rest of a sub-test. The output of the whole item is captured anyway: when a step is
    reported, what has come since the one before is the step's.
    """

    def __init__(self, item: TaskItem, label: str) -> None:
        fixtures: Mapping[str, Any] = item.funcargs
        self._option = item.config.option
        self._subtest: AbstractContextManager[None] = fixtures["subtests"].test(label)

    def __enter__(self) -> None:
        """Begin: pytest's own is told that nothing is to be captured."""
        __tracebackhide__ = True
        option = self._option
        capture = getattr(option, "capture", None)  # none where the plugin is switched off
        if capture is not None:
            option.capture = "no"
        try:
            self._subtest.__enter__()
        finally:
            if capture is not None:
                option.capture = capture

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Report the step; return whether what ended it goes no further."""
        __tracebackhide__ = True
        return self._subtest.__exit__(kind, error, traceback)


def take_output(config: pytest.Config) -> list[tuple[str, str]]:
    """Return what was captured since the last call, if anything, with `stdout` or `stderr`."""
    manager: Any = config.pluginmanager.getplugin("capturemanager")
    if manager is None or not manager.is_globally_capturing():
        return []
    captured = manager.read_global_capture()
    return [(key, text) for key, text in zip(("stdout", "stderr"), captured, strict=True) if text]


def report_step(item: TaskItem, record: StepRecord, label: str, read_on: Signposts) -> None:
    """Report a step that is over, as a sub-test."""
    __tracebackhide__ = True
    item.stash[CURRENT_STEP] = record
    try:
        with StepSubtest(item, label):
            raise_for_step(record, lambda: read_on)
    finally:
        item.stash[CURRENT_STEP] = None


def report_not_reached(item: TaskItem, names: Iterable[str], reason: str) -> None:
    """Report steps that never began, as skipped sub-tests."""
    __tracebackhide__ = True
    for name in names:
        item.stash[NOT_REACHED] = name
        try:
            with StepSubtest(item, name):
                skip(reason)
        finally:
            item.stash[NOT_REACHED] = ""


def skip(reason: str) -> NoReturn:
    """Skip, in a frame of its own that is not hidden: pytest asserts that there is one."""
    pytest.skip(reason)

"""Takes down the tests that run beside tasks, so that a JUnit file can be made from the journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from pytest_chalk.plugin.report_data import ITEM_ATTRIBUTE
from pytest_chalk.plugin.words import CRASHED
from pytest_chalk.reports.clean import MAX_TEXT_CHARS, shortened
from pytest_chalk.reports.junit_tests import escaped
from pytest_chalk.schemas.ordinary_test import JunitVerdict, OrdinaryTest

if TYPE_CHECKING:
    from pytest_chalk.plugin.account import SessionAccount

_Key: TypeAlias = tuple[str, object]
"""Node id, and the worker of xdist: with `--dist=each` every one of them has it."""


@dataclass
class _Open:
    """A test that is under way."""

    place: int
    duration_s: float = 0.0
    verdicts: list[JunitVerdict] = field(default_factory=list)
    has_failed: bool = False


class OrdinaryTests:
    """Follows pytest's own JUnit plugin: a test that fails and breaks in teardown is two."""

    def __init__(self, config: pytest.Config, account: SessionAccount) -> None:
        self._account = account
        knows_junit = config.pluginmanager.has_plugin("junitxml")
        self._phases = config.getini("junit_duration_report") if knows_junit else "total"
        self._open: dict[_Key, _Open] = {}
        self._tasks: set[str] = set()
        self._places = 0

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report in; write down the test that ends with it."""
        if hasattr(report, ITEM_ATTRIBUTE) or report.nodeid in self._account.ledger:
            if report.nodeid not in self._tasks:
                self._tasks.add(report.nodeid)
                self._places += 1
        elif len(self._account.ledger):  # without tasks nobody asks
            self._take(report)

    def _take(self, report: pytest.TestReport) -> None:
        test = self._open_of(report)
        if report.failed and report.when == "teardown" and test.has_failed:
            self._close(report)
            test = self._open_of(report)
        if report.failed:
            test.has_failed |= report.when == "call"
            test.verdicts.append(_failed(report))
        elif report.skipped:
            test.verdicts.append(_skipped(report))
        if self._phases in {"total", report.when}:
            test.duration_s += report.duration
        if report.when in {"teardown", CRASHED}:
            self._close(report)

    def _open_of(self, report: pytest.TestReport) -> _Open:
        key = _key(report)
        if key not in self._open:
            self._open[key] = _Open(self._places)
            self._places += 1
        return self._open[key]

    def _close(self, report: pytest.TestReport) -> None:
        test = self._open.pop(_key(report))
        self._account.take_ordinary(
            OrdinaryTest(
                report.nodeid,
                test.place,
                test.duration_s,
                tuple(test.verdicts),
                tuple((str(name), escaped(str(value))) for name, value in report.user_properties),
            )
        )


def _key(report: Any) -> _Key:  # noqa: ANN401 - xdist puts its node on reports
    return report.nodeid, getattr(report, "node", None)


def _failed(report: pytest.TestReport) -> JunitVerdict:
    if report.when == "call" and hasattr(report, "wasxfail"):
        return JunitVerdict("skipped", "xfail-marked test passes unexpectedly")
    text = shortened(str(report.longrepr), MAX_TEXT_CHARS)
    place = getattr(report.longrepr, "reprcrash", None)
    message = text if place is None else shortened(str(place.message), MAX_TEXT_CHARS)
    if report.when == "call":
        return JunitVerdict("failure", escaped(message), escaped(text))
    when = "teardown" if report.when == "teardown" else "setup"
    return JunitVerdict("error", escaped(f'failed on {when} with "{message}"'), escaped(text))


def _skipped(report: pytest.TestReport) -> JunitVerdict:
    if hasattr(report, "wasxfail"):
        reason = str(report.wasxfail).removeprefix("reason: ")
        return JunitVerdict("skipped", escaped(reason), kind="pytest.xfail")
    path, line, text = (
        report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, report.longreprtext)
    )
    reason = text.removeprefix("Skipped: ")
    details = f"{path}:{line}: {reason}"
    return JunitVerdict("skipped", escaped(reason), escaped(details), "pytest.skip")

"""Testcases of tests that are no tasks, as pytest writes them, and where they stand."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from pytest_chalk.reports.junit import missing_testcase, new_testcase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.reports.junit import JunitCase
    from pytest_chalk.schemas.ordinary_test import OrdinaryTest

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def escaped(text: str) -> str:
    """Return a text as pytest puts it into its JUnit files: what XML does not know is `#x1B`."""
    return _NOT_IN_XML.sub(_as_number, text)


def _as_number(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"#x{code:02X}" if code <= 0xFF else f"#x{code:04X}"


def lay_out(cases: Sequence[JunitCase], tests: Sequence[OrdinaryTest]) -> list[ET.Element]:
    """Return the testcases of a session in the order in which they were begun.

    Those of tasks are only their places: see `junit.rewrite_junit`.
    """
    tasks = iter(missing_testcase(case) for case in cases)
    laid: list[ET.Element] = []
    for test in sorted(tests, key=lambda test: test.place):
        while len(laid) < test.place and (task := next(tasks, None)) is not None:
            laid.append(task)
        laid.append(_testcase(test))
    return [*laid, *tasks]


def _testcase(test: OrdinaryTest) -> ET.Element:
    element = new_testcase(test.nodeid, test.duration_s, test.properties)
    for verdict in test.verdicts:
        kind = {"type": verdict.kind} if verdict.kind else {}
        child = ET.SubElement(element, verdict.tag, {**kind, "message": verdict.message})
        child.text = verdict.text or None
    return element

"""The suite of a JUnit file: what it says of a session as a whole, and one made from nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from pytest_chalk.reports.summary import mean_score
from pytest_chalk.schemas.record import sum_usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.schemas.record import RunRecord


def suite_properties(
    session_id: str,
    runs: Sequence[RunRecord],
    planned: Sequence[RunRecord],
    *,
    gate: bool | None,
) -> dict[str, str]:
    """Return the properties of a session.

    Args:
        session_id: Of the session.
        runs: The latest record of every item.
        planned: Those of them that count.
        gate: Whether the gate let the session pass; None where it was never asked.
    """
    mean = mean_score(planned)
    values = {
        "chalk.session": session_id,
        "chalk.models": ",".join(dict.fromkeys(run.model for run in runs)),
        "chalk.isolation": ",".join(sorted({run.isolation for run in runs} - {""})),
        "chalk.planned": str(len(planned)),
        "chalk.scored": str(sum(run.is_scored for run in planned)),
    }
    if gate is not None:
        values["chalk.gate"] = "passed" if gate else "failed"
    if mean is not None:
        values["chalk.mean_score"] = f"{mean:.6g}"
    usd = sum_usd(run.usd for run in runs)
    if usd is not None:
        values["chalk.usd"] = repr(usd)
    return values


def new_document(*, timestamp: str, seconds: float) -> ET.Element:
    """Return a document without testcases, as pytest writes one.

    Args:
        timestamp: When the session began, as ISO 8601.
        seconds: How long it took.
    """
    root = ET.Element("testsuites", name="pytest tests")
    attributes = {"name": "pytest", "errors": "0", "failures": "0", "skipped": "0", "tests": "0"}
    attributes |= {"time": f"{seconds:.3f}", "timestamp": timestamp}
    ET.SubElement(root, "testsuite", attributes)
    return root

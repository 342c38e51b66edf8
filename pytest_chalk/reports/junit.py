"""JUnit XML: a testcase per step and one per task, in place of what pytest wrote for a task."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_chalk.reports.clean import clean_text, shortened
from pytest_chalk.reports.failure_text import render_run_failure, render_step_failure

if TYPE_CHECKING:
    from pytest_chalk.schemas.frozen import Outcome
    from pytest_chalk.schemas.record import RunRecord, StepRecord

MAX_PROPERTY_CHARS = 4_000
"""Of one property. Viewers show properties in a table cell; the failure text has more."""

_VERDICT_TAGS = ("failure", "error", "skipped")


@dataclass(frozen=True)
class JunitCase:
    """One task item in the file.

    Attributes:
        run: Its record; None for an item that pytest skipped or expected to fail, which keeps
            pytest's own testcase.
        output: Captured text by step index; -1 is the item's own.
    """

    nodeid: str
    run: RunRecord | None
    output: Mapping[int, str] = field(default_factory=dict)
    teardown_error: str = ""


@dataclass(frozen=True)
class JunitStyle:
    """What the file holds: a testcase per step, and properties (strict schemas know none)."""

    steps: bool = True
    properties: bool = True


def rewrite_junit(
    root: ET.Element,
    cases: Sequence[JunitCase],
    suite_properties: Mapping[str, str],
    style: JunitStyle,
) -> None:
    """Change `root`, the document pytest wrote, so that it tells of tasks and steps."""
    suite = root if root.tag == "testsuite" else root.find("testsuite")
    if suite is None:
        return
    if style.properties and suite_properties:
        properties = suite.find("properties")
        if properties is None:
            properties = ET.Element("properties")
            suite.insert(0, properties)
        _add_properties(properties, suite_properties)
    for case in cases:
        _rewrite_case(suite, case, style)
    _recount(suite)


def _rewrite_case(suite: ET.Element, case: JunitCase, style: JunitStyle) -> None:
    classname, name = address(case.nodeid)
    own_classname = classname.removesuffix(".__init__")
    found = [
        element
        for element in suite.findall("testcase")
        if element.get("name") == name and str(element.get("classname")).endswith(classname)
    ]
    for superseded in found[:-1]:  # earlier attempts, and testcases opened by sub-tests
        suite.remove(superseded)
    element = found[-1] if found else ET.SubElement(suite, "testcase", time="0.000", name=name)
    element.set("classname", own_classname)
    if case.run is None:
        return
    for verdict in [child for child in element if child.tag in _VERDICT_TAGS]:
        element.remove(verdict)
    _fill_item(element, case, case.run, style)
    if style.steps:
        at = list(suite).index(element) + 1
        for offset, step in enumerate(_step_elements(case, case.run, own_classname, style)):
            suite.insert(at + offset, step)


def address(nodeid: str) -> tuple[str, str]:
    """Return classname and name under which pytest files a node id."""
    path, bracket, parameters = nodeid.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    names[-1] += bracket + parameters
    return ".".join(names[:-1]), clean_text(names[-1])


def _fill_item(element: ET.Element, case: JunitCase, run: RunRecord, style: JunitStyle) -> None:
    own_time = max(0.0, run.duration_s - sum(step.duration_s for step in run.steps))
    element.set("time", f"{own_time if style.steps else run.duration_s:.3f}")
    if style.properties:
        properties = element.find("properties")
        if properties is None:
            properties = ET.Element("properties")
            element.insert(0, properties)
        _add_properties(properties, _run_properties(case.nodeid, run))
    if case.teardown_error:
        _add_verdict(element, "error", "teardown failed", case.teardown_error)
    elif run.outcome != "passed":
        _add_verdict(element, _tag(run.outcome), run.reason, render_run_failure(run))
    _add_output(element, case.output.get(-1, ""))


def _step_elements(
    case: JunitCase, run: RunRecord, classname: str, style: JunitStyle
) -> list[ET.Element]:
    _, name = address(case.nodeid)
    owner = f"{classname}.{name}"
    elements = [_step_element(owner, step, run, style) for step in run.steps]
    for element, step in zip(elements, run.steps, strict=True):
        _add_output(element, case.output.get(step.index, ""))
    for index, unreached in enumerate(run.not_reached, len(run.steps) + 1):
        element = _testcase(owner, f"{index}-{unreached}", 0.0)
        ET.SubElement(element, "skipped", message="not reached", type="chalk.not_reached")
        elements.append(element)
    return elements


def _step_element(owner: str, step: StepRecord, run: RunRecord, style: JunitStyle) -> ET.Element:
    element = _testcase(owner, f"{step.index + 1}-{step.name}", step.duration_s)
    if style.properties:
        _add_properties(ET.SubElement(element, "properties"), _step_properties(step))
    if step.outcome != "passed":
        text = render_step_failure(step, run.transcript)
        _add_verdict(element, _tag(step.outcome), step.reason, text)
    return element


def _testcase(classname: str, name: str, seconds: float) -> ET.Element:
    attributes = {"classname": clean_text(classname), "name": clean_text(name)}
    return ET.Element("testcase", {**attributes, "time": f"{seconds:.3f}"})


def _tag(outcome: Outcome) -> str:
    tags = {"failed": "failure", "misbehaved": "failure", "skipped": "skipped"}
    return tags.get(outcome, "error")


def _add_verdict(element: ET.Element, tag: str, message: str, text: str) -> None:
    first = message.splitlines()[0] if message.strip() else tag
    verdict = ET.SubElement(element, tag, message=clean_text(shortened(first, 500)))
    verdict.text = clean_text(text)


def _add_output(element: ET.Element, text: str) -> None:
    if text and element.find("system-out") is None:
        ET.SubElement(element, "system-out").text = clean_text(text)


def _add_properties(properties: ET.Element, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        text = clean_text(shortened(value, MAX_PROPERTY_CHARS))
        ET.SubElement(properties, "property", name=clean_text(name), value=text)


def _run_properties(nodeid: str, run: RunRecord) -> dict[str, str]:
    values = {
        "chalk.nodeid": nodeid,
        "chalk.task_id": run.task_id,
        "chalk.model": run.model,
        "chalk.outcome": run.outcome,
        "score": "" if run.score is None else f"{run.score!r}",
        "chalk.turns": str(run.usage.turns),
        "chalk.input_tokens": str(run.usage.input_tokens),
        "chalk.output_tokens": str(run.usage.output_tokens),
        "chalk.isolation": run.isolation,
        "chalk.transcript": run.transcript,
    }
    return {name: value for name, value in values.items() if value}


def _step_properties(step: StepRecord) -> dict[str, str]:
    values = {"chalk.outcome": step.outcome}
    if step.score is not None and step.outcome != "error":
        values["score"] = f"{step.score!r}"
    if step.partial:
        values["chalk.partial"] = "true"
    if step.limit is not None:
        values["chalk.limit"] = step.limit.summary
    for key, value in step.metadata.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        values[f"metadata.{key}"] = text
    return values


def _recount(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))

"""JUnit XML: a testcase per step and one per task, in place of what pytest wrote for a task."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_chalk.reports.clean import clean, clean_text
from pytest_chalk.reports.failure_text import (
    render_run_failure,
    render_step_failure,
    signposts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_chalk.schemas.frozen import Outcome
    from pytest_chalk.schemas.record import LeftOut, RunRecord, StepRecord

MAX_PROPERTY_CHARS = 4_000
"""Of one property. Viewers show properties in a table cell; the failure text has more."""

MAX_MESSAGE_CHARS = 500
"""Of the one line that a viewer shows beside a testcase."""

_VERDICT_TAGS = ("failure", "error", "skipped")


@dataclass(frozen=True)
class JunitCase:
    """One task item in the file.

    Attributes:
        run: Its record; None for an item that pytest skipped or expected to fail, which keeps
            pytest's own testcase.
        output: Captured text by step index; -1 is the item's own.
        left_out, properties, duration_s: What pytest's own testcase says of the item, for one
            that is missing in the document.
    """

    nodeid: str
    run: RunRecord | None
    output: Mapping[int, str] = field(default_factory=dict)
    teardown_error: str = ""
    left_out: LeftOut | None = None
    properties: Sequence[tuple[str, object]] = ()
    duration_s: float = 0.0


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
    """Change `root`, the document pytest wrote, so that it tells of tasks and steps.

    The testcases of tasks stand in the order of `cases`: pytest's is that in which its workers
    happened to report. What it did not write, because it ran in another session, is added.
    """
    suite = root if root.tag == "testsuite" else root.find("testsuite")
    if suite is None:
        return
    if style.properties and suite_properties:
        properties = suite.find("properties")
        if properties is None:
            properties = ET.Element("properties")
            suite.insert(0, properties)
        _add_properties(properties, suite_properties)
    written = _testcases(suite)
    prefix = _find_prefix(written, cases)
    taken: set[ET.Element] = set()
    superseded: set[ET.Element] = set()  # by later attempts
    rewritten: list[list[ET.Element]] = []
    for case in cases:
        classname, name = address(case.nodeid)
        found = written.get((prefix + classname, name), [])
        superseded.update(found[:-1])
        taken.update(found[-1:])
        own = found[-1] if found else missing_testcase(case)
        own.set("classname", prefix + classname.removesuffix(".__init__"))
        rewritten.append(_rewritten(own, case, style))
    groups = iter(rewritten)
    children: list[ET.Element] = []
    for child in suite:
        if child not in superseded:
            children += next(groups) if child in taken else [child]
    suite[:] = [*children, *(element for group in groups for element in group)]
    _recount(suite)


_Written = dict[tuple[str, str], list[ET.Element]]


def _testcases(suite: ET.Element) -> _Written:
    """Return what pytest wrote, by classname and name."""
    written: _Written = {}
    for element in suite.findall("testcase"):
        key = (element.get("classname", ""), element.get("name", ""))
        written.setdefault(key, []).append(element)
    return written


def new_testcase(
    nodeid: str, duration_s: float, properties: Iterable[tuple[str, str]]
) -> ET.Element:
    """Return a testcase without a verdict, as pytest writes one; texts are fit for XML."""
    classname, name = address(nodeid)
    attributes = {"classname": classname, "name": name, "time": f"{duration_s:.3f}"}
    element = ET.Element("testcase", attributes)
    listed = [ET.Element("property", name=key, value=value) for key, value in properties]
    if listed:
        ET.SubElement(element, "properties").extend(listed)
    return element


def missing_testcase(case: JunitCase) -> ET.Element:
    """Return what pytest itself writes about an item, apart from a verdict on its run."""
    cleaned = [(clean_text(key), clean_text(str(value))) for key, value in case.properties]
    element = new_testcase(case.nodeid, case.duration_s, cleaned)
    if case.run is None and case.left_out is not None and case.left_out.kind:
        left_out = case.left_out
        message = clean_text(left_out.reason)
        skipped = ET.SubElement(element, "skipped", type=left_out.kind, message=message)
        skipped.text = clean_text(left_out.text) or None
    return element


def _find_prefix(written: _Written, cases: Sequence[JunitCase]) -> str:
    """Return what `--junit-prefix` put before every classname, with its dot; mostly nothing."""
    addresses = [address(case.nodeid) for case in cases]
    if any(key in written for key in addresses):
        return ""
    by_name: dict[str, list[str]] = {}
    for classname, name in addresses:
        by_name.setdefault(name, []).append(classname)
    prefixes = [
        found.removesuffix(classname)
        for found, name in written
        for classname in by_name.get(name, [])
        if found.endswith(f".{classname}")
    ]
    return min(prefixes, key=len, default="")


def _rewritten(own: ET.Element, case: JunitCase, style: JunitStyle) -> list[ET.Element]:
    """Return an item's testcase, changed in place, and after it those of its steps."""
    verdicts = [child for child in own if child.tag in _VERDICT_TAGS]
    for verdict in verdicts[:-1] if case.run is None else verdicts:
        own.remove(verdict)  # sub-tests have left theirs here too
    if case.run is None:
        return [own]
    _fill_item(own, case, case.run, style)
    owner = f"{own.get('classname')}.{own.get('name')}"
    return [own, *_step_elements(owner, case, case.run, style)] if style.steps else [own]


def address(nodeid: str) -> tuple[str, str]:
    """Return classname and name under which pytest files a node id."""
    path, _, rest = nodeid.partition("::")
    names, bracket, parameters = rest.partition("[")  # a path may have brackets of its own
    module = re.sub(r"\.py$", "", path.replace("/", "."))
    *outer, name = [module, *names.split("::")] if rest else [module]
    return ".".join(outer), clean_text(name + bracket + parameters)


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
        text = case.teardown_error
        text = text if run.outcome == "passed" else f"{text}\n{render_run_failure(run)}"
        _add_verdict(element, "error", "teardown failed", text)
    elif run.outcome != "passed":
        _add_verdict(element, run.outcome, run.reason, render_run_failure(run))
    _add_output(element, case.output.get(-1, ""))


def _step_elements(
    owner: str, case: JunitCase, run: RunRecord, style: JunitStyle
) -> Iterator[ET.Element]:
    for step in run.steps:
        element = _step_element(owner, step, run, style)
        _add_output(element, case.output.get(step.index, ""))
        yield element
    for number, unreached in enumerate(run.not_reached, len(run.steps) + 1):
        element = _testcase(owner, f"{number}-{unreached}", 0.0)
        ET.SubElement(element, "skipped", message="not reached", type="chalk.not_reached")
        yield element


def _step_element(owner: str, step: StepRecord, run: RunRecord, style: JunitStyle) -> ET.Element:
    element = _testcase(owner, f"{step.index + 1}-{step.name}", step.duration_s)
    if style.properties:
        _add_properties(ET.SubElement(element, "properties"), _step_properties(step))
    if step.outcome != "passed":
        text = render_step_failure(step, signposts_of(run))
        _add_verdict(element, step.outcome, step.reason, text)
    return element


def _testcase(classname: str, name: str, seconds: float) -> ET.Element:
    attributes = {"classname": clean_text(classname), "name": clean_text(name)}
    return ET.Element("testcase", {**attributes, "time": f"{seconds:.3f}"})


def _tag(outcome: Outcome) -> str:
    tags = {"failed": "failure", "misbehaved": "failure", "skipped": "skipped"}
    return tags.get(outcome, "error")


def _add_verdict(element: ET.Element, outcome: Outcome, message: str, text: str) -> None:
    """Add a verdict; its type tells apart the outcomes that share a tag."""
    tag = _tag(outcome)
    first = message.strip().partition("\n")[0] or tag
    verdict = ET.Element(
        tag, message=clean_text(first, max_chars=MAX_MESSAGE_CHARS), type=f"chalk.{outcome}"
    )
    verdict.text = clean_text(text)
    # Strict schemas want it after the properties and before the output.
    element.insert(int(element.find("properties") is not None), verdict)


def _add_output(element: ET.Element, text: str) -> None:
    if text and element.find("system-out") is None:
        ET.SubElement(element, "system-out").text = clean_text(text)


def _add_properties(properties: ET.Element, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        text = clean_text(value, max_chars=MAX_PROPERTY_CHARS)
        ET.SubElement(properties, "property", name=clean_text(name), value=text)


def _run_properties(nodeid: str, run: RunRecord) -> dict[str, str]:
    values = {
        "chalk.nodeid": nodeid,
        "chalk.task_id": run.task_id,
        "chalk.model": run.model,
        "chalk.outcome": run.outcome,
        "score": repr(run.score) if run.is_scored and run.score is not None else "",
        "chalk.turns": str(run.usage.turns),
        "chalk.input_tokens": str(run.usage.input_tokens),
        "chalk.output_tokens": str(run.usage.output_tokens),
        "chalk.usd": "" if run.usd is None else repr(run.usd),
        "chalk.isolation": run.isolation,
        "chalk.transcript": run.transcript,
    }
    return {name: value for name, value in values.items() if value}


def _step_properties(step: StepRecord) -> dict[str, str]:
    values: dict[str, str] = {"chalk.outcome": step.outcome}
    if step.score is not None and step.outcome in {"passed", "failed", "misbehaved"}:
        values["score"] = repr(step.score)
    if step.partial:
        values["chalk.partial"] = "true"
    if step.limit is not None:
        values["chalk.limit"] = step.limit.summary
    for key, value in step.metadata.items():
        text = value if isinstance(value, str) else json.dumps(clean(value), ensure_ascii=False)
        values[f"metadata.{key}"] = text
    return values


def _recount(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(tag) is not None for case in cases)))

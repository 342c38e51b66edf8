"""A session read back from its journal: what it planned, and what became of each item."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pytest_chalk.errors import MachineError
from pytest_chalk.schemas.ordinary_test import JunitVerdict, OrdinaryTest
from pytest_chalk.schemas.record import LeftOut, RunRecord, StepRecord
from pytest_chalk.store.journal import iterate_journal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

JOURNAL_SCHEMA_VERSION = 1
"""Of a journal; a reader refuses a newer one instead of guessing."""


@dataclass
class ItemLog:
    """What a journal says of one item: its latest attempt.

    Attributes:
        run: None where it has none: it was killed under way, or skipped by a mark.
        step_records: Of each step as JSON, by index; a killed run may have some and no record of
            itself. The record of a run holds its steps, and few readers look at these.
        output: Captured text by step index; -1 is the item's own.
        bars: What the runs of its task had to reach together, if anything.
    """

    nodeid: str
    run: RunRecord | None = None
    step_records: dict[int, dict[str, Any]] = field(default_factory=dict)
    left_out: LeftOut | None = None
    teardown_error: str = ""
    properties: list[tuple[str, Any]] = field(default_factory=list)
    duration_s: float = 0.0
    output: dict[int, str] = field(default_factory=dict)
    bars: dict[str, Any] | None = None

    @property
    def steps(self) -> dict[int, StepRecord]:
        """The steps that were written, by index."""
        return {i: StepRecord.model_validate(found) for i, found in self.step_records.items()}

    @property
    def is_finished(self) -> bool:
        """Whether the run was measured, whatever it was worth: nobody pays for it twice."""
        return self.run is not None and self.run.is_scored

    @property
    def counts(self) -> bool:
        """Whether it was to be measured: neither skipped nor expected to fail."""
        return self.left_out is None and (self.run is None or self.run.outcome != "skipped")


@dataclass
class SessionLog:
    """A session.

    Attributes:
        items: By node id, in planned order.
        tests: Those beside the tasks, of its last process: resuming runs them again.
        parts: When each of its processes began; more than one where it was resumed.
        problems: Why the gate let it fail, or None where it ended before the gate was asked.
        exit_status: None where it was killed.
        isolation: What held the students, by the names of JUnit properties; empty where it was
            killed.
    """

    session_id: str = ""
    models: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    junit_steps: bool = True
    junit_properties: bool = True
    items: dict[str, ItemLog] = field(default_factory=dict)
    tests: list[OrdinaryTest] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    finished_at: str = ""
    problems: tuple[str, ...] | None = None
    exit_status: int | None = None
    isolation: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> list[RunRecord]:
        """The latest record of every item that has one."""
        return [item.run for item in self.items.values() if item.run is not None]

    @property
    def planned_runs(self) -> list[RunRecord]:
        """Those records that count."""
        return [i.run for i in self.items.values() if i.run is not None and i.counts]

    @property
    def seconds(self) -> float:
        """From its first beginning to its last end; 0 where it was killed."""
        if not self.parts or not self.finished_at:
            return 0.0
        ends = datetime.fromisoformat(self.finished_at)
        return (ends - datetime.fromisoformat(self.parts[0])).total_seconds()


def read_session(journal: Path) -> SessionLog:
    """Return the session that a journal tells of; a torn last line is left out.

    Raises:
        MachineError: There is no journal, or it is not one of this release.
    """
    log = SessionLog()
    for number, entry in enumerate(iterate_journal(journal), 1):
        try:
            _take(log, entry)
        except (KeyError, TypeError, ValueError) as error:
            message = (
                f"journal {str(journal)!r}, line {number}: {error}. It was written by another "
                "release or changed by hand; read it with the release that wrote it."
            )
            raise MachineError(message) from error
    return log


def _take(log: SessionLog, entry: Mapping[str, Any]) -> None:
    match entry["type"]:
        case "session_started":
            _begin(log, entry)
        case "planned":
            for nodeid in entry["nodeids"]:
                log.items.setdefault(nodeid, ItemLog(nodeid))
        case "step" | "run" | "item" as kind:
            item = log.items.setdefault(entry["nodeid"], ItemLog(entry["nodeid"]))
            {"step": _take_step, "run": _take_run, "item": _take_end}[kind](item, entry)
        case "test":
            log.tests.append(_test_in(entry))
        case "session_finished":
            log.exit_status = entry["exit_status"]
            log.problems = tuple(entry["problems"])
            log.finished_at = entry["finished_at"]
            log.isolation = entry.get("isolation", {})
        case _:  # of a later release of the same schema
            return


def _begin(log: SessionLog, entry: Mapping[str, Any]) -> None:
    """Begin the session, or one more part of it."""
    if entry["schema_version"] != JOURNAL_SCHEMA_VERSION:
        message = (
            f"schema version {entry['schema_version']!r}, this release reads "
            f"{JOURNAL_SCHEMA_VERSION}"
        )
        raise ValueError(message)
    log.session_id = entry["session_id"]
    log.models, log.arguments = tuple(entry["models"]), tuple(entry["arguments"])
    log.junit_steps = entry["junit_steps"]
    log.junit_properties = entry["junit_properties"]
    log.parts.append(entry["started_at"])
    log.exit_status, log.problems, log.finished_at = None, None, ""
    log.tests.clear()
    for item in log.items.values():
        if not item.is_finished:
            log.items[item.nodeid] = ItemLog(item.nodeid, run=item.run)


def _test_in(entry: Mapping[str, Any]) -> OrdinaryTest:
    return OrdinaryTest(
        nodeid=entry["nodeid"],
        place=int(entry["place"]),
        duration_s=float(entry["duration_s"]),
        verdicts=tuple(JunitVerdict(*verdict) for verdict in entry["verdicts"]),
        properties=tuple((name, value) for name, value in entry["properties"]),
    )


def _take_step(item: ItemLog, entry: Mapping[str, Any]) -> None:
    index = int(entry["record"]["index"])
    if index in item.step_records:  # a later attempt begins
        item.step_records, item.output, item.run = {}, {}, None
    item.step_records[index] = entry["record"]
    item.output[index] = entry.get("output", "")


def _take_run(item: ItemLog, entry: Mapping[str, Any]) -> None:
    item.run = RunRecord.model_validate(entry["record"])
    item.output[-1] = entry.get("output", "")
    item.bars = entry.get("bars")


def _take_end(item: ItemLog, entry: Mapping[str, Any]) -> None:
    left_out = entry["left_out"]
    item.left_out = LeftOut.model_validate(left_out) if left_out is not None else None
    item.teardown_error = entry["teardown_error"]
    item.properties = [(name, value) for name, value in entry["properties"]]
    item.duration_s = entry["duration_s"]

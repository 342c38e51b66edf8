"""`--chalk-validate`: each task's checks as the sub-tests of its item."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pytest_chalk.plugin.replay import signposted, signposts
from pytest_chalk.plugin.running import RUN, place_of
from pytest_chalk.plugin.state import STATE
from pytest_chalk.plugin.step_subtests import report_step
from pytest_chalk.plugin.verdicts import raise_for_run
from pytest_chalk.reports.clean import clean_text
from pytest_chalk.runner.validation import Validation, make_check
from pytest_chalk.schemas.record import VALIDATION, RunRecord, StepRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from pytest_chalk.plugin.items import TaskItem
    from pytest_chalk.plugin.state import ChalkState
    from pytest_chalk.runner.validation import Check


def validate_item(item: TaskItem, hook_arguments: Mapping[str, object]) -> None:
    """Check an item's task; what it does not withstand is raised for pytest."""
    __tracebackhide__ = True
    fixtures: Mapping[str, Any] = item.funcargs
    state: ChalkState = item.config.stash[STATE]
    rule = state.settings.pass_rule
    config = fixtures["chalk_run_config"]
    validation = Validation(item.task_class, config, hook_arguments, rule, place_of(item))
    steps: list[StepRecord] = []
    checks = list(validation.checks())
    started_s = time.monotonic()
    with state.running.during(item.nodeid):
        for name, check in checks:
            began_s = time.monotonic()
            made = make_check(name, check)
            steps.append(_record(made, len(steps), len(checks), time.monotonic() - began_s))
            report_step(item, steps[-1], name, signposts(item.nodeid, "", "", state))
    record = signposted(_summed_up(item, state, steps, time.monotonic() - started_s), state)
    item.stash[RUN] = record
    raise_for_run(record)


def _record(check: Check, index: int, of: int, seconds: float) -> StepRecord:
    return StepRecord(
        index=index,
        of=of,
        name=check.name,
        outcome="failed" if check.problem else "passed",
        score=0.0 if check.problem else 1.0,
        reason=clean_text(check.problem),
        metadata={"notes": list(check.notes)} if check.notes else {},
        duration_s=round(seconds, 6),
    )


def _summed_up(
    item: TaskItem, state: ChalkState, steps: list[StepRecord], seconds: float
) -> RunRecord:
    failed = [step.name for step in steps if step.outcome == "failed"]
    return RunRecord(
        run_id="",
        task_id=item.task_class.id,
        model=VALIDATION,
        outcome="failed" if failed else "passed",
        score=sum(step.score or 0.0 for step in steps) / len(steps),
        reason=f"it does not withstand: {', '.join(failed)}" if failed else "",
        steps=tuple(steps),
        session_id=state.directory.session_id,
        nodeid=item.nodeid,
        module=item.task_class.__module__,
        qualname=item.task_class.__qualname__,
        duration_s=round(seconds, 6),
    )


def print_notes(terminal: pytest.TerminalReporter, runs: tuple[RunRecord, ...]) -> None:
    """Print what a person should look at."""
    for run in runs:
        for step in run.steps if run.model == VALIDATION else ():
            for note in step.metadata.get("notes", ()):
                terminal.line(f"note {run.task_id}, {step.name}: {note}")

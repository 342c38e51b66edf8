"""Runs a task item: the runner's steps inside pytest's own sub-tests."""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.errors import BudgetSpent
from pytest_chalk.plugin.cassettes import Recordings
from pytest_chalk.plugin.items import TaskItem
from pytest_chalk.plugin.judge_models import SessionJudgeModels, wrap_student
from pytest_chalk.plugin.replay import signposted, signposts
from pytest_chalk.plugin.seat import StudentSeat
from pytest_chalk.plugin.state import STATE
from pytest_chalk.plugin.step_subtests import (
    CURRENT_STEP,
    StepSubtest,
    report_not_reached,
    skip,
    take_output,
)
from pytest_chalk.plugin.verdicts import Verdict, raise_for_run, raise_for_step
from pytest_chalk.runner.api import run_id_for
from pytest_chalk.runner.place import process_box
from pytest_chalk.runner.run_place import RunPlace
from pytest_chalk.runner.students import check_student, student_name
from pytest_chalk.runner.task_run import TaskRun, task_run, unstarted_run
from pytest_chalk.schemas.record import RunRecord, RunSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.plugin.seat import Submissions
    from pytest_chalk.plugin.state import ChalkState
    from pytest_chalk.runner.step_run import StepRun
    from pytest_chalk.runner.students import Student
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.frozen import Outcome
    from pytest_chalk.schemas.record import StepRecord
    from pytest_chalk.schemas.run_config import RunConfig

RUN = pytest.StashKey[RunRecord]()
"""The record of the item's latest attempt."""

_INTERRUPTS = (KeyboardInterrupt, pytest.exit.Exception)


def run_item(item: TaskItem, hook_arguments: Mapping[str, object]) -> None:
    """Run a task item once; its verdict is raised for pytest.

    `hook_arguments` are the values of the fixtures that `pre_hook` names.
    """
    __tracebackhide__ = True
    state: ChalkState = item.config.stash[STATE]
    fixtures: Mapping[str, Any] = item.funcargs
    run_id = fixtures["chalk_run_config"].run_id
    with state.running.during(item.nodeid, state.directory.transcript_path(run_id)):
        _run_item(item, hook_arguments)


def _run_item(item: TaskItem, hook_arguments: Mapping[str, object]) -> None:
    __tracebackhide__ = True
    fixtures: Mapping[str, Any] = item.funcargs
    student = check_student(fixtures["chalk_model"])
    spec = _spec(item, fixtures, local=bool(hook_arguments))
    recordings = _recordings(item, spec, fixtures["chalk_student"].box)
    place = _place(item, fixtures, recordings)
    why_not = _why_not_started(item, recordings, student)
    if why_not:
        record = unstarted_run(spec, why_not)
    else:
        with task_run(spec, place) as run:
            record = _carry_out(item, run, student, hook_arguments)
    record = _keep(item, record)
    item.ihook.pytest_chalk_run_finished(item=item, run=record)
    if record.outcome == "skipped":
        skip(record.reason)
    raise_for_run(record)


def _carry_out(
    item: TaskItem, run: TaskRun, student: Student, hook_arguments: Mapping[str, object]
) -> RunRecord:
    """Take a run from its beginning to its record, in whatever way it ends."""
    __tracebackhide__ = True
    printed: list[tuple[str, str]] = []
    try:
        run.prepare(item.task_class, student, hook_arguments)
        printed = take_output(item.config)
        _run_steps(item, run)
        return run.finish()
    except Verdict:  # under -x a step's verdict leaves its sub-test and ends the item
        _keep(item, run.finish())
        raise
    except BudgetSpent as spent:  # a hook of the task's asked a model
        return run.finish(outcome="not_run", reason=str(spent))
    except BaseException as error:
        _keep(item, _ended_from_outside(run, error))
        raise
    finally:
        for key, text in printed:  # before the steps: not theirs
            item.add_report_section("call", key, text)


def _keep(item: TaskItem, record: RunRecord) -> RunRecord:
    """Keep an attempt's record for its report, and return it as it is kept."""
    kept = item.stash[RUN] = signposted(record, item.config.stash[STATE])
    return kept


def _recordings(item: TaskItem, spec: RunSpec, box: Box) -> Recordings:
    return Recordings(item.config.stash[STATE].settings, item.task_class, spec, box)


def _why_not_started(item: TaskItem, recordings: Recordings, student: Student) -> str:
    """Return why a run need not begin: its first turn would find the budget spent; else ""."""
    state: ChalkState = item.config.stash[STATE]
    if isinstance(student, str) or student.trusted or recordings.replays:
        return ""
    return state.purse.why_spent()


def _spec(item: TaskItem, fixtures: Mapping[str, Any], *, local: bool) -> RunSpec:
    state: ChalkState = item.config.stash[STATE]
    return RunSpec(
        config=fixtures["chalk_run_config"],
        module=item.task_class.__module__,
        qualname=item.task_class.__qualname__,
        session_id=state.directory.session_id,
        nodeid=item.nodeid,
        epoch=fixtures.get("chalk_epoch", 1),
        attempt=item.attempts,
        local=local,
        pass_rule=state.settings.pass_rule,
    )


def place_of(item: TaskItem) -> RunPlace:
    """Return where an item's run would happen."""
    fixtures: Mapping[str, Any] = item.funcargs
    spec = _spec(item, fixtures, local=False)
    return _place(item, fixtures, _recordings(item, spec, fixtures["chalk_student"].box))


def _place(item: TaskItem, fixtures: Mapping[str, Any], recordings: Recordings) -> RunPlace:
    state: ChalkState = item.config.stash[STATE]
    run_id = fixtures["chalk_run_config"].run_id
    submissions: Submissions = fixtures["chalk_submissions"]
    return RunPlace(
        box=fixtures["chalk_student"].box,
        transcript=state.directory.transcript_path(run_id),
        directory=state.directory.run_path(run_id),
        save_submission_kwargs=submissions.save_submission_kwargs,
        submissions_dir=submissions.directory,
        allow_readable_tasks=state.settings.allow_readable_tasks,
        wrap_model=wrap_student(state, recordings),
        judge_models=lambda model: SessionJudgeModels(state, recordings, model),
        resolve_hardware=lambda name: item.ihook.pytest_chalk_resolve_hardware(
            item=item, config=item.config, hardware=name, name=name
        ),
        project=state.discovery.root,
        keep_box=state.settings.keep_box,
    )


def _run_steps(item: TaskItem, run: TaskRun) -> None:
    __tracebackhide__ = True
    state: ChalkState = item.config.stash[STATE]
    run_id = run.spec.config.run_id
    read_on = partial(signposts, item.nodeid, run_id, run.transcript_path, state)
    for step in run.steps():
        try:
            with StepSubtest(item, step.label):
                record = _perform(item, run, step)
                raise_for_step(record, read_on)
        finally:
            item.stash[CURRENT_STEP] = None
    report_not_reached(item, run.not_reached(), f"not reached: {run.why_ended()}")


def _perform(item: TaskItem, run: TaskRun, step: StepRun) -> StepRecord:
    """Run one step; what ends it from outside (a time-out, an interrupt) is recorded and raised."""
    __tracebackhide__ = True
    try:
        record = step.perform()
    except BaseException as error:
        record = step.broken_by(error, outcome=_outside_outcome(error))
        run.record(record)
        item.stash[CURRENT_STEP] = record
        raise
    run.record(record)
    item.stash[CURRENT_STEP] = record
    item.ihook.pytest_chalk_step_scored(item=item, step=record)
    return record


def _outside_outcome(error: BaseException) -> Outcome:
    if isinstance(error, (*_INTERRUPTS, BudgetSpent)):
        return "not_run"
    return "skipped" if isinstance(error, pytest.skip.Exception) else "error"


def _ended_from_outside(run: TaskRun, error: BaseException) -> RunRecord:
    outcome = _outside_outcome(error)
    reason = "interrupted" if outcome == "not_run" else f"{type(error).__name__}: {error}"
    return run.finish(outcome=outcome, reason=reason)


def run_config_for(item: pytest.Item, student: Student) -> RunConfig:
    """Return the run config of an item's next attempt."""
    state: ChalkState = item.config.stash[STATE]
    if not isinstance(item, TaskItem):
        return state.settings.run_config
    name, task_id = student_name(student), item.task_class.id
    part = f"-r{state.resumed.part}" if state.resumed is not None else ""
    config = state.settings.run_config.model_copy(
        update={
            "run_id": run_id_for(task_id, name, item.nodeid, item.attempts) + part,
            "task_id": task_id,
            "model": name,
        }
    )
    changed = item.ihook.pytest_chalk_make_run_config(item=item, run_config=config)
    return changed if changed is not None else config


@functools.cache
def student_seat() -> StudentSeat:
    """Return the seat of this process's student."""
    box = process_box()
    slot = box.slot
    return StudentSeat(slot.number, slot.student_uid, box.paths.workdir, box)

"""`--chalk-rejudge`: today's judges on the work of an earlier session; no student works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from pytest_chalk.plugin.cassettes import Recordings
from pytest_chalk.plugin.judge_models import SessionJudgeModels
from pytest_chalk.plugin.rejudged import REJUDGED_KEY
from pytest_chalk.plugin.replay import signposted
from pytest_chalk.plugin.running import RUN
from pytest_chalk.plugin.state import STATE
from pytest_chalk.plugin.step_subtests import report_not_reached, report_step
from pytest_chalk.plugin.verdicts import raise_for_run
from pytest_chalk.reports.failure_text import signposts_of
from pytest_chalk.runner.rejudge import judge_record
from pytest_chalk.runner.students import BUILT_IN
from pytest_chalk.schemas.record import RunSpec
from pytest_chalk.schemas.run_config import RunConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.plugin.items import TaskItem
    from pytest_chalk.plugin.rejudged import Rejudged
    from pytest_chalk.plugin.state import ChalkState
    from pytest_chalk.schemas.record import RunRecord, StepRecord


def rejudge_item(item: TaskItem, hook_arguments: Mapping[str, object]) -> None:
    """Judge an item's recorded run again; its verdict is raised for pytest as for a run."""
    __tracebackhide__ = True
    state: ChalkState = item.config.stash[STATE]
    rejudged = _rejudged(state)
    before = rejudged.log.items.get(item.nodeid)
    if before is None or before.run is None or not before.run.steps:
        pytest.skip(f"session {rejudged.log.session_id} has no work of it to judge")
    record = judge_record(
        before.run,
        task_class=item.task_class,
        pass_rule=state.settings.pass_rule,
        hook_arguments=hook_arguments,
        judge_models=_RecordedRunJudges(state, item, before.run),
        only_changed=not rejudged.everything,
    )
    record = record.model_copy(update={"session_id": state.directory.session_id})
    record = signposted(record, state)
    for step in record.steps:
        report_step(item, step, step.label, signposts_of(record))
    report_not_reached(item, record.not_reached, "not reached")
    item.stash[RUN] = record
    raise_for_run(record)


def _rejudged(state: ChalkState) -> Rejudged:
    if state.rejudged is None:  # pragma: no cover - items are only made so where there is one
        raise AssertionError
    return state.rejudged


class _RecordedRunJudges(SessionJudgeModels):
    """The models that judges ask; the run's own is made only if one asks it."""

    def __init__(self, state: ChalkState, item: TaskItem, run: RunRecord) -> None:
        config = run.config or RunConfig.placeholder()
        spec = RunSpec(
            config=config,
            module=run.module,
            qualname=run.qualname,
            nodeid=run.nodeid,
            epoch=run.epoch,
        )
        fixtures: Mapping[str, Any] = item.funcargs
        box = fixtures["chalk_student"].box
        super().__init__(state, Recordings(state.settings, item.task_class, spec, box))
        self._run, self._chosen = run, state.settings.judge.name

    @override
    def find(self, wanted: Model | str | None) -> Model:
        own = None if self._chosen or self._run.model in BUILT_IN else self._run.model
        return super().find(wanted or own)


class RejudgeReport:
    """Prints what the judges say now and what they said then."""

    def __init__(self, rejudged: Rejudged) -> None:
        self._rejudged = rejudged
        self._lines: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist exports no type
        """Tell a worker which session it is: the newest may be another by then."""
        node.workerinput[REJUDGED_KEY] = self._rejudged.log.session_id

    def take(self, planned: Sequence[RunRecord]) -> list[str]:
        """Compare the records of the session with those they were made from; no problem is found.

        A check of the account: see `SessionAccount.checks`.
        """
        before = {run.nodeid: run for run in self._rejudged.log.runs}
        pairs = [(before[run.nodeid], run) for run in planned if run.nodeid in before]
        changed = [(old, new) for old, new in pairs if _word(old) != _word(new)]
        again = sum(_asked(old, new) for old, new in pairs)
        self._lines = [f"{_word(old)} -> {_word(new)}  {new.nodeid}" for old, new in changed]
        steps = sum(len(run.steps) for _, run in pairs)
        self._lines.append(
            f"{len(pairs)} runs of session {self._rejudged.log.session_id}: {again} of {steps} "
            f"steps judged again, {len(changed)} runs changed"
        )
        return []

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("chalk rejudge")
        for line in self._lines:
            terminalreporter.line(line)


def _word(run: RunRecord) -> str:
    score = "-" if run.score is None else f"{run.score:.2f}"
    return f"{score} {run.outcome.replace('_', ' ')}"


def _asked(old: RunRecord, new: RunRecord) -> int:
    """Return how many steps a judge has scored now: what it did not is as it was, to the byte."""
    known: dict[int, StepRecord] = {step.index: step for step in old.steps}
    return sum(known.get(step.index) != step for step in new.steps)

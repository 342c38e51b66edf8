"""How a verdict reaches pytest: raised inside the sub-test or item it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.reports.failure_text import render_run_failure, render_step_failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chalk.reports.failure_text import Signposts
    from pytest_chalk.schemas.record import RunRecord, StepRecord


class Verdict(Exception):  # noqa: N818 - no error: the word of a judge
    """Its text is all a report shows of it."""


class WorkFellShort(AssertionError, Verdict):  # noqa: N818 - as above
    """The student failed or misbehaved. An `AssertionError`: other reporters say `failed`."""


class NotMeasured(Verdict):
    """Something broke; there is no score. No `AssertionError`: other reporters say `broken`."""


def raise_for_step(step: StepRecord, signposts: Callable[[], Signposts]) -> None:
    """Raise unless the step passed; only then `signposts` is asked where to read on."""
    if step.outcome == "passed":
        return
    kind = WorkFellShort if step.outcome in {"failed", "misbehaved"} else NotMeasured
    raise kind(render_step_failure(step, signposts()))


def raise_for_run(run: RunRecord) -> None:
    """Raise unless the run passed."""
    if run.outcome == "passed":
        return
    kind = WorkFellShort if run.outcome in {"failed", "misbehaved"} else NotMeasured
    raise kind(render_run_failure(run))

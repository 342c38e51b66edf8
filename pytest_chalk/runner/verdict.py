"""The pass rule and the outcomes: pure functions from what happened to what is reported."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_chalk.schemas.record import NO_USAGE, StepRecord, Usage, sum_usd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.schemas.frozen import Outcome
    from pytest_chalk.schemas.record import PassRule
    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import JudgeUsageEvent, TokenUsageEvent

PASS_SCORE_REL_TOL = 1e-9
"""So that 0.1 + 0.2 + 0.7, which is a little less than 1.0 in binary, reaches a pass score of 1."""


def passes(scoring: Scoring, rule: PassRule) -> bool:
    """Tell whether a scored step passes: the judge decides, and a pass score where one is set."""
    if not scoring.continue_task:
        return False
    if rule.pass_score is None:
        return scoring.score > 0
    return scoring.score >= rule.pass_score or math.isclose(
        scoring.score, rule.pass_score, rel_tol=PASS_SCORE_REL_TOL
    )


def is_partial(scoring: Scoring, rule: PassRule) -> bool:
    """Tell whether a step passed without full marks and without anyone having set the bar."""
    return rule.pass_score is None and 0 < scoring.score < 1 and passes(scoring, rule)


def reason_for_failing(scoring: Scoring, rule: PassRule) -> str:
    """Return score, rule and where the rule was set, in one line."""
    score = f"score {scoring.score:g}"
    cause = scoring.metadata.get("error")
    if isinstance(cause, str):
        return f"{score}: {cause}"
    if not scoring.continue_task:
        return f"{score}: the judge ended the task here (continue_task=False)"
    if rule.pass_score is None:
        return f"{score} is not above 0 (no pass score is set)"
    return f"{score} is below the pass score {rule.pass_score:g} (set by {rule.source})"


_WORST_FIRST: tuple[Outcome, ...] = ("not_run", "error", "skipped", "misbehaved", "failed")


def goes_on(step: StepRecord) -> bool:
    """Tell whether the next step runs: this one was scored, and its judge lets the task go on."""
    return step.failure is None and step.score is not None and step.continue_task is True


def run_outcome(steps: Sequence[StepRecord]) -> Outcome:
    """Return the outcome of a run from its steps: the worst of theirs.

    What was not measured outweighs what was: a run with a broken step is broken, however well the
    others went.
    """
    outcomes = {step.outcome for step in steps}
    return next((outcome for outcome in _WORST_FIRST if outcome in outcomes), "passed")


def run_score(steps: Sequence[StepRecord]) -> float | None:
    """Return the score of the last step that was scored."""
    scores = [step.score for step in steps if step.score is not None]
    return scores[-1] if scores else None


def run_reason(steps: Sequence[StepRecord]) -> str:
    """Return why the run did not pass, naming the step; empty for a pass."""
    outcome = run_outcome(steps)
    for step in steps if outcome != "passed" else ():
        if step.outcome == outcome:
            return f"step {step.label}: {step.reason}"
    return ""


def usage_of(turns: int, events: Sequence[TokenUsageEvent | JudgeUsageEvent]) -> Usage:
    """Return what so many turns, or questions of a judge, have used."""
    if not turns and not events:
        return NO_USAGE
    return Usage(
        turns=turns,
        input_tokens=sum(event.input_tokens for event in events),
        output_tokens=sum(event.output_tokens for event in events),
        usd=sum_usd(event.usd for event in events),
    )


def total_usage(steps: Sequence[StepRecord]) -> Usage:
    """Return tokens and turns over all steps."""
    return _sum([step.usage for step in steps])


def total_judge_usage(steps: Sequence[StepRecord]) -> Usage:
    """Return what the judges of all steps used."""
    return _sum([step.judge_usage for step in steps])


def _sum(usages: Sequence[Usage]) -> Usage:
    first, *others = usages or [NO_USAGE]
    return sum(others, first)


def step_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names made unique: equal ones get their index, counted from 1."""
    return tuple(
        f"{name}-{index}" if names.count(name) > 1 else name for index, name in enumerate(names, 1)
    )

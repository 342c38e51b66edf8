"""The gate: whether the session as a whole passes. Pure; the table of outcomes is its test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.reports.epochs import by_group, find_problem
from pytest_chalk.reports.summary import by_model, mean_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.plugin.settings import Gate
    from pytest_chalk.reports.epochs import Bars
    from pytest_chalk.schemas.record import RunRecord

MEAN_TOL = 1e-9
"""So that a mean of 0.1, 0.2 and 0.3 reaches 0.2."""


@dataclass(frozen=True)
class GateVerdict:
    """`problems` are the reasons why the session fails, one line each; none: it passes."""

    problems: tuple[str, ...]
    mean: float | None
    scored: int
    planned: int


def judge_session(
    gate: Gate,
    planned: Sequence[RunRecord],
    *,
    selected: int,
    bars: Mapping[str, Bars] | None = None,
) -> GateVerdict:
    """Return whether the session passes.

    Args:
        gate: What was asked.
        planned: The latest record of each run that was to be measured: not those that were
            skipped or expected to fail.
        selected: How many task items were selected, skips by mark not counted. None at all and
            there is nothing to judge.
        bars: What the runs of a task have to reach together, by group: see `reports.epochs`.
    """
    scored = [run for run in planned if run.is_scored]
    mean = mean_score(planned)
    problems: list[str] = []
    if selected and not scored:
        problems.append(f"nothing was measured: 0 of {_runs(len(planned))} scored")
    if gate.each:
        problems += _each(planned, bars or {})
    if gate.mean and planned:
        problems += _mean(gate, planned)
    return GateVerdict(tuple(problems), mean, len(scored), len(planned))


def _each(planned: Sequence[RunRecord], bars: Mapping[str, Bars]) -> list[str]:
    """Return what did not pass; a failed run of a task that has bars is within its rights."""
    groups = by_group(planned)
    failed = {group: sum(run.outcome == "failed" for run in groups[group]) for group in groups}
    counts = {"failed": sum(n for group, n in failed.items() if group not in bars)}
    for outcome in ("misbehaved", "error", "not_run"):
        counts[outcome] = sum(run.outcome == outcome for run in planned)
    shown = [f"{count} {outcome.replace('_', ' ')}" for outcome, count in counts.items() if count]
    problems = [f"not every task passed: {', '.join(shown)}"] if shown else []
    for group, runs in groups.items():
        found = find_problem(bars[group], runs) if group in bars else ""
        if found:
            problems.append(f"{group}: {found}")
    return problems


def _mean(gate: Gate, planned: Sequence[RunRecord]) -> list[str]:
    groups = by_model(planned)
    named = {"": list(planned)} if len(groups) == 1 else {f" of {m}": r for m, r in groups.items()}
    problems = []
    for whose, runs in named.items():
        mean, scored = mean_score(runs), sum(run.is_scored for run in runs)
        if scored / len(runs) < gate.min_scored - MEAN_TOL:
            problems.append(
                f"coverage{whose}: {scored} of {_runs(len(runs))} scored, below "
                f"--chalk-min-scored={gate.min_scored:g}"
            )
        if gate.fail_under is not None and mean is not None and mean < gate.fail_under - MEAN_TOL:
            problems.append(
                f"mean score{whose} {mean:.3f} is below --chalk-fail-under={gate.fail_under:g}"
            )
    return problems


def _runs(count: int) -> str:
    return f"{count} planned run{'' if count == 1 else 's'}"

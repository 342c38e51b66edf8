"""Why a step or a run did not pass, for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.reports.clean import clean_text, shortened

if TYPE_CHECKING:
    from pytest_chalk.schemas.record import RunRecord, StepRecord

MAX_SHOWN_CHARS = 2_000
"""Of one metadata value or of the instructions in a failure. The transcript has the whole."""


def render_step_failure(step: StepRecord, transcript: str) -> str:
    """Return the reason, the instructions, the judge's metadata, and where to read on."""
    lines = [f"step {step.index + 1}/{step.of} {step.name}: {step.reason}"]
    if step.limit is not None:
        lines.append(f"limit: {step.limit.summary}")
    if step.instructions:
        lines += ["instructions:", _indented(step.instructions)]
    for key, value in step.metadata.items():
        if value not in ("", None, [], {}):
            lines.append(f"{key}: {_value(value)}")
    if step.failure is not None and step.failure.traceback:
        lines += [f"traceback ({step.failure.stage}):", step.failure.traceback.rstrip()]
    lines.append(f"transcript: {transcript}")
    return clean_text("\n".join(lines))


def render_run_failure(run: RunRecord) -> str:
    """Return outcome, score and reason of a run, and where to read on."""
    score = "no score" if run.score is None else f"score {run.score:g}"
    lines = [f"{run.task_id} by {run.model} {run.outcome.replace('_', ' ')} ({score}): {run.reason}"]
    if run.failure is not None and run.failure.traceback:
        lines += [f"traceback ({run.failure.stage}):", run.failure.traceback.rstrip()]
    lines.append(f"transcript: {run.transcript}")
    return clean_text("\n".join(lines))


def _value(value: object) -> str:
    text = shortened(str(value), MAX_SHOWN_CHARS)
    return text if "\n" not in text else f"\n{_indented(text)}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in shortened(text, MAX_SHOWN_CHARS).splitlines())

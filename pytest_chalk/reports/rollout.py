"""Rollouts: a run and its conversation as one plain object, for training and for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_chalk.reports.table import one_line
from pytest_chalk.reports.transcript_text import render_transcript

if TYPE_CHECKING:
    from pytest_chalk.schemas.record import RunRecord, StepRecord
    from pytest_chalk.schemas.transcript import Transcript


def rollout(run: RunRecord, transcript: Transcript | None) -> dict[str, Any]:
    """Return a run as JSON has it; `messages` is None where its transcript is gone.

    Messages have the shape of chat completions; where a role or a text is missing it is absent.
    """
    messages = None
    if transcript is not None:
        messages = [m.model_dump(mode="json", exclude_none=True) for m in transcript.messages]
    return {
        "session_id": run.session_id,
        "run_id": run.run_id,
        "nodeid": run.nodeid,
        "task_id": run.task_id,
        "model": run.model,
        "epoch": run.epoch,
        "outcome": run.outcome,
        "score": run.score,
        "reason": run.reason,
        "steps": [_step(step) for step in run.steps],
        "not_reached": list(run.not_reached),
        "usage": run.usage.model_dump(mode="json"),
        "duration_s": run.duration_s,
        "messages": messages,
    }


def _step(step: StepRecord) -> dict[str, Any]:
    kept = {"index", "name", "outcome", "score", "reason", "metadata", "limit", "usage"}
    return step.model_dump(mode="json", include=kept | {"duration_s"})


def render_rollout(run: RunRecord, transcript: Transcript | None) -> str:
    """Return a run in Markdown: what it took, its steps, and the transcript."""
    score = "no score" if run.score is None else f"score {run.score:g}"
    lines = [
        f"## {one_line(run.task_id)} by {one_line(run.model)}: {_outcome(run.outcome)}, {score}",
        "",
        f"Run `{run.run_id}`: {_taken(run)}",
    ]
    if run.reason:
        lines += ["", one_line(run.reason)]
    lines += ["", "| step | outcome | score | limit |", "| --- | --- | ---: | --- |"]
    for step in run.steps:
        limit = step.limit.summary if step.limit is not None else ""
        own = "" if step.score is None else f"{step.score:g}"
        name = one_line(step.name).replace("|", "\\|")
        lines.append(f"| {name} | {_outcome(step.outcome)} | {own} | {limit} |")
    shown = render_transcript(transcript.events) if transcript is not None else ["(it is gone)"]
    fence = _fence(shown)
    return "\n".join([*lines, "", f"{fence}text", *shown, fence, ""])


def _taken(run: RunRecord) -> str:
    usage = run.usage
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return f"{usage.turns} turns, {tokens}, {run.duration_s:.1f} s."


def _outcome(outcome: str) -> str:
    return outcome.replace("_", " ")


def _fence(lines: list[str]) -> str:
    """Return a fence longer than any in the text, which students write."""
    fence = "```"
    while any(fence in line for line in lines):
        fence += "`"
    return fence

"""Why a step or a run did not pass, for a person at a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.reports.clean import clean_text, shortened

if TYPE_CHECKING:
    from pytest_chalk.schemas.record import Failure, RunRecord, StepRecord

MAX_SHOWN_CHARS = 2_000
"""Of one metadata value or of the instructions in a failure. The transcript has the whole."""


@dataclass(frozen=True)
class Signposts:
    """Where a reader goes on.

    Attributes:
        transcript: Path of the file; empty where there is none.
        read_with: The command that prints it.
        run_again_with: The command that makes the run once more.
    """

    transcript: str = ""
    read_with: str = ""
    run_again_with: str = ""


NOWHERE = Signposts()


def signposts_of(run: RunRecord) -> Signposts:
    """Return where a reader of the run's failure, or of one of its steps', goes on."""
    return Signposts(run.transcript, run.read_with, run.run_again_with)


def render_step_failure(step: StepRecord, signposts: Signposts = NOWHERE) -> str:
    """Return the reason, what was asked and done, the judge's metadata, and where to read on."""
    lines = [f"step {step.label}: {step.reason}"]
    if step.limit is not None:
        lines.append(f"limit: {step.limit.summary}")
    if step.instructions:
        lines += ["instructions:", _indented(step.instructions)]
    if step.last_turns:
        lines += ["last turns:", *(f"    {line}" for line in step.last_turns.splitlines())]
    lines += [
        f"{key}: {_value(value)}"
        for key, value in step.metadata.items()
        if value not in ("", None, [], {}) and not _is_shown_as_tree(key, step)
    ]
    return _with_footer(lines, step.failure, signposts)


def render_run_failure(run: RunRecord) -> str:
    """Return outcome, score and reason of a run, and where to read on."""
    score = "no score" if run.score is None else f"score {run.score:g}"
    outcome = run.outcome.replace("_", " ")
    lines = [f"{run.task_id} by {run.model} {outcome} ({score}): {run.reason}"]
    return _with_footer(lines, run.failure, signposts_of(run))


def _with_footer(lines: list[str], failure: Failure | None, signposts: Signposts) -> str:
    if failure is not None and failure.traceback:
        lines = [*lines, f"traceback ({failure.stage}):", failure.traceback.rstrip()]
    further = {
        "transcript": signposts.transcript,
        "read it": signposts.read_with,
        "run it again": signposts.run_again_with,
    }
    lines = [*lines, *(f"{word}: {text}" for word, text in further.items() if text)]
    return clean_text("\n".join(lines))


def _is_shown_as_tree(key: str, step: StepRecord) -> bool:
    """Tell whether `key` holds what the tree of a composite judge shows better."""
    return key == "children" and isinstance(step.metadata.get("judges"), str)


def _value(value: object) -> str:
    text = shortened(str(value), MAX_SHOWN_CHARS)
    return text if "\n" not in text else f"\n{_indented(text)}"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in shortened(text, MAX_SHOWN_CHARS).splitlines())

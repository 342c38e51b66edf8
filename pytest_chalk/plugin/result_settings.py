"""Options about results: which session they belong to, and what they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.plugin.options import BARE
from pytest_chalk.plugin.parsers import boolean, one_of, word

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_chalk.plugin.option_reader import OptionReader


@dataclass(frozen=True)
class ResultSettings:
    """What was asked about results.

    Attributes:
        resume: Whether to go on with an earlier session.
        session_id: Which one; empty for the newest.
        rejudge: `changed` or `all`; empty for no judging again.
        validate: Whether to check the tasks instead of letting students work on them.
        estimate: Whether to say what the session would take, instead of beginning it.
        baseline: The file to compare with, if any.
        update_baseline: Whether to write it anew instead.
    """

    resume: bool = False
    session_id: str = ""
    rejudge: str = ""
    validate: bool = False
    estimate: bool = False
    baseline: Path | None = None
    update_baseline: bool = False


def read_result_settings(reader: OptionReader) -> ResultSettings:
    """Return what was asked.

    Raises:
        RunOptionError: A value cannot be used.
    """
    session_id = reader.read("session", word, "")
    resume = reader.read("resume", boolean, default=False)
    rejudge = reader.read("rejudge", one_of(BARE, "all"), "")
    return ResultSettings(
        resume=not rejudge and (resume or bool(session_id)),
        session_id=session_id,
        rejudge=rejudge,
        estimate=reader.read("estimate", boolean, default=False),
        validate=reader.read("validate", boolean, default=False),
        baseline=reader.path("baseline"),
        update_baseline=reader.read("update-baseline", boolean, default=False),
    )

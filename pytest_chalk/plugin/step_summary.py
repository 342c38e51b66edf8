"""The summary of a job on GitHub Actions, which shows what is appended to a file it names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_chalk.plugin.state import only_looks
from pytest_chalk.reports.score_table import render_markdown_table

if TYPE_CHECKING:
    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.plugin.gate import GateVerdict

VARIABLE = "GITHUB_STEP_SUMMARY"


class StepSummary:
    """Appends the table of scores where the variable is set."""

    def __init__(self, config: pytest.Config, account: SessionAccount) -> None:
        self._config, self._account = config, account

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Append the table; a file that cannot be written is warned about, not fatal."""
        path = os.environ.get(VARIABLE)
        if not path or only_looks(self._config) or not self._account.ledger.runs:
            return
        text = "\n".join(_lines(self._account, self._account.judge())) + "\n"
        try:
            with Path(path).open("a", encoding="utf-8") as summary:
                summary.write(text)
        except OSError as error:
            message = f"{VARIABLE}: {path!r} cannot be written: {error}"
            self._config.issue_config_time_warning(pytest.PytestWarning(message), stacklevel=2)


def _lines(account: SessionAccount, verdict: GateVerdict) -> list[str]:
    mean = "no score" if verdict.mean is None else f"mean {verdict.mean:.3f}"
    word = "failed" if verdict.problems else "passed"
    return [
        f"### Agent tasks: gate {word}",
        "",
        *render_markdown_table(account.ledger.runs),
        "",
        f"{mean} over {verdict.scored} scored of {verdict.planned}",
        *(f"- {problem}" for problem in verdict.problems),
    ]

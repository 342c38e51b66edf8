"""`ExecutableJudge`: runs a scoring script and reads the score it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.grading.arguments import as_threshold, as_time_limit

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript

SCRIPT_TIME_LIMIT_S = 600.0
"""For one scoring script. Compiling and testing a mid-sized program takes minutes; a script that
waits for something the student broke would hold the whole session."""


class ExecutableJudge(Judge):
    """Runs a command whose last argument names the file it writes its result to.

    The file lands in a fresh directory that only we can read and that is removed afterwards. The
    script writes `{"score": <number>, "metadata": {...}}` there and exits 0. Whatever goes wrong
    scores 0 and ends the task, with the cause under `error` in the metadata. What the student's
    work can provoke (a non-zero exit, a signal, the time limit, no result) counts; a command that
    cannot be started is an error of the task, and its 0 does not count.
    """

    def __init__(
        self,
        command: Sequence[str],
        continue_threshold: float = -1,
        cwd: str | os.PathLike[str] | None = None,
        timeout_s: float = SCRIPT_TIME_LIMIT_S,
    ) -> None:
        """Take the command, which is looked at when the judge evaluates.

        Args:
            command: The full command. `sys.executable` as its first element is the harness's
                Python; the last element is only a file name.
            continue_threshold: The task goes on if the score is at least this.
            cwd: The script's working directory; the project's root if None.
            timeout_s: Seconds after which the script and all it started are killed.

        Raises:
            TaskDefinitionError: A number is none, or no time limit.
        """
        self.command = command
        self.continue_threshold = as_threshold("ExecutableJudge", continue_threshold)
        self.cwd = cwd
        self.timeout_s = as_time_limit("ExecutableJudge", timeout_s)

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Run the script and return its score; the transcript is not looked at."""
        # Here and not at the top: a scoring script that imports its task imports this module, and
        # it runs no other script.
        from pytest_chalk.judges.executable.scoring_script import (  # noqa: PLC0415 - see above
            ScoringScript,
            run_script,
        )

        return run_script(
            ScoringScript(
                command=self.command,
                cwd=self.cwd,
                time_limit_s=self.timeout_s,
                continue_threshold=self.continue_threshold,
            )
        )

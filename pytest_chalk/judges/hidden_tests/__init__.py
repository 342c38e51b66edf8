"""`HiddenTestsJudge`: runs tests that the student has never seen on what it handed in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.grading.arguments import as_threshold, as_time_limit

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript

TESTS_TIME_LIMIT_S = 300.0
"""For all hidden tests together. A submission that never returns would hold the whole session."""


class HiddenTestsJudge(Judge):
    """Scores the share of hidden tests that pass on a saved submission.

    The tests run with the student's rights, for the student's code runs in them: in the student's
    box, on copies it cannot change, without any file, variable, plugin or configuration of its own.
    Which tests there are is read from their text beforehand: one that is not reported has failed.
    """

    def __init__(  # noqa: PLR0913 - all but two have a default, and are given by name
        self,
        tests: str | os.PathLike[str],
        submission: str | os.PathLike[str],
        *,
        expected: Sequence[str] | None = None,
        continue_threshold: float = 1.0,
        timeout_s: float = TESTS_TIME_LIMIT_S,
        python: str | None = None,
    ) -> None:
        """Take what to run on what; it is looked at when the judge evaluates.

        Args:
            tests: A test file, or a folder with `test_*.py` and what they need.
            submission: The saved copy. A file is imported by its name; so is what is in a folder,
                or the folder itself if it has an `__init__.py`.
            expected: Ids of the tests, relative to `tests`; None for those that can be read from
                its text (functions `test*`, also in classes `Test*`).
            continue_threshold: The task goes on if the score is at least this: by default if all
                pass.
            timeout_s: Seconds after which the tests and all they started are killed.
            python: The interpreter; None for the one of pytest where the student can run it, else
                the newest in the student's PATH.

        Raises:
            TaskDefinitionError: A number is none, or no time limit.
        """
        self.tests, self.submission = Path(tests), Path(submission)
        self.expected = None if expected is None else tuple(expected)
        self.continue_threshold = as_threshold("HiddenTestsJudge", continue_threshold)
        self.timeout_s = as_time_limit("HiddenTestsJudge", timeout_s)
        self.python = python

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Run the tests and return the share that passed; the transcript is not looked at.

        Raises:
            StudentMisbehaviorError: What was reported of the tests cannot be true.
            TaskDefinitionError: There are no tests to run.
            MachineError: The student can run no Python here.
        """
        # Here and not at the top: a scoring script that imports its task runs no tests.
        from pytest_chalk.judges.hidden_tests.session import judge_by_tests  # noqa: PLC0415

        return judge_by_tests(self)

"""`FileJudge`: a saved submission against what it should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.schemas.plain import as_finite

if TYPE_CHECKING:
    import os

    from pytest_chalk.grading.file_comparison import Comparison
    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript

MAX_FILE_BYTES = 16_777_216
"""Of a submission that is compared. An answer is short; to compare more belongs into a script."""

NUMBER_TOLERANCE = 1e-9
"""So that a number that was printed and read again is still itself."""


class FileJudge(Judge):
    """Scores 1 if the saved submission is what was expected, else 0, and says where it differs."""

    def __init__(
        self,
        submission: str | os.PathLike[str],
        expected: object,
        *,
        compare: Comparison = "text",
        tolerance: float = NUMBER_TOLERANCE,
    ) -> None:
        """Take a saved copy and what it should be.

        Args:
            submission: The saved copy, a file.
            expected: Text or bytes for `exact` and `text`, a JSON value for `json`, a number for
                `number`; or a `Path` to a file of yours with it.
            compare: `exact`: byte by byte. `text`: without differences of line ends and blanks
                at their end. `json`: as JSON values. `number`: within `tolerance`.
            tolerance: Relative, and absolute near 0.

        Raises:
            TaskDefinitionError: `compare` or `tolerance` cannot be used.
        """
        from pytest_chalk.grading import file_comparison  # noqa: PLC0415 - only where it is used

        accepted = get_args(file_comparison.Comparison)
        if compare not in accepted:
            raise TaskDefinitionError(
                "FileJudge", f"compare is {compare!r}", fix=f"Use {', '.join(accepted)}"
            )
        if as_finite(tolerance) is None or tolerance < 0:
            raise TaskDefinitionError(
                "FileJudge", f"tolerance is {tolerance!r}", fix="Give a number of at least 0"
            )
        self.submission, self.expected = Path(submission), expected
        self.compare, self.tolerance = compare, tolerance

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Compare; the transcript is not looked at.

        Raises:
            TaskDefinitionError: What is expected cannot be read, or cannot be compared that way.
            MachineError: This machine cannot read the copy.
        """
        from pytest_chalk.grading.file_comparison import (  # noqa: PLC0415 - as in judges.simple
            ExpectationError,
            find_difference,
        )
        from pytest_chalk.schemas.scoring import Scoring  # noqa: PLC0415 - as above

        content, problem = _read_submission(self.submission)
        if not problem:
            expected = self._read_expected()
            try:
                problem = find_difference(content, expected, self.compare, self.tolerance) or ""
            except ExpectationError as error:
                raise _bad_expectation(error) from error
        metadata = {"error": f"{self.submission.name!r} {problem}"} if problem else {}
        return Scoring(float(not problem), {"compared": self.compare, **metadata}, not problem)

    def _read_expected(self) -> object:
        if not isinstance(self.expected, Path):
            return self.expected
        try:
            content = self.expected.read_bytes()
            return content if self.compare in {"exact", "text"} else json.loads(content)
        except (OSError, ValueError) as error:
            raise _bad_expectation(error) from error


def _bad_expectation(error: Exception) -> TaskDefinitionError:
    return TaskDefinitionError(
        "FileJudge", f"what is expected cannot be used: {error}", fix="Change `expected`"
    )


def _read_submission(path: Path) -> tuple[bytes, str]:
    """Return the content, or why there is none."""
    from pytest_chalk.sandbox.untrusted_fs import (  # noqa: PLC0415 - as in judges.simple
        NotRegularError,
        open_saved,
    )

    try:
        fd = open_saved(path)
    except FileNotFoundError:
        return b"", "was not handed in"
    except NotRegularError as error:
        return b"", error.found
    except OSError as error:
        return b"", f"cannot be read: {error.strerror}"
    with open(fd, "rb") as opened:  # noqa: PTH123 - a descriptor, not a path
        content = opened.read(MAX_FILE_BYTES + 1)
    return content, f"is larger than {MAX_FILE_BYTES:,} bytes" * (len(content) > MAX_FILE_BYTES)

"""`ExecutableJudge`: runs a scoring script and reads the score it writes."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.discovery.alias_path import child_environment
from pytest_chalk.discovery.module_names import installed_finder
from pytest_chalk.grading.score_file import (
    MAX_SCORE_FILE_BYTES,
    ScoreFileError,
    ScriptResult,
    parse_score_file,
)
from pytest_chalk.sandbox import Completed, run_trusted
from pytest_chalk.schemas.scoring import Scoring

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chalk.schemas.transcript import Transcript

SCRIPT_TIME_LIMIT_S = 600.0
"""For one scoring script. Compiling and testing a mid-sized program takes minutes; a script that
waits for something the student broke would hold the whole session."""

MAX_OUTPUT_BYTES = 65_536
"""Of a scoring script's stdout and stderr each, head and tail. It goes into every report."""


class ExecutableJudge(Judge):
    """Runs a command whose last argument names the file it writes its result to.

    The file lands in a fresh directory that only we can read and that is removed afterwards. The
    script writes `{"score": <number>, "metadata": {...}}` there and exits 0. What the student's
    work can provoke (a non-zero exit, a signal, the time limit, no result) scores 0 and ends the
    task; a command that cannot be started is an error of the task, and its 0 does not count.
    """

    def __init__(
        self,
        command: Sequence[str],
        continue_threshold: float = -1,
        cwd: str | None = None,
        timeout_s: float = SCRIPT_TIME_LIMIT_S,
    ) -> None:
        """Take the command; it is looked at when the judge evaluates.

        Args:
            command: The full command. `sys.executable` as its first element is the harness's
                Python; the last element is only a file name.
            continue_threshold: The task goes on if the score is at least this.
            cwd: The script's working directory; the project's root if None.
            timeout_s: Seconds after which the script and all it started are killed.
        """
        self.command = command
        self.continue_threshold = continue_threshold
        self.cwd = cwd
        self.timeout_s = timeout_s

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Run the script and return its score; the transcript is not looked at."""
        try:
            with _fresh_directory() as directory:
                return self._score_in(directory)
        except _NoDirectoryError as error:
            return _void({"tempdir_error": str(error)}, f"no temporary directory: {error}")

    def _score_in(self, directory: Path) -> Scoring:
        command = tuple(os.fspath(argument) for argument in self.command)
        if not command:
            return _void({"command_error": "empty command"}, "ExecutableJudge has no command")
        score_file = directory / Path(command[-1]).name
        try:
            completed = run_trusted(
                (*command[:-1], str(score_file)),
                cwd=Path(self.cwd) if self.cwd else _project_root(),
                env={**os.environ, **child_environment()},
                time_limit_s=self.timeout_s,
                max_output_bytes=MAX_OUTPUT_BYTES,
            )
        except OSError as error:
            reason = f"the command {command[0]!r} cannot be started: {error}"
            return _void({type(error).__name__: str(error)}, reason)
        return self._verdict(command, completed, score_file)

    def _verdict(self, command: Sequence[str], completed: Completed, score_file: Path) -> Scoring:
        output = {"stdout": _text(completed.stdout), "stderr": _text(completed.stderr)}
        failure = _script_failure(command, completed, self.timeout_s)
        if failure is not None:
            return Scoring(0.0, {**failure, **output}, continue_task=False)
        try:
            found = _read_result(score_file)
        except (ScoreFileError, OSError) as error:
            return Scoring(0.0, {"json_read_error": str(error), **output}, continue_task=False)
        metadata = {key: _as_text(value) for key, value in found.metadata.items()}
        return Scoring(
            found.score, {**metadata, **output}, found.score >= self.continue_threshold
        )


def _project_root() -> Path:
    finder = installed_finder()
    return Path.cwd() if finder is None else finder.settings.root


class _NoDirectoryError(Exception):
    """No temporary directory could be made: the machine's fault."""


@contextmanager
def _fresh_directory() -> Iterator[Path]:
    try:
        directory = Path(tempfile.mkdtemp(prefix="chalk-score-"))
    except OSError as error:
        raise _NoDirectoryError(str(error)) from error
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _script_failure(
    command: Sequence[str], completed: Completed, timeout_s: float
) -> Mapping[str, Any] | None:
    if completed.timed_out:
        return {"error": f"the scoring script ran into its time limit of {timeout_s:g} s"}
    if completed.exit_code == 0:
        return None
    code = completed.exit_code
    how = f"was killed by signal {-code}" if code < 0 else f"exited {code}"
    return {"error": f"the scoring script {how}", "command": " ".join(command)}


def _read_result(score_file: Path) -> ScriptResult:
    """Read what the script wrote: a regular file of ours, opened without following links."""
    try:
        fd = os.open(score_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        message = "the scoring script wrote no result file; it gets the path as its last argument"
        raise ScoreFileError(message) from None
    with open(fd, "rb") as opened:  # noqa: PTH123 - a descriptor, not a path
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            message = "the result is no regular file"
            raise ScoreFileError(message)
        return parse_score_file(opened.read(MAX_SCORE_FILE_BYTES + 1))


def _void(metadata: dict[str, Any], reason: str) -> Scoring:
    return Scoring(0.0, metadata, continue_task=False, void=reason)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else str(value)

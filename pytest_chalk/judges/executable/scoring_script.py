"""Runs a scoring script in a directory of its own and turns what comes of it into a scoring."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.discovery.alias_path import child_environment
from pytest_chalk.discovery.module_names import installed_finder
from pytest_chalk.grading.score_file import MAX_SCORE_FILE_BYTES, ScoreFileError, parse_score_file
from pytest_chalk.sandbox import find_run, run_trusted, safe_search_path, student_can_write
from pytest_chalk.sandbox.untrusted_fs import MACHINE_ERRNOS, NotRegularError, open_regular
from pytest_chalk.schemas.scoring import Scoring

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_chalk.grading.score_file import ScriptResult
    from pytest_chalk.sandbox import Completed
    from pytest_chalk.schemas.frozen import Blame

MAX_OUTPUT_BYTES = 32_768
"""Of a scoring script's stdout and stderr each, head and tail. It goes into every report."""

_ALWAYS_MACHINE_ERRNOS = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE})
"""Of a start that failed, whatever was to be started: no descriptor or process is left. The others
of `MACHINE_ERRNOS` a program can bring about by what its file says of itself."""


@dataclass(frozen=True)
class ScoringScript:
    """A scoring script as its judge was given it: nothing of it has been checked.

    Attributes:
        command: Program, arguments, and last the name of the file it writes its result to.
        cwd: None for the project's root.
    """

    command: Sequence[str]
    cwd: str | os.PathLike[str] | None
    time_limit_s: float
    continue_threshold: float


class CannotMeasureError(Exception):
    """The script could not be run at all, through no fault of the student: its 0 is void."""

    def __init__(self, cause: str, blame: Blame = "author") -> None:
        self.blame: Blame = blame
        super().__init__(cause)


class ScriptFailedError(Exception):
    """The script ran, or the student kept it from running, and there is no score: a real 0."""

    def __init__(self, cause: str, output: Mapping[str, str] | None = None) -> None:
        self.output = dict(output or {})
        super().__init__(cause)


def run_script(script: ScoringScript) -> Scoring:
    """Return the script's verdict; whatever goes wrong is a 0 that ends the task."""
    try:
        command = _arguments(script.command)
        with _fresh_place(Path(command[-1]).name) as score_file:
            completed = _run(script, (*command[:-1], str(score_file)))
            output = {"stdout": _text(completed.stdout), "stderr": _text(completed.stderr)}
            _refuse_failure(script, command, completed, output)
            found = _read_result(score_file, output)
    except CannotMeasureError as error:
        cause = str(error)
        return Scoring(
            0.0, {"error": cause}, continue_task=False, void=cause, void_blame=error.blame
        )
    except ScriptFailedError as error:
        return Scoring(0.0, {"error": str(error), **error.output}, continue_task=False)
    goes_on = found.score >= script.continue_threshold
    return Scoring(found.score, {**found.metadata, **output}, goes_on)


def _arguments(command: object) -> tuple[str, ...]:
    """Return the command's elements as text.

    Raises:
        CannotMeasureError: It is no command; the message says what it is.
    """
    wanted = "wanted a list of program, arguments and the name of the result file"
    if not isinstance(command, (list, tuple)):
        message = f"the command of ExecutableJudge is {command!r:.200}; {wanted}"
        raise CannotMeasureError(message)
    for element in command:
        if not isinstance(element, (str, os.PathLike)):
            message = f"the command of ExecutableJudge has the element {element!r:.200}; {wanted}"
            raise CannotMeasureError(message)
    arguments = tuple(os.fspath(element) for element in command)
    if len(arguments) < 2 or Path(arguments[-1]).name in {"", ".."}:
        message = f"the command of ExecutableJudge is {list(arguments)!r:.200}; {wanted}"
        raise CannotMeasureError(message)
    return arguments


@contextmanager
def _fresh_place(name: str) -> Iterator[Path]:
    """Make a directory for a file of that name, which is not there yet; remove all of it again."""
    try:
        directory = Path(tempfile.mkdtemp(prefix="chalk-score-"))
    except OSError as error:
        message = f"no temporary directory for the result can be made: {error}"
        raise CannotMeasureError(message, "machine") from error
    file = directory / name
    try:
        yield file
    finally:
        _remove(directory, file)


def _remove(directory: Path, file: Path) -> None:
    # Mostly there is nothing else; to look first takes longer, and a descriptor.
    with suppress(OSError, ValueError):  # its name may hold a NUL
        file.unlink()
    try:
        directory.rmdir()
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        with suppress(OSError):  # a script may have put something else in its place
            directory.unlink(missing_ok=True)


def _run(script: ScoringScript, argv: tuple[str, ...]) -> Completed:
    cwd = _default_cwd(Path(argv[-1]).parent) if script.cwd is None else Path(script.cwd)
    try:
        return run_trusted(
            argv,
            cwd=cwd,
            env=_environment(),
            time_limit_s=script.time_limit_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
        )
    except ValueError as error:
        # An argument between program and result file may be the student's text, which may hold a
        # NUL or be too long for the kernel.
        is_students = not all(_can_be_passed(argument) for argument in argv[1:-1])
        raise _not_startable(argv, cwd, error, is_students=is_students) from error
    except OSError as error:
        is_students = error.errno == errno.E2BIG or _is_submission(argv[0]) or _is_submission(cwd)
        raise _not_startable(argv, cwd, error, is_students=is_students) from error


def _not_startable(
    argv: Sequence[str], cwd: Path, error: Exception, *, is_students: bool
) -> CannotMeasureError | ScriptFailedError:
    place = "" if cwd.is_dir() else f" in {str(cwd)!r}, which is no directory"
    message = f"the scoring script {argv[0]!r} cannot be started{place}: {error}"
    machines = _ALWAYS_MACHINE_ERRNOS if is_students else _ALWAYS_MACHINE_ERRNOS | MACHINE_ERRNOS
    if isinstance(error, OSError) and error.errno in machines:
        return CannotMeasureError(message, "machine")
    return ScriptFailedError(message) if is_students else CannotMeasureError(message)


def _can_be_passed(argument: str) -> bool:
    try:
        return b"\0" not in os.fsencode(argument)
    except UnicodeError:
        return False


def _is_submission(path: str | Path) -> bool:
    """Tell whether the student was to hand in `path`, and so decides whether it is there."""
    run = find_run()
    if run is None:
        return False
    return Path(os.path.abspath(path)).is_relative_to(run.submissions_dir)  # noqa: PTH100 - lexical


def _environment() -> dict[bytes, bytes]:
    """Return our own variables, made safe for a program that runs near a student's files.

    As bytes: to decode them and encode them again takes as long as the start of a small program.
    """
    changed = {
        **child_environment(),
        "PATH": safe_search_path(os.environ.get("PATH", os.defpath)),
        # Neither the directory that it runs in nor a home brings modules.
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
    }
    return {**os.environb, **_encoded(tuple(changed.items()))}


@lru_cache(maxsize=16)
def _encoded(variables: tuple[tuple[str, str], ...]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in variables}


def _default_cwd(fresh: Path) -> Path:
    """Return the project's root, or the result's own directory if the student can write there."""
    finder = installed_finder()
    root = Path.cwd() if finder is None else finder.settings.root
    return fresh if student_can_write(root) else root


def _refuse_failure(
    script: ScoringScript, command: Sequence[str], completed: Completed, output: Mapping[str, str]
) -> None:
    if completed.timed_out:
        how = f"ran into its time limit of {script.time_limit_s:g} s"
    elif completed.exit_code < 0:
        how = f"was killed by signal {-completed.exit_code}"
    elif completed.exit_code > 0:
        how = f"exited {completed.exit_code}"
    elif completed.survivors:
        how = f"left {completed.survivors} processes that could not be killed"
    else:
        return
    cause = f"the scoring script {how}"
    raise ScriptFailedError(cause, {"command": shlex.join(command), **output})


def _read_result(score_file: Path, output: Mapping[str, str]) -> ScriptResult:
    try:
        return parse_score_file(_read_regular_file(score_file))
    except ScoreFileError as error:
        raise ScriptFailedError(str(error), output) from error
    except OSError as error:
        cause = f"the result of the scoring script cannot be read: {error}"
        raise ScriptFailedError(cause, output) from error


def _read_regular_file(path: Path) -> bytes:
    """Read what the script wrote without following a link or waiting for a writer."""
    try:
        fd = open_regular(path)
    except FileNotFoundError:
        raise ScoreFileError(found="was not written") from None
    except NotRegularError as error:
        raise ScoreFileError(found=error.found) from None
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or status.st_nlink != 1:
            raise ScoreFileError(found="belongs to somebody else, or has another name too")
        # No more than there is, for memory that is asked for costs time: nobody writes any more.
        return os.read(fd, min(status.st_size, MAX_SCORE_FILE_BYTES + 1))
    finally:
        os.close(fd)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")

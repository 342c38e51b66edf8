"""The one place that calls users' code: hooks, properties, judges, models, tools of their making.

What it raises comes back as a value that names the stage and who can put it right. Interrupts, and
the outcomes by which pytest and pytest-timeout end a test, pass through.
"""

from __future__ import annotations

import errno
import os
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from pytest_chalk.errors import MachineError, StudentMisbehaviorError
from pytest_chalk.reports.clean import clean_text
from pytest_chalk.schemas.record import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chalk.schemas.frozen import Blame

T = TypeVar("T")

_MACHINE_ERRNOS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
)
"""Of an OSError that no task can help: disk, memory, descriptors."""


@dataclass(slots=True)
class Returned(Generic[T]):
    """The code returned. Made dozens of times in a run, and four times slower if frozen."""

    value: T


@dataclass(frozen=True)
class Misbehaved:
    """The code found the student out."""

    message: str


class ProcessExitError(SystemExit):
    """User code tried to end the process with `os._exit`, which would lose every result."""


class _Outermost:
    """What the outermost call of user code found."""

    real_exit: Callable[[int], NoReturn]
    pid: int


_outermost = _Outermost()


def _refuse_exit(status: int) -> NoReturn:
    # It would end pytest without a report, with the exit status of the user's choice: a judge
    # that calls os._exit(0) would make CI green. Forked children keep the real one.
    if os.getpid() != _outermost.pid:
        _outermost.real_exit(status)
    message = f"tried to end the process with os._exit({status!r})"
    raise ProcessExitError(message)


def call_user_code(stage: str, code: Callable[[], T]) -> Returned[T] | Misbehaved | Failure:
    """Call `code` and return what came of it.

    `SystemExit` and `os._exit` count as failures: the process belongs to the whole session.
    """
    before = os._exit
    if before is not _refuse_exit:
        _outermost.real_exit, _outermost.pid = before, os.getpid()
    os._exit = _refuse_exit
    try:
        return Returned(code())
    except StudentMisbehaviorError as error:
        return Misbehaved(clean_text(str(error)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the one place that may
        return failure_of(stage, error)
    finally:
        os._exit = before


def call_tool_code(stage: str, code: Callable[[], object]) -> object:
    """Call a tool's code, within a call of user code; a failure comes back as the value.

    Raises:
        StudentMisbehaviorError: The tool found the student out, which ends the step.
    """
    came = call_user_code(stage, code)
    if isinstance(came, Misbehaved):
        raise StudentMisbehaviorError(came.message)
    return came.value if isinstance(came, Returned) else came


def failure_of(stage: str, error: BaseException) -> Failure:
    """Return what was raised as a value, blame included."""
    return Failure(
        stage=stage,
        blame=_blame(error),
        exception_type=type(error).__name__,
        message=clean_text(_message(error)),
        traceback=clean_text("".join(traceback.format_exception(error))),
    )


def _blame(error: BaseException) -> Blame:
    if isinstance(error, (MachineError, MemoryError)):
        return "machine"
    if isinstance(error, OSError) and error.errno in _MACHINE_ERRNOS:
        return "machine"
    return "author"


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit) and not isinstance(error, ProcessExitError):
        return f"tried to end the process with exit status {error.code!r}"
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return "<an exception that cannot be shown>"

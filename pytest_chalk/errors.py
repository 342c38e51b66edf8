"""Every exception of the package, sorted by who can put it right.

ChalkError
├─ TaskDefinitionError            the author: a task, a judge, an option, a config
│  ├─ RunOptionError              … what was typed on the command line or in a config file
│  ├─ TaskImportError             … a task package that cannot be imported as what it is
│  ├─ ScoringError                … a judge that returned no usable score
│  ├─ ScriptedModelError          … a scripted student that has no turn left
│  ├─ CassetteMissError           … a recording that does not have what a run asks for
│  ├─ DatasetError                … a dataset that cannot be stored or read as asked
│  └─ EvaluationError             … an evaluation that cannot be made, run or rescored as asked
│     ├─ EvaluationNotFoundError  …… an id that the store does not have
│     └─ EvaluationRunFailedError …… a run that ended without results
├─ StudentMisbehaviorError        the student: the step scores 0 and the run goes on to clean-up
│  ├─ UnreapableCohortError       … its processes could not be confirmed gone
│  └─ ReclaimError                … its files could not be removed
└─ MachineError                   the machine: sandbox, disk, network; never a score
   ├─ BoxError                    … the student's box cannot be started or has died
   ├─ SlotError                   … no student UID and directory can be had
   └─ ProviderError               … a model's provider failed, refused, or said nothing usable

BudgetSpent                       nobody: the session's budget is spent, and the run is `not_run`

A message says where, what was found, what was wanted and what to do. What user code raises is not
in this tree: it is caught in one place and kept in the record with its stage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import override
else:
    from pytest_chalk.cheap_override import override


class ChalkError(Exception):
    """Base of everything this package raises on purpose."""


class TaskDefinitionError(ChalkError):
    """The author of a task, judge or configuration can put it right."""

    def __init__(self, where: str, problem: str, *, fix: str) -> None:
        """Compose the message.

        Args:
            where: The task, class, file or option concerned.
            problem: What was found there.
            fix: What to do, as a sentence without its full stop.
        """
        self.where, self.problem, self.fix = where, problem, fix
        super().__init__(f"{where}: {problem}. {fix}.")

    @override
    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, dict(self.__dict__)))


class RunOptionError(TaskDefinitionError):
    """An option, environment variable, ini key or run config holds what cannot be used."""


class TaskImportError(TaskDefinitionError):
    """A task package cannot be imported, or resolves to another module of the same name."""


class ScoringError(TaskDefinitionError):
    """A judge returned something that is no scoring, or a score that is no finite number."""


class ScriptedModelError(TaskDefinitionError):
    """A scripted student was asked for more turns than it was given."""


class CassetteMissError(TaskDefinitionError):
    """A recorded conversation does not have what the run asks for."""

    def __init__(self, path: object, problem: str) -> None:
        """Compose the message; a difference of two requests goes into `problem`."""
        fix = "Record it anew with --chalk-cassette=record if the change is meant"
        super().__init__(f"cassette {str(path)!r}", problem, fix=fix)


class DatasetError(TaskDefinitionError):
    """A dataset cannot be stored or read: its rows, its file, its revision, or a missing extra."""


class EvaluationError(TaskDefinitionError):
    """An evaluation, a suite or a run cannot be made, advanced or rescored as asked."""


class EvaluationNotFoundError(EvaluationError):
    """The store has nothing of that id."""

    def __init__(self, kind: str, identifier: object) -> None:
        """Compose the message; `kind` is `evaluation`, `run`, `suite` or `dataset revision`."""
        self.identifier = identifier
        fix = "Look at `pytest-chalk evaluations list`, or at another store: ids are known in one"
        super().__init__(f"{kind} {identifier!r}", "the store does not have it", fix=fix)


class EvaluationRunFailedError(EvaluationError):
    """A run failed or was canceled.

    Attributes:
        run: Its terminal handle.
    """

    def __init__(self, run: Any) -> None:  # noqa: ANN401 - its class is above this module
        """Compose the message from the run's id, status and error message."""
        self.run = run
        status = str(getattr(run.status, "value", run.status))
        problem = run.error_message or f"the run ended as {status}"
        fix = "Mend what it names and run again; wait(raise_on_failure=False) returns the handle"
        super().__init__(f"run {run.id!r}", problem, fix=fix)


class StudentMisbehaviorError(ChalkError):
    """The student did something dubious: the step scores 0, with this message in its metadata.

    Raise it anywhere during scoring: in `pre_scoring_hook`, in the `judge` property or in a judge.
    """


class UnreapableCohortError(StudentMisbehaviorError):
    """Processes of the student could not be confirmed gone within the deadline."""


class ReclaimError(StudentMisbehaviorError):
    """Files of the student could not all be removed."""


class MachineError(ChalkError):
    """The machine broke: sandbox, disk, network, provider. It never becomes a score."""


class BoxError(MachineError):
    """The student's box could not be started, or its supervisor died."""


class SlotError(MachineError):
    """No slot (student UID, reaper UID, directory) could be had on this machine."""


class ProviderError(MachineError):
    """A model's provider stayed away, refused, or said nothing usable.

    Attributes:
        kind: Of the last failure: `connect`, `timeout`, `reset`, `truncated`, `useless`,
            `rate_limit`, `quota`, `server`, `auth`, `not_found`, `refused` or `too_large`.
        attempts: How often it was asked.
    """

    def __init__(
        self, where: str, problem: str, *, fix: str, kind: str = "server", attempts: int = 1
    ) -> None:
        """Compose the message; `fix` says what to do, as a sentence without its full stop."""
        self.where, self.problem, self.fix = where, problem, fix
        self.kind, self.attempts = kind, attempts
        asked = f", asked {attempts} times" if attempts > 1 else ""
        super().__init__(f"{where}: {problem}{asked}. {fix}.")

    @override
    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, dict(self.__dict__)))


class BudgetSpent(BaseException):
    """The session's budget is spent: what is under way ends as `not_run`, without a score.

    Like KeyboardInterrupt no `Exception`: a judge or tool that catches those around a model's turn
    would make a score of it.
    """


def _rebuild(
    kind: type[ChalkError], args: Iterable[object], state: dict[str, object]
) -> ChalkError:
    """Unpickle without composing the message twice (errors cross process borders)."""
    error = kind.__new__(kind, *args)
    error.args = tuple(args)
    error.__dict__.update(state)
    return error

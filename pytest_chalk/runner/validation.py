"""Proves a task before money is spent on it: its solution passes, and nothing else does."""

from __future__ import annotations

import inspect
import re
import sysconfig
import tempfile
import traceback
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.agents.attacker import Attacker
from pytest_chalk.errors import ChalkError, MachineError, RunOptionError
from pytest_chalk.runner.api import run_id_for
from pytest_chalk.runner.readable import refuse_leaky_box
from pytest_chalk.runner.saboteur import attacks_on
from pytest_chalk.runner.task_run import perform_run, task_run
from pytest_chalk.runner.user_code import call_user_code
from pytest_chalk.sandbox.time_limit import TimeIsUpError, time_limit
from pytest_chalk.schemas.record import RunSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from pytest_chalk.authoring.step import Step
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.runner.run_place import RunPlace
    from pytest_chalk.runner.students import Student
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.record import PassRule, RunRecord
    from pytest_chalk.schemas.run_config import RunConfig

LIMIT_S = 60.0
ORACLES = 3
"""What a run may take that is not the oracle's: so many seconds, and so often what that one took.
A judge that opens a pipe which a student left waits for ever; no sound one is so slow."""

_PACKAGE = Path(__file__).parents[1]

_READS_ORIGINAL = re.compile(r"\bSTUDENT_(?:DATA_DIR|WORKDIR)\b")
_WRITES_FILE = re.compile(
    r"\b(?:write|save|store|put|create|hand in)\b[^.\n]{0,80}?`?([\w./-]+\.\w{1,5})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Check:
    """One thing that was tried: `problem` is empty where the task withstood it."""

    name: str
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass
class Validation:
    """Checks of one task.

    Attributes:
        place: Where its runs happen; each gets directories of its own.
        free_steps: Indices of steps that score above 0 without anything done: no attack on them
            can show anything.
        limit_s: What a run may take that is not the oracle's, which has all the time it wants.
    """

    task_class: type[Task]
    config: RunConfig
    hook_arguments: Mapping[str, object]
    pass_rule: PassRule
    place: RunPlace
    free_steps: set[int] = field(default_factory=set)
    limit_s: float = field(default_factory=lambda: LIMIT_S)

    def checks(self) -> Iterator[tuple[str, Callable[[], Check]]]:
        """Yield each check by its name, to be made in this order."""
        yield "oracle passes", self._oracle_passes
        yield "noop does not pass", self._noop_does_not
        for index, step in enumerate(self._steps()):
            for name, script in self._attacks(step).items():
                label = f"{name}, step {index + 1}"
                yield label, partial(self._withstands, label, index, script)
        yield "lint", self._lint

    def _oracle_passes(self) -> Check:
        record = self._run("oracle", "oracle", limit_s=None)
        self.limit_s = LIMIT_S + ORACLES * record.duration_s
        problem = "" if record.outcome == "passed" else f"{record.outcome}: {record.reason}"
        return Check("oracle passes", problem)

    def _noop_does_not(self) -> Check:
        record = self._run("noop", "noop", limit_s=self.limit_s)
        self.free_steps = {step.index for step in record.steps if (step.score or 0) > 0}
        free = tuple(
            f"step {index + 1} scores above 0 with nothing done: no attack on it is played"
            for index in sorted(self.free_steps)
        )
        if record.outcome == "passed":
            return Check("noop does not pass", "a student that does nothing passes", free)
        broke = record.outcome in {"error", "not_run"}
        return Check("noop does not pass", f"error: {record.reason}" if broke else "", free)

    def _withstands(self, label: str, index: int, script: Callable[[], str]) -> Check:
        if index in self.free_steps:
            return Check(label, notes=("left out: the step scores above 0 with nothing done",))
        attacker = Attacker("saboteur", index, lambda _step: script())
        record = self._run(attacker, label, limit_s=self.limit_s)
        attacked = [step for step in record.steps if step.index == index]
        if not attacked:
            return Check(label, f"the step was not reached: {record.reason}")
        (step,) = attacked
        if step.outcome == "error":
            return Check(label, f"the student can break the judge: {step.reason}")
        if step.score:
            return Check(label, f"it scores {step.score:g}, and should score 0")
        return Check(label)

    def _lint(self) -> Check:
        notes: list[str] = []
        box = self.place.box
        if box.level == "none":
            notes.append("level none: what the student can read was not tried")
            problem = ""
        else:
            problem = _readable(self.task_class, box)
        for index, step in enumerate(self._steps(), 1):
            notes += [f"step {index}: {text}" for text in lint_step(step)]
        if self.config.step_time_limit_seconds is None:
            notes.append("no time limit: give --chalk-step-time-limit, or one in the run config")
        return Check("lint", problem, tuple(notes))

    def _steps(self) -> list[Step]:
        return list(self.task_class(self.config).steps)

    def _attacks(self, step: Step) -> Mapping[str, Callable[[], str]]:
        package = Path(inspect.getfile(self.task_class)).parent
        paths = [Path(path) for path in step.submission_paths or ()]
        box = self.place.box
        return attacks_on(paths, package, box.paths.workdir, is_alone=box.level != "none")

    def _run(self, student: Student, label: str, *, limit_s: float | None) -> RunRecord:
        run_id = run_id_for(self.task_class.id, label)
        spec = RunSpec(
            config=self.config.model_copy(update={"run_id": run_id, "model": label}),
            module=self.task_class.__module__,
            qualname=self.task_class.__qualname__,
            pass_rule=self.pass_rule,
        )
        with tempfile.TemporaryDirectory(prefix="chalk-validate-") as kept:
            transcript, own = Path(kept, "transcript.jsonl"), Path(kept)
            place = replace(self.place, transcript=transcript, directory=own, submissions_dir=None)
            with task_run(spec, place) as run, _limited(limit_s):
                run.prepare(self.task_class, student, dict(self.hook_arguments))
                return perform_run(run)


def _limited(limit_s: float | None) -> AbstractContextManager[None]:
    return nullcontext() if limit_s is None else time_limit(limit_s)


def make_check(name: str, check: Callable[[], Check]) -> Check:
    """Make a check; a machine that breaks under an attack is a problem of the task's too."""
    try:
        return check()
    except ChalkError as error:
        return Check(name, str(error))
    except TimeIsUpError as late:
        return Check(name, _too_late(late))


def _too_late(late: TimeIsUpError) -> str:
    """Return who waited for ever, and what the author can do about it."""
    frames = list(traceback.walk_tb(late.__traceback__))
    stages = [f.f_locals["stage"] for f, _ in frames if f.f_code is call_user_code.__code__]
    stage = stages[-1] if stages else "the run"
    if stage == "student":
        return f"the student's part: {late}"
    where = [
        f"{frame.f_code.co_name} ({frame.f_code.co_filename}:{line})"
        for frame, line in frames
        if not _is_ours_or_pythons(frame.f_code.co_filename)
    ]
    place = f", waiting in {where[-1]}" if where else ""
    return (
        f"the student can keep it from ending: {stage}: {late}{place}. The task's author can mend "
        "this: judge the copies that collect_submission returns, and no path that the student "
        "can still fill"
    )


def _is_ours_or_pythons(file: str) -> bool:
    return file.startswith((str(_PACKAGE), sysconfig.get_path("stdlib"), "<"))


def lint_step(step: Step) -> list[str]:
    """Return what looks wrong in a step's code, for a person to look at."""
    notes = []
    judge = getattr(type(step), "judge", None)
    source = _source(judge.fget) if isinstance(judge, property) else ""
    if _READS_ORIGINAL.search(source):
        notes.append(
            "its judge names the student's directory: judge what collect_submission returns"
        )
    wanted = {Path(path).name for path in step.submission_paths or ()}
    named = {Path(name).name for name in _WRITES_FILE.findall(str(step.instructions))}
    notes += [
        f"its instructions want {name!r}, which is not in submission_paths"
        for name in sorted(named - wanted)
    ]
    return notes


def _source(function: object) -> str:
    try:
        return inspect.getsource(function)  # type: ignore[arg-type]  # of anything, or an error
    except (OSError, TypeError):
        return ""


def _readable(task_class: type[Task], box: Box) -> str:
    try:
        refuse_leaky_box(task_class, box, allow_readable_task=False)
    except (RunOptionError, MachineError) as error:
        return str(error)
    return ""

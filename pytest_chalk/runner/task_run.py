"""One run of one task: `RunSpec` in, `RunRecord` out, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.conversation import Conversation
from pytest_chalk.errors import MachineError, RunOptionError, TaskDefinitionError
from pytest_chalk.reports.clean import clean_object, clean_text
from pytest_chalk.runner.data_mounts import check_data_mounts
from pytest_chalk.runner.kept_workdir import forget_workdirs
from pytest_chalk.runner.readable import data_folders_of, hide_task, refuse_leaky_box
from pytest_chalk.runner.step_run import StepRun, StepScene, names_of
from pytest_chalk.runner.students import make_agent, student_name
from pytest_chalk.runner.user_code import (
    Misbehaved,
    Returned,
    call_tool_code,
    call_user_code,
    failure_of,
)
from pytest_chalk.runner.verdict import (
    goes_on,
    run_outcome,
    run_reason,
    run_score,
    total_judge_usage,
    total_usage,
)
from pytest_chalk.sandbox import CurrentRun, enter_run, find_run, lay_out
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.hardware import Hardware
from pytest_chalk.schemas.record import Failure, RunRecord, RunSpec, StepRecord
from pytest_chalk.schemas.transcript import (
    ErrorEvent,
    TaskCompletedEvent,
    TaskPreHookCompletedEvent,
    TaskStartedEvent,
)
from pytest_chalk.store.transcript_file import TranscriptFile
from pytest_chalk.tools.registry import Toolbox
from pytest_chalk.tools.tool_base import ToolConfigWriter
from pytest_chalk.tools.tool_file import tool_directories

if TYPE_CHECKING:
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.authoring.task import Task
    from pytest_chalk.runner.run_place import RunPlace
    from pytest_chalk.runner.students import Student
    from pytest_chalk.schemas.frozen import Outcome


class TaskRun:
    """A run under way. Use it as `with task_run(...) as run`, iterate `steps()`, then `finish()`.

    Attributes:
        spec: What was asked.
        failure: What broke before the first step, or None.
    """

    def __init__(self, spec: RunSpec, place: RunPlace, transcript: TranscriptFile) -> None:
        self.spec = spec
        self.failure: Failure | None = None
        self._place, self._transcript = place, transcript
        self._started_at, self._started_s = datetime.now(UTC), time.monotonic()
        self._conversation = Conversation(transcript.add)
        self._steps: list[Step] = []
        self._names: tuple[str, ...] = ()
        self._records: list[StepRecord] = []
        self._skip_reason = ""
        self._scene: StepScene | None = None
        self._toolbox: Toolbox | None = None

    def prepare(
        self, task_class: type[Task], student: Student, hook_arguments: Mapping[str, object]
    ) -> None:
        """Build the task and run everything up to its first step; what breaks is in `failure`."""
        self._transcript.add(
            TaskStartedEvent(
                run_id=self.spec.config.run_id,
                task_id=self.spec.config.task_id,
                model=student_name(student),
                use_hints=self.spec.config.use_hints,
                isolation=self._place.box.level,
            )
        )
        hide_task(task_class)
        built = call_user_code("task", lambda: task_class(self.spec.config))
        if not isinstance(built, Returned):
            self._break(built)
            return
        for stage, act in self._preparations(built.value, student, hook_arguments):
            came = call_user_code(stage, act)
            if not isinstance(came, Returned):
                self._break(came)
                return

    @property
    def transcript_path(self) -> str:
        """Where the transcript is."""
        return str(self._transcript.path)

    def steps(self) -> Iterator[StepRun]:
        """Yield the steps as long as the task goes on; `record` each before asking for the next."""
        if self.failure is not None or self._scene is None:
            return
        for index, step in enumerate(self._steps):
            self._skip_reason = self._scene.agent.reason_to_skip(step) or ""
            if self._skip_reason:
                return
            yield StepRun(
                self._scene, step, index=index, of=len(self._steps), name=self._names[index]
            )
            if len(self._records) <= index or not goes_on(self._records[index]):
                return

    def record(self, step: StepRecord) -> None:
        """Take over the record of the step that ran."""
        self._records.append(step)

    def not_reached(self) -> tuple[str, ...]:
        """Return the names of the steps that have not begun."""
        return self._names[len(self._records) :]

    def why_ended(self) -> str:
        """Return why the steps after the last one do not begin."""
        if self._skip_reason:
            return self._skip_reason
        if not self._records:
            return "the run broke before its first step"
        last = self._records[-1]
        if last.outcome in {"failed", "misbehaved"}:
            return f"step {last.index + 1} did not continue"
        return f"step {last.index + 1} ended as {last.outcome.replace('_', ' ')}"

    def finish(self, *, outcome: Outcome | None = None, reason: str = "") -> RunRecord:
        """Write the end of the run and return its record.

        Args:
            outcome: Overrules the steps, for a run ended from outside.
            reason: Why, with `outcome`.
        """
        if self._toolbox is not None:
            self._toolbox.close()
        decided, why = self._decide() if outcome is None else (outcome, reason)
        if self._place.keep_box and decided in {"passed", "skipped"}:
            forget_workdirs(self._place.directory)
        self._transcript.add(TaskCompletedEvent(outcome=decided))
        steps = tuple(self._records)
        scored = decided in {"passed", "failed", "misbehaved"}
        config = self.spec.config
        return RunRecord(
            **_place_of(self.spec),
            run_id=config.run_id,
            task_id=config.task_id,
            model=config.model,
            outcome=decided,
            score=run_score(steps) if scored else None,
            reason=clean_text(why),
            steps=steps,
            not_reached=self.not_reached(),
            failure=self.failure,
            usage=total_usage(steps),
            judge_usage=total_judge_usage(steps),
            started_at=self._started_at,
            duration_s=round(time.monotonic() - self._started_s, 6),
            config=config,
            transcript=self.transcript_path,
            submissions=str(self._place.saved_in),
            isolation=self._place.box.level,
        )

    def _decide(self) -> tuple[Outcome, str]:
        if self.failure is not None:
            return "error", self.failure.summary
        outcome = run_outcome(self._records)
        if outcome == "passed" and self._skip_reason:
            return "skipped", self._skip_reason
        return outcome, run_reason(self._records)

    def _preparations(
        self, task: Task, student: Student, hook_arguments: Mapping[str, object]
    ) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield the stages before the first step, in order."""
        yield "required_hardware", lambda: self._resolve_hardware(task)
        ToolConfigWriter().clear()
        yield "configure_tools", task.configure_tools
        yield "tools", lambda: self._open_toolbox(task)
        yield "student", lambda: self._bring_student(student, type(task))
        data = data_folders_of(type(task), self._place.project)
        if data:
            yield "data folders", lambda: lay_out(data, self._place.box.slot)
        yield "pre_hook", lambda: self._run_pre_hook(task, hook_arguments)
        yield "data_mounts", lambda: check_data_mounts(task, self._place.box)
        yield "steps", lambda: self._read_steps(task)
        yield "system_prompt", lambda: self._say_system_prompt(task)
        if self._scene is not None and not self._scene.agent.trusted and self._uses_box:
            # While the model thinks about its first turn.
            yield "box", self._place.box.prepare

    @property
    def _uses_box(self) -> bool:
        return self._toolbox is not None and self._toolbox.uses_box

    def _resolve_hardware(self, task: Task) -> None:
        wanted = task.required_hardware
        if wanted is None:
            return
        hardware = self._place.resolve_hardware(wanted)
        if isinstance(hardware, Hardware):
            self._place.box.equip(hardware)
        elif hardware is None:
            message = (
                f"task {task.id!r} requires the hardware {wanted!r}, which nothing offers here. "
                "Implement the hook pytest_chalk_resolve_hardware where it exists."
            )
            raise MachineError(message)

    def _open_toolbox(self, task: Task) -> None:
        names = task.tools
        self._toolbox = Toolbox.open(
            f"task {task.id!r}",
            names,
            self._place.box,
            search_dirs=tool_directories(type(task).__module__) if names else (),
            call_user=call_tool_code,
        )

    def _bring_student(self, student: Student, task_class: type[Task]) -> None:
        if self._toolbox is None:  # pragma: no cover - the stage before made it
            return
        judge_models = self._place.judge_models(None if isinstance(student, str) else student)
        if not isinstance(student, str):
            student = self._place.wrap_model(student)
        agent = make_agent(
            student, box=self._place.box, toolbox=self._toolbox, config=self.spec.config
        )
        if not agent.trusted and self._place.box.level != "none":
            allowed = self._place.allow_readable_tasks
            refuse_leaky_box(task_class, self._place.box, allow_readable_task=allowed)
        self._scene = StepScene(
            self.spec.config,
            agent,
            self._conversation,
            self._transcript,
            self.spec.pass_rule,
            judge_models,
            self._place.directory if self._place.keep_box else None,
        )

    def _run_pre_hook(self, task: Task, arguments: Mapping[str, object]) -> None:
        metadata = task.pre_hook(**arguments)
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TaskDefinitionError(
                where=f"{type(task).__name__}.pre_hook",
                problem=f"returned {metadata!r}, which is no dict",
                fix="Return a dict (it is recorded in the transcript) or nothing",
            )
        self._transcript.add(TaskPreHookCompletedEvent(metadata=clean_object(metadata or {})))

    def _read_steps(self, task: Task) -> None:
        """Read `steps`, once in the whole run."""
        self._steps = list(task.steps)
        if not self._steps:
            raise TaskDefinitionError(
                where=f"{type(task).__name__}.steps",
                problem="is empty, so nothing can be measured",
                fix="Return at least one step",
            )
        self._names = names_of(self._steps)

    def _say_system_prompt(self, task: Task) -> None:
        prompt = task.system_prompt
        if prompt:
            self._conversation.add(Message(role="system", content=prompt))

    def _break(self, came: Failure | Misbehaved) -> None:
        failure = came if isinstance(came, Failure) else _misbehaved_early(came.message)
        self.failure = failure
        self._transcript.add(ErrorEvent(**failure.model_dump()))


def _place_of(spec: RunSpec) -> dict[str, Any]:
    """Return what a record takes over from its spec as it is."""
    names = ("session_id", "nodeid", "module", "qualname", "epoch", "attempt")
    return {name: getattr(spec, name) for name in names}


@contextmanager
def task_run(spec: RunSpec, place: RunPlace) -> Iterator[TaskRun]:
    """Open a run; whatever happens inside, the student is gone and the box is clean afterwards.

    Raises:
        MachineError: The transcript cannot be written, or the box cannot be cleaned.
        RunOptionError: Another run is under way in this process.
    """
    if find_run() is not None:
        raise RunOptionError(
            where=f"task {spec.config.task_id!r}",
            problem="a run is already under way in this process, which holds one student",
            fix="Run tasks one after another, or in parallel processes (pytest -n)",
        )
    transcript = TranscriptFile(place.transcript, spec.config.run_id)
    current = CurrentRun(
        box=place.box,
        artifacts_dir=place.directory / "artifacts",
        submissions_dir=place.saved_in,
        save_submission_kwargs=place.save_submission_kwargs,
        keeps_artifacts=spec.config.save_artifacts,
    )
    try:
        with enter_run(current):
            yield TaskRun(spec, place, transcript)
    finally:
        try:
            place.box.reset()
        finally:
            transcript.close()


def perform_run(
    run: TaskRun, observe: Callable[[StepRun], StepRecord] = StepRun.perform
) -> RunRecord:
    """Carry a prepared run through its steps and return its record."""
    for step in run.steps():
        run.record(observe(step))
    return run.finish()


def broken_run(spec: RunSpec, error: BaseException, steps: Sequence[StepRecord] = ()) -> RunRecord:
    """Return the record of a run that could not be carried through at all."""
    failure = failure_of("run", error)
    return RunRecord(
        **_place_of(spec),
        run_id=spec.config.run_id,
        task_id=spec.config.task_id,
        model=spec.config.model,
        outcome="error",
        reason=failure.summary,
        failure=failure,
        steps=tuple(steps),
    )


def unstarted_run(spec: RunSpec, reason: str) -> RunRecord:
    """Return the record of a run that was planned and for which nothing was done."""
    return RunRecord(
        **_place_of(spec),
        run_id=spec.config.run_id,
        task_id=spec.config.task_id,
        model=spec.config.model,
        outcome="not_run",
        reason=reason,
    )


def _misbehaved_early(message: str) -> Failure:
    return Failure(
        stage="preparation",
        blame="author",
        exception_type="StudentMisbehaviorError",
        message=f"{message}\n(raised before the student had done anything)",
    )

"""`create_task`: a task from values and functions instead of a class body."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.authoring.step import Step
from pytest_chalk.authoring.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_chalk.authoring.script import Turn
    from pytest_chalk.schemas.data_mount import DataMount
    from pytest_chalk.schemas.run_config import RunConfig

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class StepConfig:
    """One step for `create_task`. A function in place of a value is called with the run config."""

    instructions: str | Callable[[RunConfig], str]
    judge: Judge | Callable[[RunConfig], Judge]
    submission_paths: tuple[Path, ...] | None = None
    pre_scoring_hook: Callable[[RunConfig], None] | None = None
    post_hook: Callable[[RunConfig], None] | None = None
    name: str = ""
    pass_score: float | None = None
    solution: str | Sequence[Turn] | None = None


def create_task(  # noqa: PLR0913 - the seeds prescribe the signature
    *,
    id: str,  # noqa: A002 - the seeds prescribe the name
    tools: list[str],
    steps: Sequence[StepConfig],
    system_prompt: str | Callable[[RunConfig], str | None] | None,
    required_hardware: str | None = None,
    data_mounts: list[DataMount] | None = None,
    configure_tools: Callable[[], None] | None = None,
    pre_hook: Callable[[RunConfig], dict[str, Any]] | None = None,
) -> type[Task]:
    """Return a new `Task` subclass named after `id`, dashes turned into underscores.

    Step classes are called `step_1`, `step_2`, ...; each run gets fresh steps that share its
    config.
    """
    name, module = id.replace("-", "_"), _calling_module()
    step_classes = [
        _step_class(config, f"step_{number}", (module, name))
        for number, config in enumerate(steps, 1)
    ]
    body: dict[str, Any] = {
        "id": id,
        "__module__": module,
        "system_prompt": property(lambda self: _resolved(system_prompt, self.config)),
        "tools": property(lambda _: list(tools)),
        "steps": property(lambda self: [cls(config=self.config) for cls in step_classes]),
        "data_mounts": property(lambda _: list(data_mounts or ())),
    }
    if required_hardware is not None:
        body["required_hardware"] = property(lambda _: required_hardware)
    if configure_tools is not None:
        body["configure_tools"] = lambda _: configure_tools()
    if pre_hook is not None:
        body["pre_hook"] = lambda self: pre_hook(self.config)
    return type(name, (Task,), body)


class _FactoryStep(Step):
    """A step that does what its `StepConfig` says."""

    _given: StepConfig

    @property
    @override
    def instructions(self) -> str:
        return _resolved(self._given.instructions, self.config)

    @property
    @override
    def judge(self) -> Judge:
        judge = self._given.judge
        return judge if isinstance(judge, Judge) else judge(self.config)

    @override
    def pre_scoring_hook(self) -> None:
        if self._given.pre_scoring_hook is not None:
            self._given.pre_scoring_hook(self.config)

    @override
    def post_hook(self) -> None:
        if self._given.post_hook is not None:
            self._given.post_hook(self.config)


def _step_class(given: StepConfig, name: str, owner: tuple[str, str]) -> type[Step]:
    """Return the class of one step; `owner` is the module and class name of its task."""
    module, task_name = owner
    body = {
        "__module__": module,
        "__qualname__": f"{task_name}.{name}",
        "_given": given,
        "submission_paths": given.submission_paths,
        "name": given.name,
        "pass_score": given.pass_score,
        "solution": given.solution,
    }
    return type(name, (_FactoryStep,), body)


def _resolved(value: T | Callable[[RunConfig], T], config: RunConfig) -> T:
    return value(config) if callable(value) else value


def _calling_module() -> str:
    """Name the module that calls `create_task`, so that the task is collected where it is made."""
    caller = sys._getframe(2)  # noqa: SLF001 - as namedtuple does
    return str(caller.f_globals.get("__name__", __name__))

"""The run config: what a task reads as `self.config`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field, field_validator

from pytest_chalk.schemas.frozen import Frozen

T = TypeVar("T")
OnLimit = Literal["score", "error"]
_PositiveSeconds = Annotated[float, Field(gt=0)]
_PositiveCount = Annotated[int, Field(gt=0)]

_TEXT_KEYS = ("extra_artifact_paths", "extra_task_instructions", "task_instructions_override")


class RunConfig(Frozen):
    """How one run of one task goes.

    A limit given as a list applies step by step; steps past its end have none.

    Attributes:
        run_id: Names the run within its session. Empty in the placeholder config.
        task_id: The task that is run. Empty in the placeholder config.
        model: The student, for example `oracle` or `openai/gpt-5`. Empty in the placeholder.
        use_hints: Whether instructions may carry hints.
        turn_limit: Model turns in the whole run.
        step_time_limit_seconds: Wall-clock seconds from a step's instructions on.
        step_context_window_limit: Input tokens of the last model call of a step.
        on_limit: `score` judges the step as it stands, `error` makes it an error.
        on_step_time_limit: The same for the time limit alone; None follows `on_limit`.
        on_step_context_window_limit: The same for the context limit alone.
        extra_config: Free for the task. Three keys are the package's own:
            `extra_task_instructions` and `task_instructions_override` (text for all steps, or a
            list with one text per step) and `extra_artifact_paths` (a path or a list of paths).
        save_artifacts: Whether artifacts are kept. Submissions always are.
    """

    model_config = ConfigDict(extra="ignore")  # configs of other releases and systems name more

    run_id: str
    task_id: str
    model: str
    use_hints: bool = True
    reasoning_effort: str | None = None
    temperature: float | None = None
    turn_limit: _PositiveCount | None = None
    step_time_limit_seconds: _PositiveSeconds | list[_PositiveSeconds] | None = None
    step_context_window_limit: _PositiveCount | list[_PositiveCount] | None = None
    on_limit: OnLimit = "score"
    on_step_time_limit: OnLimit | None = None
    on_step_context_window_limit: OnLimit | None = None
    inject_time_remaining_counter: bool = True
    inject_context_remaining_counter: bool = True
    extra_config: dict[str, Any] | None = None
    save_artifacts: bool = True

    @field_validator("extra_config")
    @classmethod
    def _texts_are_texts(cls, extra: dict[str, Any] | None) -> dict[str, Any] | None:
        for key in _TEXT_KEYS:
            found = (extra or {}).get(key)
            listed = found if isinstance(found, list) else [found]
            if found is not None and not all(isinstance(text, str) for text in listed):
                message = f"{key} is a string or list of strings, found {found!r:.200}"
                raise ValueError(message)
        return extra

    @classmethod
    def placeholder(cls) -> RunConfig:
        """Return the config with which tasks are built only to read their properties."""
        return cls(run_id="", task_id="", model="")

    def resolve_step_time_limit(self, step: int) -> float | None:
        """Return the seconds that step `step` (from 0) may take."""
        return _for_step(self.step_time_limit_seconds, step)

    def resolve_step_context_window_limit(self, step: int) -> int | None:
        """Return the input tokens that step `step` (from 0) may reach."""
        return _for_step(self.step_context_window_limit, step)

    def resolve_step_instructions(self, text: str, step: int) -> str:
        """Return what the student is told in step `step` (from 0).

        `task_instructions_override` replaces the text, an empty one too; otherwise
        `extra_task_instructions` is appended after a blank line.
        """
        extra = self.extra_config or {}
        override = _for_step(extra.get("task_instructions_override"), step)
        if override is not None:
            return str(override)
        addition = _for_step(extra.get("extra_task_instructions"), step)
        return f"{text}\n\n{addition}" if addition else text

    @property
    def extra_artifact_paths(self) -> list[str]:
        """Paths kept as artifacts after each step, before its submission is collected."""
        found = (self.extra_config or {}).get("extra_artifact_paths") or []
        return [found] if isinstance(found, str) else list(found)


def _for_step(value: T | list[T] | None, step: int) -> T | None:
    if isinstance(value, list):
        return value[step] if step < len(value) else None
    return value


EvaluationRunConfig = RunConfig

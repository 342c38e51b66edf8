"""The built-in oracle: each step's own `solution`, so that tasks prove themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.agents.message_loop import MessageLoop
from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.models.scripted import ScriptedModel
from pytest_chalk.sandbox import run_as_student
from pytest_chalk.schemas.chat import Function, Message, ToolCall
from pytest_chalk.schemas.transcript import ToolCallCompletedEvent, ToolCallStartedEvent

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import StepWork
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.record import LimitHit
    from pytest_chalk.schemas.run_config import RunConfig
    from pytest_chalk.tools.registry import Toolbox

SCRIPT_TIME_LIMIT_S = 3_600.0
"""For a solution in a step without a time limit. An hour is far above any reference solution and
still ends a script that waits for input which never comes."""

MAX_OUTPUT_BYTES = 1_048_576
"""Of a solution's output. It becomes one message, and judges search messages with patterns."""


class OracleAgent:
    """Runs `Step.solution` in the box as the student, or plays its turns like a scripted model."""

    name = "oracle"
    trusted = True

    def __init__(self, box: Box, toolbox: Toolbox, config: RunConfig) -> None:
        self._box = box
        self._toolbox = toolbox
        self._config = config

    def reason_to_skip(self, step: Step) -> str | None:
        """Return why there is nothing to do where the step has no solution."""
        if step.solution is not None:
            return None
        return f"the oracle has no solution for {type(step).__name__}: give the step a `solution`"

    def work(self, work: StepWork) -> LimitHit | None:
        """Solve the step; return the time limit if the script ran into it."""
        solution = work.step.solution
        if isinstance(solution, str):
            return self._run_script(work, solution)
        if isinstance(solution, (list, tuple)):
            model = ScriptedModel(
                solution, name="oracle", turns_before=work.conversation.assistant_turns
            )
            return MessageLoop(model, self._toolbox, self._config).work(work)
        raise TaskDefinitionError(
            where=f"{type(work.step).__name__}.solution",
            problem=f"is {solution!r}",
            fix="Write a shell script as a string, or a list of turns as for ScriptedModel",
        )

    def _run_script(self, work: StepWork, script: str) -> LimitHit | None:
        conversation = work.conversation
        call = ToolCall(
            id=f"solution_{work.index}", function=Function(name="solution", arguments=script)
        )
        conversation.emit(ToolCallStartedEvent(tool_call=call))
        left_s = work.clock.seconds_left()
        completed = run_as_student(
            self._box,
            ("/bin/bash", "--noprofile", "--norc", "-c", script),
            time_limit_s=SCRIPT_TIME_LIMIT_S if left_s is None else left_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
        )
        output = completed.stdout.decode("utf-8", "replace")
        conversation.emit(
            ToolCallCompletedEvent(
                tool_call_id=call.id,
                text=output,
                is_error=completed.exit_code != 0,
                details={
                    "exit_code": completed.exit_code,
                    "stderr": completed.stderr.decode("utf-8", "replace"),
                    "timed_out": completed.timed_out,
                },
            )
        )
        conversation.add(Message(content=output.rstrip("\n")))
        return work.clock.find_hit()

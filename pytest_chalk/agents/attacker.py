"""A student that solves the steps before one and attacks that one with a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from pytest_chalk.agents.oracle import OracleAgent

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chalk.authoring.ports import ModelReply, ModelRequest, StepWork
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.record import LimitHit
    from pytest_chalk.schemas.run_config import RunConfig
    from pytest_chalk.tools.registry import Toolbox


class Attacker:
    """The student. What it does is known, so it is trusted with the level that there is."""

    trusted = True

    def __init__(self, name: str, index: int, script_for: Callable[[Step], str]) -> None:
        """Take what it does.

        Args:
            name: Of the attack.
            index: Of the step that is attacked, from 0.
            script_for: Makes the script, run in the box as the student.
        """
        self.name, self.index, self.script_for = name, index, script_for

    def reply(self, request: ModelRequest) -> ModelReply:
        """Raise: it is no model that is asked."""
        raise NotImplementedError(request)

    def agent(self, box: Box, toolbox: Toolbox, config: RunConfig) -> AttackerAgent:
        """Return the agent of one run."""
        return AttackerAgent(self, box, toolbox, config)


class AttackerAgent(OracleAgent):
    """Carries an attack out."""

    def __init__(self, attacker: Attacker, box: Box, toolbox: Toolbox, config: RunConfig) -> None:
        super().__init__(box, toolbox, config)
        self._attacker = attacker
        self._steps_seen = 0

    @override
    def reason_to_skip(self, step: Step) -> str | None:
        self._steps_seen += 1
        if self._steps_seen <= self._attacker.index:
            return super().reason_to_skip(step)
        over = self._steps_seen > self._attacker.index + 1
        return "the attack is over" if over else None

    @override
    def work(self, work: StepWork) -> LimitHit | None:
        if work.index < self._attacker.index:
            return super().work(work)
        return self._run_script(work, self._attacker.script_for(work.step))

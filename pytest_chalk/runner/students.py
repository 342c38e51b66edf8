"""Who works on a task: names and models turned into agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from pytest_chalk.authoring.ports import Model
from pytest_chalk.errors import MachineError, RunOptionError
from pytest_chalk.sandbox import asked_level

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Agent
    from pytest_chalk.sandbox import Box
    from pytest_chalk.schemas.run_config import RunConfig
    from pytest_chalk.tools.registry import Toolbox

BUILT_IN = ("oracle", "noop")
_OF_A_MODEL = ("name", "trusted", "reply")

Student: TypeAlias = str | Model
"""A built-in student by name, or a model."""


def student_name(student: Student) -> str:
    """Return the name under which reports show the student; also of what will be refused."""
    if isinstance(student, str):
        return student
    return str(getattr(student, "name", type(student).__name__))


def check_student(student: object) -> Student:
    """Return `student` if it can work on a task.

    Raises:
        RunOptionError: It is neither a built-in name nor a model.
    """
    if isinstance(student, str) and student in BUILT_IN:
        return student
    if is_model(student):
        return student
    raise RunOptionError(
        "model",
        f"{student!r} is unknown",
        fix=f"Use {' or '.join(BUILT_IN)}, or a model that a plugin makes for its name "
        "(hook pytest_chalk_make_model)",
    )


def is_model(found: object) -> TypeGuard[Model]:
    """Tell whether it can be asked for a turn."""
    # Not isinstance(found, Model): asking a protocol takes as long as a turn of a scripted model.
    return not isinstance(found, str) and all(hasattr(found, name) for name in _OF_A_MODEL)


def make_agent(student: Student, *, box: Box, toolbox: Toolbox, config: RunConfig) -> Agent:
    """Return an agent for one run.

    Raises:
        MachineError: The student is a model that is not trusted, and nothing here can hold it.
    """
    from pytest_chalk.agents.attacker import Attacker
    from pytest_chalk.agents.message_loop import MessageLoop
    from pytest_chalk.agents.oracle import OracleAgent
    from pytest_chalk.models.noop import NoopModel

    if student == "oracle":
        return OracleAgent(box, toolbox, config)
    if isinstance(student, Attacker):
        return student.agent(box, toolbox, config)
    model = NoopModel() if isinstance(student, str) else student
    agent = MessageLoop(model, toolbox, config)
    if not agent.trusted and box.level == "none" and asked_level()[0] != "none":
        message = (
            f"model {agent.name!r} cannot be held: isolation level 'none' is all this process has, "
            "and only scripted students may run without a sandbox. Run pytest as root "
            "(for example `sudo -E env PATH=$PATH pytest ...`), or give --chalk-isolation=none if "
            "it may do everything that you may do."
        )
        raise MachineError(message)
    return agent

"""Students' minds: scripted ones, and (one module each) those of providers.

`from pytest_chalk.models import ScriptedModel, call` writes a student for a test.
"""

from pytest_chalk.authoring.script import Call, Turn, call
from pytest_chalk.models.noop import NoopModel
from pytest_chalk.models.scripted import ScriptedModel

__all__ = ["Call", "NoopModel", "ScriptedModel", "Turn", "call"]

"""Tools that a task configures: `ToolBase` reads what `ToolConfigWriter` wrote for the run."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from pydantic import BaseModel, ValidationError

from pytest_chalk.errors import TaskDefinitionError

ConfigT = TypeVar("ConfigT", bound=BaseModel)

_configs: dict[str, BaseModel] = {}
"""By tool, for the run that is being prepared. In memory: a process has one run at a time, and
files would be shared by all workers of a machine and outlive the run."""


class ToolConfigWriter:
    """Configures tools of the run to come. Use it in `Task.configure_tools`."""

    def write(self, tool_name: str, model: BaseModel) -> Self:
        """Set the config of a tool, named by its class or its file.

        Raises:
            TaskDefinitionError: `model` is no pydantic model.
        """
        given: object = model
        if not isinstance(given, BaseModel):
            where = f"ToolConfigWriter.write({tool_name!r}, ...)"
            raise TaskDefinitionError(
                where,
                f"found {given!r}",
                fix="Give an instance of the tool's config_schema",
            )
        _configs[tool_name] = given.model_copy(deep=True)
        return self

    def clear(self) -> None:
        """Forget every config. Each run begins without any."""
        _configs.clear()


class ToolBase(Generic[ConfigT]):
    """Base of a tool class that has a config.

    Attributes:
        config_schema: The pydantic model of the config. Its defaults are the config of a task that
            writes none.
        config: The config of this run.
    """

    config_schema: ClassVar[type[BaseModel]]

    def __init__(self) -> None:
        """Read the config.

        Raises:
            TaskDefinitionError: The class has no `config_schema`, or the config does not fit it.
        """
        self.config: ConfigT = cast("ConfigT", _read_config(type(self)))

    @property
    def tool_name(self) -> str:
        """The name of the class, under which its config is written."""
        return type(self).__name__


def _read_config(cls: type[ToolBase[Any]]) -> BaseModel:
    where, schema = f"tool {cls.__qualname__}", getattr(cls, "config_schema", None)
    if not isinstance(schema, type) or not issubclass(schema, BaseModel):
        raise TaskDefinitionError(
            where,
            f"config_schema is {schema!r}",
            fix="Set it to the pydantic model of the config: config_schema = MyConfig",
        )
    file_name = cls.__module__.rpartition(".")[2]
    written = _configs.get(cls.__name__, _configs.get(file_name))
    if isinstance(written, schema):
        return written.model_copy(deep=True)
    try:
        return schema() if written is None else schema.model_validate(written.model_dump())
    except ValidationError as error:
        problem = "needs a config that nothing wrote" if written is None else "config does not fit"
        raise TaskDefinitionError(
            where,
            f"{problem}: {_first_problem(error)}",
            fix=f"Write in configure_tools: ToolConfigWriter().write({cls.__name__!r}, "
            f"{schema.__name__}(...))",
        ) from error


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"

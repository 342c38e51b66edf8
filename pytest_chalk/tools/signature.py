"""A function as a model sees it: docstring and annotations become description and JSON schema."""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from pytest_chalk.authoring.tool import ToolRefusalError
from pytest_chalk.errors import TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

MAX_PROBLEMS_TOLD = 5
"""Of one call's arguments. A list of a thousand wrong numbers needs no thousand lines."""

_NAMEABLE = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})
_PLAIN_VALUES = frozenset({"const", "default", "enum", "examples"})
_UNUSABLE_RETURNS = (bool, int, float, bytes, list, tuple, set, type(None))


@dataclass(frozen=True)
class ToolSignature:
    """What a model is told about a function, and how its arguments are read.

    Attributes:
        description: The docstring.
        parameters: An object schema.
        model: Has a field `p0`, `p1` … for each parameter, with the parameter's name as alias: a
            parameter may then have any name, also one that a pydantic model has itself.
        names: The parameters by field.
    """

    description: str
    parameters: Mapping[str, Any]
    model: type[BaseModel]
    names: Mapping[str, str]

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments of a call; what is not given is left to the function.

        Raises:
            ToolRefusalError: They do not fit; says which and how.
        """
        try:
            found = self.model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolRefusalError(self._problems(error)) from None
        return {
            name: getattr(found, field)
            for field, name in self.names.items()
            if field in found.model_fields_set
        }

    def _problems(self, error: ValidationError) -> str:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        told = [f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems]
        if len(told) > MAX_PROBLEMS_TOLD:
            told[MAX_PROBLEMS_TOLD:] = [f"and {len(told) - MAX_PROBLEMS_TOLD} more"]
        takes = ", ".join(self.names.values()) or "no arguments"
        return f"wrong arguments. {'; '.join(told)}. It takes {takes}."


class _QuietSchema(GenerateJsonSchema):
    """Leaves out a default that JSON cannot show, without a warning: the function has it."""

    ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012 - theirs


def read_signature(
    where: str, function: Callable[..., object], *, description: str, without_first: bool = False
) -> ToolSignature:
    """Return the signature of a function, without its first parameter if that is our affair.

    Raises:
        TaskDefinitionError: A parameter has no annotation, one that has no JSON schema, or cannot
            be given by name; names all that have none.
    """
    hints = _type_hints(where, function)
    found = [*inspect.signature(function).parameters.values()][int(without_first) :]
    _check_parameters(where, found, hints)
    fields = {
        f"p{number}": (hints[parameter.name], _field(parameter))
        for number, parameter in enumerate(found)
    }
    names = {f"p{number}": parameter.name for number, parameter in enumerate(found)}
    try:
        # Any: create_model wants the names of its fields as keywords, known when this is written.
        make: Any = create_model
        model = make("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(schema_generator=_QuietSchema)
    except PydanticUserError as error:
        raise TaskDefinitionError(
            where,
            f"an annotation has no JSON schema: {error.message.splitlines()[0].rstrip('.')}",
            fix="Use str, int, float, bool, list, dict, Literal, Optional or a pydantic model",
        ) from error
    return ToolSignature(description, _without_titles(schema), model, names)


def _type_hints(where: str, function: Callable[..., object]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise TaskDefinitionError(
            where,
            f"its annotations cannot be read: {type(error).__name__}: {error}",
            fix="Import what they name at the top of the file, not below `if TYPE_CHECKING`",
        ) from error


def _check_parameters(
    where: str, parameters: list[inspect.Parameter], hints: Mapping[str, Any]
) -> None:
    starred = [p.name for p in parameters if p.kind not in _NAMEABLE]
    if starred:
        raise TaskDefinitionError(
            where,
            f"{', '.join(starred)} cannot be given by name",
            fix="Write out every parameter, without *, ** or /",
        )
    bare = [p.name for p in parameters if p.name not in hints]
    if bare:
        raise TaskDefinitionError(
            where,
            f"no annotation for {', '.join(bare)}",
            fix=f"Annotate every parameter, for example {bare[0]}: str",
        )
    if hints.get("return", str) in _UNUSABLE_RETURNS:
        raise TaskDefinitionError(
            where,
            f"returns {hints['return'].__name__}",
            fix="Return a str, a dict or a ToolAnswer",
        )


def _field(parameter: inspect.Parameter) -> Any:  # noqa: ANN401 - as pydantic's own Field
    if parameter.default is inspect.Parameter.empty:
        return Field(alias=parameter.name)
    return Field(parameter.default, alias=parameter.name)


def _without_titles(schema: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a schema without the titles that pydantic makes of names: they say nothing new."""
    if isinstance(schema, list):
        return [_without_titles(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value if key in _PLAIN_VALUES else _without_titles(value)
        for key, value in schema.items()
        if key != "title" or not isinstance(value, str)
    }

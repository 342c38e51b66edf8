"""The base of every schema: immutable, validated, closed to unknown fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict

from pytest_chalk.schemas.plain import encodable, plain


def _encodable_text(value: object) -> object:
    return encodable(value) if isinstance(value, str) else value


def _plain_object(value: object) -> object:
    return plain(value) if isinstance(value, dict) else value


Text: TypeAlias = Annotated[str, BeforeValidator(_encodable_text)]
"""Text that students and their tools can shape: valid UTF-8, lone surrogates as escapes."""

JsonObject: TypeAlias = Annotated[dict[str, Any], BeforeValidator(_plain_object)]
"""A JSON object; objects that JSON does not know become text."""

Outcome: TypeAlias = Literal["passed", "failed", "misbehaved", "error", "not_run", "skipped"]
"""What became of a step or a run. Four of these say why there is no good score, and differ:
the work fell short, the student attacked, something broke, nothing was tried."""

Blame: TypeAlias = Literal["author", "student", "machine"]


class Frozen(BaseModel):
    """A value: compare it, pass it on, never change it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def json_bytes(self) -> bytes:
        """Return what `model_dump_json` does, as bytes and in half the time."""
        return self.__pydantic_serializer__.to_json(self)

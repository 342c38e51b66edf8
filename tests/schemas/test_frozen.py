"""What every schema has in common."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_chalk.schemas.frozen import Frozen, JsonObject, Text


class Named(Frozen):
    name: Text = ""
    size: float = 0.0
    extras: JsonObject | None = None


def test_a_value_cannot_be_changed():
    value = Named(name="a")

    with pytest.raises(ValidationError, match="frozen"):
        value.name = "b"


def test_a_field_that_the_schema_does_not_know_is_refused():
    with pytest.raises(ValidationError, match="nmae"):
        Named(nmae="a")


@pytest.mark.parametrize("size", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(size):
    with pytest.raises(ValidationError, match="finite"):
        Named(size=size)


def test_text_and_objects_are_kept_as_json_can_hold_them():
    value = Named(name="a\udcff", extras={"b\udcff": (float("inf"),)})

    assert value == Named(name=r"a\udcff", extras={r"b\udcff": ["inf"]})
    assert Named.model_validate_json(value.model_dump_json()) == value

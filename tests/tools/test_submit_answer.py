from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_chalk.authoring.tool import ToolRefusalError
from pytest_chalk.sandbox import Box
from pytest_chalk.tools.registry import Toolbox, tool_names
from pytest_chalk.tools.submit_answer import MAX_ANSWER_CHARS, SubmitAnswerTool

NO_BOX = cast("Box", SimpleNamespace(reaped=[]))


def submit(**arguments: Any):
    return SubmitAnswerTool().call(arguments, time_limit_s=None)


def test_an_answer_has_a_name_of_its_own_or_the_usual_one():
    assert submit(answer="42").answers == {"answer": "42"}
    assert submit(name="total", answer=" 42\n").answers == {"total": " 42\n"}
    assert submit(name="total", answer="42").text == "The answer 'total' was handed in."


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "answer must be a text"),
        ({"answer": 42}, "answer must be a text"),
        ({"answer": " "}, "answer must be a text"),
        ({"answer": "x", "name": ""}, "name must be a text"),
        ({"answer": "x", "name": "n" * 101}, "name has 101 characters"),
        ({"answer": "x" * (MAX_ANSWER_CHARS + 1)}, "at most 100000"),
        ({"answer": "x", "text": "y"}, "not text"),
    ],
)
def test_what_is_no_answer_is_refused(arguments: dict[str, Any], why: str):
    with pytest.raises(ToolRefusalError, match=why):
        submit(**arguments)


def test_every_built_in_tool_describes_itself_to_the_model():
    toolbox = Toolbox.open("task 'x'", tool_names(), NO_BOX)

    for schema in toolbox.schemas:
        assert schema.description
        assert schema.parameters["type"] == "object"
        assert schema.parameters["additionalProperties"] is False
        for parameter in schema.parameters["properties"].values():
            assert parameter["description"]

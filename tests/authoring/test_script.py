"""Turns of a scripted student."""

from __future__ import annotations

import json

from pytest_chalk.authoring.script import Call, call


def test_a_call_names_its_tool_and_takes_the_arguments_by_name():
    assert call("bash", command="ls") == Call(tool="bash", arguments={"command": "ls"})


def test_a_tool_may_have_an_argument_called_tool():
    assert call("run", tool="hammer").arguments == {"tool": "hammer"}


def test_arguments_are_json_as_a_model_writes_it():
    assert json.loads(call("bash", command="ls", timeout_s=1.5).arguments_json) == {
        "command": "ls",
        "timeout_s": 1.5,
    }

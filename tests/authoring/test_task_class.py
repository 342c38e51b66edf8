"""What a task class must be, checked when it is defined and when it is built."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import pytest

from pytest_chalk import Step, Task
from pytest_chalk.schemas.run_config import RunConfig

PLACEHOLDER = RunConfig.placeholder()
PROPERTIES = [
    "data_mounts",
    "required_hardware",
    "steps",
    "submission_paths",
    "system_prompt",
    "tools",
]


def whole(**members):
    """Return the members of a task that has all it needs."""
    return {"system_prompt": None, "steps": (), "tools": ()} | members


def step_with(paths):
    members = {"instructions": "", "judge": None, "submission_paths": paths}
    return type("MadeStep", (Step,), members)(PLACEHOLDER)


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_plain_method_in_place_of_a_property_is_refused_when_the_class_is_defined(name):
    with pytest.raises(TypeError, match=f"'{name}' is a plain method.*@property"):
        type("Wrong", (Task,), whole(**{name: lambda _: None}))


def test_the_message_names_the_class_and_shows_the_property():
    with pytest.raises(TypeError) as refused:

        class Wrong(Task):
            def tools(self):
                return []

    assert f"{__name__}.test_the_message" in str(refused.value)
    assert "Wrong: 'tools'" in str(refused.value)
    assert "@property\n    def tools(self)" in str(refused.value)


def test_of_several_plain_methods_the_first_by_name_is_reported():
    with pytest.raises(TypeError, match="'steps'"):
        type("Wrong", (Task,), {"tools": lambda _: [], "steps": lambda _: []})


def test_an_async_method_in_place_of_a_property_is_refused():
    async def steps(_):
        return []

    with pytest.raises(TypeError, match="'steps'"):
        type("Wrong", (Task,), whole(steps=steps))


@pytest.mark.parametrize("name", PROPERTIES)
def test_values_and_descriptors_are_as_good_as_properties(name):
    for accepted in (None, [], property(lambda _: []), cached_property(lambda _: [])):
        type("Fine", (Task,), whole(**{name: accepted}))


def test_methods_that_are_no_properties_may_be_overridden():
    made = type("Fine", (Task,), whole(pre_hook=lambda _: {"seed": 7}))(PLACEHOLDER)

    assert made.pre_hook() == {"seed": 7}


def test_a_subclass_of_a_task_is_checked_too():
    base = type("Base", (Task,), whole())

    with pytest.raises(TypeError, match="'tools'"):
        type("Derived", (base,), {"tools": lambda _: []})


def test_a_class_that_lacks_members_cannot_be_built_and_the_message_names_them_all():
    made = type("Bare", (Task,), {"tools": ()})

    with pytest.raises(TypeError, match=r"does not implement steps, system_prompt\.") as refused:
        made(PLACEHOLDER)

    assert "return None from system_prompt" in str(refused.value)


@pytest.mark.parametrize(
    "build", [lambda cls: cls(PLACEHOLDER), lambda cls: cls(config=PLACEHOLDER)]
)
def test_a_task_reads_the_config_it_was_built_with(build):
    assert build(type("Fine", (Task,), whole())).config is PLACEHOLDER


def test_what_a_task_does_not_say_has_a_default():
    made = type("Fine", (Task,), whole())(PLACEHOLDER)

    assert (made.id, made.required_hardware, made.data_mounts) == ("", None, [])
    assert (made.pre_hook(), made.configure_tools()) == ({}, None)


def test_submission_paths_are_those_of_all_steps_each_once_in_order():
    a, b = Path("/data/a"), Path("/data/b")
    steps = property(lambda _: [step_with((b, a)), step_with(None), step_with((a,))])

    made = type("Fine", (Task,), whole(steps=steps))(PLACEHOLDER)

    assert made.submission_paths == (b, a)


def test_submission_paths_may_come_from_a_generator_of_steps():
    steps = property(lambda _: (step_with((Path("/a"),)) for _ in range(2)))

    made = type("Fine", (Task,), whole(steps=steps))(PLACEHOLDER)

    assert made.submission_paths == (Path("/a"),)

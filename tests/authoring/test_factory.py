"""Tasks from values and functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chalk import Step, StepConfig, Task, create_task
from pytest_chalk.judges import AlwaysPassJudge
from pytest_chalk.schemas.data_mount import DataMount
from pytest_chalk.schemas.run_config import RunConfig

PLACEHOLDER = RunConfig.placeholder()
JUDGE = AlwaysPassJudge()
STEP = StepConfig(instructions="Do it.", judge=JUDGE)


def task_class(*steps, **members):
    given = {"id": "my-task", "tools": ["bash"], "system_prompt": None}
    return create_task(**given | {"steps": list(steps)} | members)


def config(task_id="t"):
    return RunConfig(run_id="r", task_id=task_id, model="m")


def test_the_class_is_a_task_of_the_calling_module_named_after_its_id():
    made = task_class(STEP)

    assert issubclass(made, Task)
    assert (made.__module__, made.__name__, made.id) == (__name__, "my_task", "my-task")


def test_values_are_what_the_task_says():
    mount = DataMount(name="n", version="1", container_path="/d")
    made = task_class(STEP, required_hardware="my-gpu", data_mounts=[mount])(PLACEHOLDER)

    assert (made.tools, made.system_prompt) == (["bash"], None)
    assert (made.required_hardware, made.data_mounts) == ("my-gpu", [mount])


def test_what_is_not_given_is_as_on_any_task():
    made = task_class(STEP)(PLACEHOLDER)

    assert (made.required_hardware, made.data_mounts, made.pre_hook()) == (None, [], {})
    assert made.configure_tools() is None


@pytest.mark.parametrize("prompt", [None, "", "Be brief."])
def test_a_system_prompt_is_a_value_or_a_function_of_the_config(prompt):
    assert task_class(STEP, system_prompt=prompt)(PLACEHOLDER).system_prompt == prompt
    assert task_class(STEP, system_prompt=lambda _: prompt)(PLACEHOLDER).system_prompt == prompt


def test_a_system_prompt_must_be_given():
    with pytest.raises(TypeError, match="system_prompt"):
        create_task(id="my-task", tools=[], steps=[])


def test_step_classes_are_numbered_and_belong_to_the_calling_module():
    first, second = (type(step) for step in task_class(STEP, STEP)(PLACEHOLDER).steps)

    assert (first.__name__, second.__name__) == ("step_1", "step_2")
    assert first.__module__ == __name__


def test_each_reading_of_steps_gives_fresh_ones_that_share_the_tasks_config():
    made = task_class(STEP)(PLACEHOLDER)

    (one,), (other,) = made.steps, made.steps

    assert isinstance(one, Step)
    assert one is not other
    assert one.config is PLACEHOLDER


def test_instructions_and_judge_are_values_or_functions_of_the_config():
    step = StepConfig(instructions=lambda c: f"Do {c.task_id}.", judge=lambda _: JUDGE)
    made = task_class(STEP, step)

    fixed, dependent = made(config("this")).steps

    assert (fixed.instructions, fixed.judge) == ("Do it.", JUDGE)
    assert (dependent.instructions, dependent.judge) == ("Do this.", JUDGE)


def test_a_judge_that_can_be_called_is_still_a_judge():
    class Callable(AlwaysPassJudge):
        def __call__(self, _):
            raise AssertionError

    judge = Callable()

    (step,) = task_class(StepConfig(instructions="", judge=judge))(PLACEHOLDER).steps

    assert step.judge is judge


def test_hooks_get_the_config():
    seen = []
    step = StepConfig(
        instructions="",
        judge=JUDGE,
        pre_scoring_hook=lambda c: seen.append(("pre", c.task_id)),
        post_hook=lambda c: seen.append(("post", c.task_id)),
    )
    made = task_class(step, pre_hook=lambda c: {"task": c.task_id})(config("this"))
    (made_step,) = made.steps

    made_step.pre_scoring_hook()
    made_step.post_hook()

    assert made.pre_hook() == {"task": "this"}
    assert seen == [("pre", "this"), ("post", "this")]


def test_configure_tools_is_called_without_arguments():
    calls = []

    task_class(STEP, configure_tools=lambda: calls.append("called"))(PLACEHOLDER).configure_tools()

    assert calls == ["called"]


def test_a_step_keeps_its_name_pass_score_solution_and_paths():
    paths = (Path("/data/a"),)
    step = StepConfig(
        instructions="",
        judge=JUDGE,
        name="write",
        pass_score=0.5,
        solution="true",
        submission_paths=paths,
    )

    (made,) = task_class(step)(PLACEHOLDER).steps

    assert (made.name, made.pass_score, made.solution) == ("write", 0.5, "true")
    assert made.submission_paths == paths


def test_a_step_without_hooks_does_nothing_there():
    (step,) = task_class(STEP)(PLACEHOLDER).steps

    assert (step.pre_scoring_hook(), step.post_hook()) == (None, None)


def test_wrong_submission_paths_are_refused_at_once_naming_task_and_step():
    step = StepConfig(instructions="", judge=JUDGE, submission_paths=(Path("a"),))

    with pytest.raises(ValueError, match=rf"{__name__}\.my_task\.step_2: submission_paths"):
        task_class(STEP, step)


def test_a_list_of_tools_changed_by_one_run_does_not_change_the_next():
    made = task_class(STEP)

    made(PLACEHOLDER).tools.append("python")

    assert made(PLACEHOLDER).tools == ["bash"]


def test_tasks_made_in_a_loop_keep_their_own_steps():
    made = [
        task_class(StepConfig(instructions=f"Do {n}.", judge=JUDGE), id=f"task-{n}")
        for n in range(2)
    ]

    texts = [step.instructions for cls in made for step in cls(PLACEHOLDER).steps]

    assert texts == ["Do 0.", "Do 1."]


def test_step_configs_take_names_only():
    with pytest.raises(TypeError, match="positional"):
        StepConfig("Do it.", JUDGE)

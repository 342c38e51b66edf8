"""The run config: limits by step, and the keys of `extra_config` that the package knows."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_chalk.schemas.run_config import EvaluationRunConfig, RunConfig

EXTRA, OVERRIDE = "extra_task_instructions", "task_instructions_override"


def config(**fields):
    return RunConfig(run_id="r", task_id="t", model="m", **fields)


@pytest.mark.parametrize(
    ("given", "by_step"),
    [
        (None, [None, None, None]),
        (30, [30.0, 30.0, 30.0]),
        (0.5, [0.5, 0.5, 0.5]),
        ([10, 20], [10.0, 20.0, None]),
        ([], [None, None, None]),
    ],
)
def test_a_time_limit_holds_for_all_steps_or_step_by_step(given, by_step):
    limited = config(step_time_limit_seconds=given)

    assert [limited.resolve_step_time_limit(step) for step in range(3)] == by_step


@pytest.mark.parametrize(
    ("given", "by_step"), [(None, [None, None]), (8000, [8000, 8000]), ([8000], [8000, None])]
)
def test_a_context_limit_holds_for_all_steps_or_step_by_step(given, by_step):
    limited = config(step_context_window_limit=given)

    assert [limited.resolve_step_context_window_limit(step) for step in range(2)] == by_step


@pytest.mark.parametrize(
    "limits",
    [
        {"turn_limit": 0},
        {"turn_limit": -1},
        {"step_time_limit_seconds": 0},
        {"step_time_limit_seconds": [10, -1]},
        {"step_time_limit_seconds": float("inf")},
        {"step_time_limit_seconds": float("nan")},
        {"step_context_window_limit": 0},
        {"step_context_window_limit": [1, 0]},
    ],
)
def test_a_limit_that_nothing_could_keep_is_refused(limits):
    with pytest.raises(ValidationError, match=next(iter(limits))):
        config(**limits)


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        (None, ["do", "do"]),
        ({}, ["do", "do"]),
        ({EXTRA: "more"}, ["do\n\nmore", "do\n\nmore"]),
        ({EXTRA: ["one", "two"]}, ["do\n\none", "do\n\ntwo"]),
        ({EXTRA: ["one"]}, ["do\n\none", "do"]),
        ({EXTRA: ""}, ["do", "do"]),
        ({EXTRA: ["", "two"]}, ["do", "do\n\ntwo"]),
        ({OVERRIDE: "this"}, ["this", "this"]),
        ({OVERRIDE: ""}, ["", ""]),
        ({OVERRIDE: ["this", "that"]}, ["this", "that"]),
        ({OVERRIDE: ["this"]}, ["this", "do"]),
        ({OVERRIDE: "this", EXTRA: "more"}, ["this", "this"]),
        ({OVERRIDE: ["this"], EXTRA: "more"}, ["this", "do\n\nmore"]),
    ],
)
def test_instructions_are_replaced_or_added_to_step_by_step(extra, told):
    made = config(extra_config=extra)

    assert [made.resolve_step_instructions("do", step) for step in range(2)] == told


@pytest.mark.parametrize("key", [EXTRA, OVERRIDE, "extra_artifact_paths"])
@pytest.mark.parametrize("value", [1, {}, [1], ["a", None], True, ("a",)])
def test_a_known_key_that_is_no_text_and_no_list_of_texts_is_refused(key, value):
    with pytest.raises(ValidationError, match=f"{key} is a string or list of strings"):
        config(extra_config={key: value})


@pytest.mark.parametrize(
    ("extra", "paths"),
    [
        (None, []),
        ({}, []),
        ({"extra_artifact_paths": "/a"}, ["/a"]),
        ({"extra_artifact_paths": ["/a", "/b"]}, ["/a", "/b"]),
        ({"extra_artifact_paths": []}, []),
    ],
)
def test_extra_artifact_paths_are_a_list_however_they_were_given(extra, paths):
    assert config(extra_config=extra).extra_artifact_paths == paths


def test_a_tasks_own_keys_pass_through_unchanged():
    extra = {"difficulty": "hard", "sizes": [1, (2, 3)], "nested": {"a": None}}

    assert config(extra_config=extra).extra_config == extra


def test_fields_of_other_systems_are_ignored_and_not_kept():
    made = RunConfig.model_validate(
        {"run_id": "r", "task_id": "t", "model": "m", "websocket_config": {"port": 1}}
    )

    assert made == config()
    assert "websocket_config" not in made.model_dump()


@pytest.mark.parametrize("field", ["run_id", "task_id", "model"])
def test_run_task_and_model_must_be_named(field):
    named = {"run_id": "r", "task_id": "t", "model": "m"}
    del named[field]

    with pytest.raises(ValidationError, match=field):
        RunConfig(**named)


def test_the_placeholder_names_nothing_and_limits_nothing():
    placeholder = RunConfig.placeholder()

    assert (placeholder.run_id, placeholder.task_id, placeholder.model) == ("", "", "")
    assert placeholder.resolve_step_time_limit(0) is None


@pytest.mark.parametrize(
    "field", ["on_limit", "on_step_time_limit", "on_step_context_window_limit"]
)
def test_a_limit_scores_or_is_an_error_and_nothing_else(field):
    with pytest.raises(ValidationError, match=field):
        config(**{field: "ignore"})


def test_by_default_hints_are_given_and_limits_score():
    made = config()

    assert (made.use_hints, made.on_limit, made.on_step_time_limit) == (True, "score", None)


def test_a_config_read_back_from_json_is_the_same():
    made = config(
        extra_config={EXTRA: ["a"], "own": {"x": 1.5}},
        step_time_limit_seconds=[1, 2.5],
        on_step_time_limit="error",
        temperature=0.0,
    )

    assert RunConfig.model_validate_json(made.model_dump_json()) == made


def test_the_seeds_name_of_the_config_is_the_same_class():
    assert EvaluationRunConfig is RunConfig

"""What a step class must be: its submission paths above all."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path

import pytest

from pytest_chalk import Step
from pytest_chalk.schemas.run_config import RunConfig

PLACEHOLDER = RunConfig.placeholder()
ABSOLUTE = (Path("/data/answer.txt"),)
WRONG = [
    ([Path("/a")], TypeError, "must be a tuple of paths, got list"),
    (Path("/a"), TypeError, "must be a tuple of paths, got"),
    ("/a", TypeError, "must be a tuple of paths, got str"),
    ((Path("a"),), ValueError, "must be absolute, got 'a'"),
    (("/a",), ValueError, r"must be absolute, got '/a' \(str\)"),
    ((Path("/a"), None), ValueError, "must be absolute, got 'None'"),
]


def step_class(base=Step, **members):
    return type("MadeStep", (base,), {"instructions": "", "judge": None} | members)


def read_paths(paths):
    return step_class(submission_paths=paths)(PLACEHOLDER).submission_paths


def test_a_step_hands_in_nothing_unless_it_says_so():
    assert step_class()(PLACEHOLDER).submission_paths is None


@pytest.mark.parametrize("paths", [None, (), ABSOLUTE])
def test_submission_paths_may_be_a_class_attribute_or_a_property(paths):
    assert read_paths(paths) == paths
    assert read_paths(property(lambda _: paths)) == paths
    assert read_paths(cached_property(lambda _: paths)) == paths


@pytest.mark.parametrize(("paths", "error", "message"), WRONG)
def test_a_wrong_class_attribute_is_refused_when_the_class_is_defined(paths, error, message):
    with pytest.raises(error, match=message):
        step_class(submission_paths=paths)


@pytest.mark.parametrize("kind", [property, cached_property])
@pytest.mark.parametrize(("paths", "error", "message"), WRONG)
def test_a_wrong_property_is_refused_each_time_it_is_read(paths, error, message, kind):
    made = step_class(submission_paths=kind(lambda _: paths))(PLACEHOLDER)

    for _ in range(2):
        with pytest.raises(error, match=message):
            _ = made.submission_paths


def test_the_message_names_the_class_that_declares_the_paths():
    with pytest.raises(ValueError, match=rf"{__name__}\.MadeStep: submission_paths"):
        step_class(submission_paths=(Path("a"),), __module__=__name__)


def test_a_plain_method_for_submission_paths_is_refused_when_the_class_is_defined():
    with pytest.raises(TypeError, match="missing the @property decorator"):
        step_class(submission_paths=lambda _: ABSOLUTE)


def test_only_submission_paths_are_checked_for_a_forgotten_property():
    made = step_class(instructions=lambda _: "Do it.")(PLACEHOLDER)

    assert made.instructions() == "Do it."


def test_an_abstract_property_stays_abstract():
    paths = property(abstractmethod(lambda _: ABSOLUTE))
    made = step_class(submission_paths=paths)

    assert made.submission_paths is paths
    with pytest.raises(TypeError, match="abstract"):
        made(PLACEHOLDER)


def test_setter_deleter_and_doc_of_a_property_are_kept():
    class Kept(step_class()):
        written = ABSOLUTE

        @property
        def submission_paths(self):
            """Where the answer goes."""
            return self.written

        @submission_paths.setter
        def submission_paths(self, paths):
            self.written = paths

        @submission_paths.deleter
        def submission_paths(self):
            self.written = None

    step = Kept(PLACEHOLDER)
    step.submission_paths = (Path("/other"),)

    assert Kept.submission_paths.__doc__ == "Where the answer goes."
    assert step.submission_paths == (Path("/other"),)
    del step.submission_paths
    assert step.submission_paths is None


def test_a_cached_property_is_computed_once():
    calls = []
    paths = cached_property(lambda _: calls.append(1) or ABSOLUTE)
    made = step_class(submission_paths=paths)(PLACEHOLDER)

    assert (made.submission_paths, made.submission_paths) == (ABSOLUTE, ABSOLUTE)
    assert calls == [1]


def test_a_subclass_may_put_a_value_in_place_of_its_parents_property():
    base = step_class(submission_paths=property(lambda _: ABSOLUTE))

    assert step_class(base, submission_paths=None)(PLACEHOLDER).submission_paths is None


@pytest.mark.parametrize("lacking", ["instructions", "judge"])
def test_a_step_without_instructions_or_judge_cannot_be_built(lacking):
    members = {"instructions": "", "judge": None}
    del members[lacking]

    with pytest.raises(TypeError, match=lacking):
        type("Bare", (Step,), members)(PLACEHOLDER)


@pytest.mark.parametrize(
    "build", [lambda cls: cls(PLACEHOLDER), lambda cls: cls(config=PLACEHOLDER)]
)
def test_a_step_reads_the_config_it_was_built_with(build):
    assert build(step_class()).config is PLACEHOLDER


def test_the_hooks_do_nothing_by_themselves():
    made = step_class()(PLACEHOLDER)

    assert (made.pre_scoring_hook(), made.post_hook()) == (None, None)


@pytest.mark.parametrize("score", [None, 0, 1, 0.5, property(lambda _: 0.5)])
def test_a_pass_score_is_a_number_or_left_to_the_options(score):
    step_class(pass_score=score)


@pytest.mark.parametrize("score", ["0.5", True, float("nan"), float("inf"), 10**400, [0.5]])
def test_a_pass_score_that_is_no_finite_number_is_refused_when_the_class_is_defined(score):
    with pytest.raises(TypeError, match="MadeStep: pass_score must be a finite number or None"):
        step_class(pass_score=score)

"""The version of a function: what changes it and what does not."""

from __future__ import annotations

import textwrap

import pytest

from pytest_chalk.authoring.function import function

BASE = """
import math
import re

FACTOR = 2
WORDS = ["a", "b"]
PATTERN = re.compile("x")
calls = 0

class Helper:
    def ask(self, x):
        return x

def helper(x):
    return x * FACTOR

def task(x, y=1):
    '''Say something.'''
    global calls
    calls += 1
    # a comment
    return helper(x) + y + len(WORDS) + len(PATTERN.pattern) + math.pi + Helper().ask(x)
"""


def defined(tmp_path, text, name="one"):
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    namespace = {"__name__": name}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


def version(tmp_path, text, name="one"):
    return function(defined(tmp_path, text, name)["task"]).version_id


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+ y", "- y"),
        ("y=1", "y=2"),
        ("FACTOR = 2", "FACTOR = 3"),
        ('"a", "b"', '"a", "c"'),
        ('compile("x")', 'compile("y")'),
        ("x * FACTOR", "x / FACTOR"),
        ("return x\n\ndef", "return -x\n\ndef"),
        ("math.pi", "math.e"),
    ],
)
def test_what_changes_what_a_function_does_changes_its_version(tmp_path, old, new):
    assert old in BASE
    assert version(tmp_path, BASE) != version(tmp_path, BASE.replace(old, new), "two")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another"),
        ("'''Say something.'''", "'''Say more.'''"),
        ("calls = 0", "calls = 7"),
        ("    # a comment\n", "\n\n"),
        ("FACTOR = 2", "FACTOR = 2\nUNUSED = 1"),
    ],
)
def test_what_changes_nothing_keeps_the_version(tmp_path, old, new):
    assert old in BASE
    assert version(tmp_path, BASE) == version(tmp_path, BASE.replace(old, new), "two")


def test_calls_that_count_themselves_keep_the_version(tmp_path):
    namespace = defined(tmp_path, BASE)
    made = function(namespace["task"])
    before = made.version_id

    made(1)
    namespace["WORDS"].append("seen")

    assert namespace["calls"] == 1
    assert made.version_id == before


def test_a_constant_that_is_set_anew_is_seen(tmp_path):
    namespace = defined(tmp_path, BASE)
    made = function(namespace["task"])
    before = made.version_id

    namespace["FACTOR"] = 5

    assert made.version_id != before


def test_a_file_that_is_edited_while_it_runs_is_not_what_runs(tmp_path):
    namespace = defined(tmp_path, "def task(x):\n    return x + 1\n")
    made = function(namespace["task"])
    before = made.version_id

    (tmp_path / "one.py").write_text("def task(x):\n    return x + 2000\n")

    assert made.version_id == before


def test_variables_of_an_outer_function_count():
    def outer(limit):
        def inner(x):
            return x > limit

        return function(inner).version_id

    assert outer(1) == outer(1)
    assert outer(1) != outer(2)


def test_functions_that_call_each_other_have_a_version(tmp_path):
    text = "def other(x):\n    return task(x)\n\ndef task(x):\n    return other(x)\n"

    assert version(tmp_path, text) == version(tmp_path, text, "two")


def test_a_function_without_source_has_a_version():
    namespace: dict = {}
    exec("def task(x):\n    return x + 1\ndef other(x):\n    return x + 2", namespace)

    versions = [function(namespace[name]).version_id for name in ("task", "other")]

    assert len(set(versions)) == 2


@pytest.mark.parametrize("options", [{"retries": -1}, {"call_timeout": 0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="retries"):
        function(**options)


def test_lambdas_on_one_line_are_told_apart():
    made = [function(each) for each in (lambda n: n, lambda m: m, lambda n: n + 1, lambda n: n)]

    versions = [each.version_id for each in made]
    assert len(set(versions)) == 3
    assert versions[0] == versions[3]

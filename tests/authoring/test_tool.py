"""What a tool answers."""

from __future__ import annotations

from pytest_chalk.authoring.tool import ToolAnswer


def test_an_answer_is_no_error_and_has_no_details_unless_it_says_so():
    answer = ToolAnswer("done")

    assert (answer.is_error, answer.details) == (False, {})

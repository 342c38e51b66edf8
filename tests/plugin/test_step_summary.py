"""The summary of a job on GitHub Actions."""

from __future__ import annotations

import pytest
from plugin.conftest import Project


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_table_is_appended_where_the_variable_is_set(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: str
):
    project.task("one", 'A = task("a", step("s", Score(0.5)))\nB = task("b", step("s", Score(0)))')
    summary = project.file("summary.md", "before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    result = project.run_with(workers)

    assert result.ret == 1
    lines = summary.read_text().splitlines()
    assert lines[:2] == ["before", "### Agent tasks: gate failed"]
    assert any(line.startswith("| a | oracle | 0.50 partial | 1/1 | 1 | - | 0.") for line in lines)
    assert "mean 0.250 over 2 scored of 2" in lines
    assert "- not every task passed: 1 failed" in lines


def test_a_file_that_cannot_be_written_is_no_failure(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", 'A = task("a", step("s", Score(1)))')
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/nonexistent/summary.md")

    assert project.run().ret == 0


def test_nothing_is_written_where_nothing_ran(project: Project, monkeypatch: pytest.MonkeyPatch):
    project.task("one", 'A = task("a", step("s", Score(1)))')
    summary = project.file("summary.md", "")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    project.run("--collect-only")

    assert summary.read_text() == ""

from __future__ import annotations

import errno
import math
import os
import resource
from pathlib import Path

import pytest

from pytest_chalk.errors import MachineError, TaskDefinitionError
from pytest_chalk.judges import FileJudge
from pytest_chalk.judges.file import MAX_FILE_BYTES
from pytest_chalk.schemas.transcript import Transcript

EMPTY = Transcript(run_id="r")


def judged(path, expected, **options):
    return FileJudge(path, expected, **options).evaluate(EMPTY)


@pytest.fixture
def copy(tmp_path):
    path = tmp_path / "answer.txt"
    path.write_text("42\n")
    return path


@pytest.mark.parametrize(
    ("expected", "compare"), [("42", "text"), ("42\n", "exact"), (42, "json"), (42.0, "number")]
)
def test_a_file_that_is_as_expected_scores_1_and_goes_on(copy, expected, compare):
    scoring = judged(copy, expected, compare=compare)

    assert (scoring.score, scoring.continue_task) == (1.0, True)
    assert scoring.metadata == {"compared": compare}


def test_a_file_that_is_not_scores_0_and_tells_where(copy):
    scoring = judged(copy, "41")

    assert (scoring.score, scoring.continue_task, scoring.void) == (0.0, False, None)
    assert scoring.metadata["error"] == "'answer.txt' differs in line 1: found '42', expected '41'"


@pytest.mark.parametrize(
    ("compare", "content"), [("text", "42"), ("exact", "42\n"), ("json", "42"), ("number", "42")]
)
def test_what_is_expected_may_be_a_file(copy, tmp_path, compare, content):
    expected = tmp_path / "expected"
    expected.write_text(content)

    assert judged(copy, expected, compare=compare).score == 1.0


def test_a_submission_that_was_never_written_fails(tmp_path):
    scoring = judged(tmp_path / "none.txt", "42")

    assert (scoring.score, scoring.void) == (0.0, None)
    assert scoring.metadata["error"] == "'none.txt' was not handed in"


def make_fifo(path: Path):
    os.mkfifo(path)


def make_link(path: Path):
    path.symlink_to("/etc/hostname")


def make_large(path: Path):
    path.touch()
    os.truncate(path, 1 << 40)  # nothing that memory could hold


def make_too_large(path: Path):
    path.write_bytes(b"4" * (MAX_FILE_BYTES + 1))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (make_fifo, "is a link, a folder or a special file"),
        (Path.mkdir, "is a link, a folder or a special file"),
        (make_link, "is a link, a folder or a special file"),
        (make_large, "is larger than"),
        (make_too_large, "is larger than"),
    ],
)
def test_what_is_no_plain_file_fails_at_once(tmp_path, make, reason):
    path = tmp_path / "answer"
    make(path)

    scoring = judged(path, "42")

    assert (scoring.score, scoring.void) == (0.0, None)
    assert reason in scoring.metadata["error"]


def test_a_machine_that_cannot_open_the_copy_gives_no_score(copy):
    # No descriptor is left, as in a harness that leaks them: the answer may well be right.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    judge = FileJudge(copy, "42")
    assert judge.evaluate(EMPTY).score == 1.0
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(MachineError, match="cannot be opened"):
            judge.evaluate(EMPTY)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.ESTALE])
def test_a_copy_that_this_machine_denies_gives_no_score(copy, monkeypatch, number):
    # Root is denied nothing by a mode, so that it is the open which says so.
    def denied(*_args, **_options):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", denied)

    with pytest.raises(MachineError, match=f"cannot be opened: {os.strerror(number)}"):
        judged(copy, "42")


def test_a_file_where_a_folder_should_be_scores_0(copy):
    scoring = judged(copy / "inner", "42")

    assert (scoring.score, scoring.void) == (0.0, None)
    assert "cannot be read: Not a directory" in scoring.metadata["error"]


def test_an_expectation_that_cannot_be_used_is_the_authors_error(copy, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    for expected, compare in [(None, "text"), (tmp_path / "none", "text"), (bad, "json")]:
        with pytest.raises(TaskDefinitionError, match="what is expected cannot be used"):
            judged(copy, expected, compare=compare)


@pytest.mark.parametrize(
    "options",
    [{"compare": "fuzzy"}, {"tolerance": -1}, {"tolerance": "x"}, {"tolerance": math.inf}],
)
def test_a_comparison_that_does_not_exist_is_refused_when_the_judge_is_built(options):
    with pytest.raises(TaskDefinitionError, match="FileJudge"):
        FileJudge("answer.txt", "42", **options)

"""Where a session keeps what it measured."""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_chalk.errors import MachineError, RunOptionError
from pytest_chalk.store.journal import Journal
from pytest_chalk.store.session_directory import (
    NAME_MAX_CHARS,
    UNUSED_S,
    SessionDirectory,
    file_name,
    find_session,
    new_session_id,
)


def session(tmp_path, session_id="20260101T000000Z-abcdef"):
    return SessionDirectory(tmp_path / ".chalk", session_id)


def opened(tmp_path, number):
    made = session(tmp_path, f"2026010{number}T000000Z-abcdef")
    made.open()
    made.journal.touch()
    return made


def mode(path):
    return path.stat().st_mode & 0o777


def kept(tmp_path):
    return sorted(path.name[7] for path in (tmp_path / ".chalk" / "sessions").iterdir())


def test_nothing_is_made_before_it_is_asked_for(tmp_path):
    made = session(tmp_path)

    assert made.journal.name == "journal.jsonl"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("base_is_there", [False, True])
def test_every_directory_of_a_session_is_ours_alone(tmp_path, base_is_there):
    made = session(tmp_path)
    if base_is_there:
        made.base.mkdir(mode=0o755)

    run = made.run_directory("r")
    made.open()

    for directory in (made.base / "sessions", made.path, made.path / "runs", run):
        assert mode(directory) == 0o700
    assert mode(made.base) == (0o755 if base_is_there else 0o700)


def test_git_sees_nothing_of_it(tmp_path):
    session(tmp_path).open()

    assert "\n*\n" in (tmp_path / ".chalk" / ".gitignore").read_text()


def test_a_directory_that_holds_other_things_is_not_hidden_from_git(tmp_path):
    (tmp_path / "code.py").touch()

    SessionDirectory(tmp_path, "s").open()

    assert not (tmp_path / ".gitignore").exists()


def test_a_users_own_gitignore_is_left_alone(tmp_path):
    (tmp_path / ".chalk").mkdir()
    (tmp_path / ".chalk" / ".gitignore").write_text("mine")

    session(tmp_path).open()

    assert (tmp_path / ".chalk" / ".gitignore").read_text() == "mine"


def test_latest_points_to_the_session_opened_last(tmp_path):
    opened(tmp_path, 1)
    second = opened(tmp_path, 2)

    assert (tmp_path / ".chalk" / "latest").resolve() == second.path
    assert (tmp_path / ".chalk" / "latest").readlink() == Path("sessions", second.session_id)


def test_a_latest_that_cannot_be_replaced_breaks_nothing(tmp_path):
    (tmp_path / ".chalk" / "latest" / "full").mkdir(parents=True)

    made = opened(tmp_path, 1)

    assert made.path.is_dir()


def test_pruning_keeps_the_newest_this_one_included(tmp_path):
    *_, newest = [opened(tmp_path, number) for number in range(1, 6)]

    newest.prune(3)

    assert kept(tmp_path) == ["3", "4", "5"]


@pytest.mark.parametrize("keep", [0, 1])
def test_pruning_never_removes_its_own_session(tmp_path, keep):
    oldest, *_ = [opened(tmp_path, number) for number in range(1, 4)]

    oldest.prune(keep)

    assert kept(tmp_path) == ["1"]


def test_pruning_leaves_a_session_that_still_runs(tmp_path):
    running, _, newest = [opened(tmp_path, number) for number in range(1, 4)]
    journal = Journal(running.journal)

    newest.prune(1)
    while_running = kept(tmp_path)
    journal.close()
    newest.prune(1)

    assert while_running == ["1", "3"]
    assert kept(tmp_path) == ["3"]


def of_evaluations(tmp_path, number, age_s):
    made = session(tmp_path, f"2026010{number}T000000Z-abcdef")
    made.spending_path().touch()
    os.utime(made.path, (datetime.now(UTC).timestamp() - age_s,) * 2)


def test_sessions_without_a_journal_push_no_session_of_tasks_out(tmp_path):
    *_, newest = [opened(tmp_path, number) for number in (1, 2, 9)]
    for number in range(3, 9):
        of_evaluations(tmp_path, number, age_s=2 * UNUSED_S)

    newest.prune(3)

    assert set(kept(tmp_path)) >= {"1", "2", "9"}


def test_sessions_without_a_journal_go_with_those_of_their_time(tmp_path):
    *_, newest = [opened(tmp_path, number) for number in (2, 4, 6)]
    for number in (1, 3, 5):
        of_evaluations(tmp_path, number, age_s=2 * UNUSED_S)

    newest.prune(2)

    assert kept(tmp_path) == ["4", "5", "6"]


def test_a_session_without_a_journal_that_may_still_run_stays(tmp_path):
    of_evaluations(tmp_path, 1, age_s=UNUSED_S / 2)

    opened(tmp_path, 2).prune(1)

    assert kept(tmp_path) == ["1", "2"]


def test_pruning_before_anything_is_made_does_nothing(tmp_path):
    session(tmp_path).prune(3)

    assert list(tmp_path.iterdir()) == []


def test_pruning_leaves_stray_files_alone(tmp_path):
    made = opened(tmp_path, 1)
    stray = made.path.parent / "0-notes.txt"
    stray.touch()

    made.prune(1)

    assert stray.exists()


def test_a_place_that_cannot_be_had_is_a_machine_error(tmp_path):
    (tmp_path / ".chalk").touch()

    for make in (session(tmp_path).open, lambda: session(tmp_path).run_directory("r")):
        with pytest.raises(MachineError, match="choose another place with --chalk-session-dir"):
            make()


def test_session_ids_sort_by_time_and_differ_within_a_second():
    ids = [new_session_id() for _ in range(50)]

    assert len(set(ids)) == 50
    assert all(re.fullmatch(r"\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{6}", i) for i in ids)
    assert [i[:20] for i in ids] == sorted(i[:20] for i in ids)


def test_of_two_sessions_of_one_second_the_later_sorts_last():
    for _ in range(5):
        earlier = new_session_id()
        time.sleep(0.002)

        assert earlier < new_session_id()


@pytest.mark.parametrize("text", ["find-python-oracle-1a2b3c4d", "a.b_c-D", "x" * NAME_MAX_CHARS])
def test_a_name_that_is_safe_already_stays_as_it_is(text):
    assert file_name(text) == text


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "../../etc", "/", "a/b", "a b", "\udcff", "é", "-rf", "x" * 10_000, "\0"],
)
def test_any_text_becomes_one_safe_component(tmp_path, text):
    name = file_name(text)

    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", name)
    (tmp_path / name).mkdir()
    assert Path(name).name == name


def test_texts_that_look_alike_in_a_name_are_told_apart():
    texts = ["a/b", "a b", "a-b", "a:b", "x" * 1_000, "x" * 1_001]

    assert len({file_name(text) for text in texts}) == len(texts)


def test_a_run_keeps_its_directory(tmp_path):
    made = session(tmp_path)

    assert made.run_directory("a b") == made.run_directory("a b")
    assert made.run_directory("a b").parent == made.path / "runs"


def test_the_transcript_of_a_run_stands_beside_its_directory(tmp_path):
    made = session(tmp_path)

    transcript = made.transcript_path("a b")

    assert transcript.parent.is_dir()
    assert mode(transcript.parent) == 0o700
    assert transcript == made.run_path("a b").with_name(f"{made.run_path('a b').name}.jsonl")
    assert not made.run_path("a b").exists()


@pytest.mark.parametrize("name", ["", "latest"])
def test_the_newest_session_is_the_one_opened_last_whatever_its_id(tmp_path, name):
    for number in (1, 3, 2):
        Journal(opened(tmp_path, number).journal).close()

    assert find_session(tmp_path / ".chalk", name).session_id[7] == "2"
    (tmp_path / ".chalk/latest").unlink()
    assert find_session(tmp_path / ".chalk", name).session_id[7] == "3"


def test_a_session_without_a_journal_is_not_found(tmp_path):
    Journal(opened(tmp_path, 1).journal).close()
    session(tmp_path, "20260102T000000Z-abcdef").open()

    assert find_session(tmp_path / ".chalk").session_id[7] == "1"
    with pytest.raises(RunOptionError, match="Name one of: 20260101"):
        find_session(tmp_path / ".chalk", "20260102")


def test_the_beginning_of_an_id_finds_it_where_only_one_begins_so(tmp_path):
    for number in (1, 2):
        Journal(opened(tmp_path, number).journal).close()

    assert find_session(tmp_path / ".chalk", "20260102").session_id[7] == "2"
    with pytest.raises(RunOptionError, match="2 sessions of that name"):
        find_session(tmp_path / ".chalk", "2026")

from __future__ import annotations

import os
import time

import pytest

from pytest_chalk.errors import StudentMisbehaviorError
from pytest_chalk.sandbox import (
    Command,
    CurrentRun,
    StudentUidError,
    collect_submission,
    enter_run,
    kill_processes,
    save_artifact,
    save_student_artifact,
)


def test_copies_come_in_the_order_of_the_paths_and_the_originals_go(current_run, box, sh):
    sh("echo 42 >data/answer; mkdir data/tree; echo x >data/tree/file; echo junk >data/junk")
    data_dir = box.paths.data_dir

    tree, answer, never = collect_submission(
        None, [data_dir / "tree", data_dir / "answer", data_dir / "never"]
    )

    assert answer.read_text() == "42\n"
    assert (tree / "file").read_text() == "x\n"
    assert not never.exists()
    assert [tree.name, answer.name, never.name] == ["tree", "answer", "never"]
    assert list(data_dir.iterdir()) == []
    assert answer.is_relative_to(current_run.submissions_dir)


def test_two_submissions_of_one_name_do_not_meet(current_run, box, sh):
    sh("mkdir data/a data/b; echo 1 >data/a/x; echo 2 >data/b/x")
    data_dir = box.paths.data_dir

    first, second = collect_submission(None, [data_dir / "a" / "x", data_dir / "b" / "x"])

    assert (first.read_text(), second.read_text()) == ("1\n", "2\n")
    kept = {path.name: path.read_text() for path in current_run.artifacts_dir.iterdir()}
    assert kept == {"x": "1\n", "x-2": "2\n"}


@pytest.mark.usefixtures("current_run")
def test_the_students_processes_are_dead_before_anything_is_copied(box):
    script = "while :; do echo good >data/x; echo bad >data/x; done"
    writer = box.launch(Command(("sh", "-c", script)))
    time.sleep(0.2)

    (copy,) = collect_submission(None, [box.paths.data_dir / "x"])

    assert writer.wait(1) == -9
    assert copy.exists()


def test_options_of_the_run_hold_unless_the_call_says_otherwise(box, sh, tmp_path):
    sh("mkdir data/a; ln -s /etc/hostname data/a/link")
    options = {"allow_symlinks": True}
    source = box.paths.data_dir / "a"

    with enter_run(CurrentRun(box, tmp_path / "artifacts", tmp_path / "submissions", options)):
        with pytest.raises(StudentMisbehaviorError, match="symlink"):
            collect_submission(None, [source], {"allow_symlinks": False})
        (copy,) = collect_submission(None, [source])

    assert (copy / "link").is_symlink()
    assert (tmp_path / "artifacts" / "a" / "link").is_symlink()


def test_without_a_run_copies_go_to_the_users_folder(box, sh, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    sh("echo 42 >data/answer")

    (copy,) = collect_submission(None, [box.paths.data_dir / "answer"])

    assert copy.read_text() == "42\n"
    assert copy.is_relative_to(tmp_path)


@pytest.mark.usefixtures("current_run")
def test_killing_by_uid_kills_the_current_runs_processes(box):
    process = box.launch(Command(("sleep", "60")))

    kill_processes(box.slot.student_uid, deadline=5.0)

    assert process.wait(1) == -9


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the student a uid")
def test_killing_by_uid_works_outside_of_a_run(box):
    process = box.launch(Command(("sleep", "60")))

    kill_processes(box.slot.student_uid)

    assert process.wait(1) == -9


def test_nobody_but_the_student_can_be_killed(box):
    with pytest.raises(StudentUidError, match="not the student"):
        kill_processes(box.slot.student_uid + 4)
    with pytest.raises(ValueError, match="not the student"):
        kill_processes(-1)


def test_an_artifact_outside_of_a_run_or_of_nothing_is_nothing(tmp_path, current_run):
    save_artifact(None, tmp_path / "none")

    assert not current_run.artifacts_dir.exists()


def test_an_artifact_keeps_its_content_and_never_takes_anothers_place(tmp_path, current_run):
    (tmp_path / "log.txt").write_text("one")
    save_artifact(None, tmp_path / "log.txt")
    (tmp_path / "log.txt").write_text("two")
    save_artifact(None, tmp_path / "log.txt")

    kept = sorted(path.name for path in current_run.artifacts_dir.iterdir())
    assert kept == ["log-2.txt", "log.txt"]
    assert (current_run.artifacts_dir / "log.txt").read_text() == "one"


def test_a_collected_tree_of_long_names_is_an_artifact_too(current_run, box, sh):
    descend = "n=$(printf %0250d $i); mkdir $n; cd $n"
    sh(f"mkdir data/a; cd data/a; for i in $(seq 20); do {descend}; done")

    (copy,) = collect_submission(None, [box.paths.data_dir / "a"])

    (name,) = (path.name for path in copy.iterdir())
    assert [path.name for path in (current_run.artifacts_dir / "a").iterdir()] == [name]


def test_an_artifact_of_the_student_is_copied_as_warily_as_a_submission(current_run, box, sh):
    sh("echo log >data/log; ln -s /etc/passwd data/link; mkfifo data/fifo; ln -s /etc data/dir")

    for name in ("data/log", "data/link", "data/fifo", "data/dir/passwd", "data/none"):
        save_student_artifact(name)

    kept = {path.name: path.read_text() for path in current_run.artifacts_dir.iterdir()}
    assert kept.pop("log") == "log\n"
    assert set(kept) == {f"{name}.not-kept.txt" for name in ("link", "fifo", "passwd")}
    assert "is a symlink" in kept["link.not-kept.txt"]
    assert "root:" not in "".join(kept.values())

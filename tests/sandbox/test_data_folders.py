from __future__ import annotations

import os

import pytest

from pytest_chalk.sandbox import find_data_folders, lay_out

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def project(tmp_path):
    """A project with data for all tasks and one task with data of its own."""
    own = tmp_path / "tasks" / "one"
    for place, word in ((tmp_path, "all"), (own, "one")):
        for kind in ("student_data", "shared_data", "root_data"):
            folder = place / kind / "sub"
            folder.mkdir(parents=True)
            (folder / "who").write_text(word)
            (folder / word).write_text(word)
            (folder / word).chmod(0o640)
    (own / "student_data" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (own / "student_data" / "run.sh").chmod(0o750)
    return [tmp_path, own]


def test_data_goes_where_its_folder_says_and_the_tasks_own_wins(project, slot):
    lay_out(find_data_folders(project), slot)

    root = slot.directory / "root_data"
    for place in (slot.paths.data_dir, slot.paths.shared_dir, root):
        assert (place / "sub" / "who").read_text() == "one"
        assert sorted(path.name for path in (place / "sub").iterdir()) == ["all", "one", "who"]


def test_folders_that_are_not_there_are_left_out(tmp_path, slot):
    (tmp_path / "shared_data").touch()

    assert find_data_folders([tmp_path, tmp_path / "none"]) == ()
    lay_out((), slot)
    assert not (slot.directory / "root_data").exists()


@root_only
def test_the_student_changes_its_data_reads_shared_data_and_sees_no_root_data(project, box, sh):
    lay_out(find_data_folders(project), box.slot)

    assert sh("cat shared/sub/one data/sub/one; data/run.sh").stdout == b"oneoneran\n"
    assert sh("echo mine >data/sub/one && rm data/sub/all && cat data/sub/one").stdout == b"mine\n"
    assert b"denied" in sh("echo x >shared/sub/one").stderr
    assert b"denied" in sh("rm -f shared/sub/one").stderr
    assert sh(f"ls {box.slot.directory}/root_data").exit_code != 0


def test_nothing_of_it_is_there_in_the_next_run(project, box):
    lay_out(find_data_folders(project), box.slot)

    box.reset()

    assert list(box.paths.data_dir.iterdir()) == list(box.paths.shared_dir.iterdir()) == []
    assert not (box.slot.directory / "root_data").exists()


@root_only
def test_a_link_in_the_data_is_copied_as_a_link_and_nobody_behind_it_changes(tmp_path, box):
    target = tmp_path / "theirs"
    target.touch(mode=0o600)
    folder = tmp_path / "student_data"
    folder.mkdir()
    (folder / "link").symlink_to(target)

    lay_out(find_data_folders([tmp_path]), box.slot)

    copy = box.paths.data_dir / "link"
    assert copy.readlink() == target
    assert copy.lstat().st_uid == box.slot.student_uid
    assert (target.stat().st_uid, target.stat().st_mode & 0o777) == (0, 0o600)

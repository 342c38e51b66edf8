"""Where the student could put something, and where our programs must not look."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_chalk.sandbox import safe_search_path, separates_uids, student_can_write
from pytest_chalk.sandbox.reach import _can_write

NEEDS_UIDS = pytest.mark.skipif(not separates_uids(), reason="the student has our own uid here")


@pytest.fixture
def folder(public_folder):
    folder = public_folder / "folder"
    folder.mkdir(mode=0o755)
    _can_write.cache_clear()
    return folder


def test_a_folder_of_ours_is_out_of_reach(folder, slot):
    assert not student_can_write(folder)
    assert not student_can_write(Path("/usr/bin"))


def test_the_workdir_and_all_below_is_within_reach(slot):
    assert student_can_write(slot.paths.workdir)
    assert student_can_write(slot.paths.shared_dir / "deep")


@NEEDS_UIDS
@pytest.mark.parametrize(("mode", "within"), [(0o777, True), (0o1777, True), (0o775, False)])
def test_a_folder_that_everybody_may_write_to_is_within_reach(folder, slot, mode, within):
    folder.chmod(mode)

    assert student_can_write(folder) is within


@NEEDS_UIDS
@pytest.mark.parametrize(("mode", "within"), [(0o777, True), (0o1777, False)])
def test_what_lies_in_such_a_folder_can_be_replaced_unless_it_is_sticky(folder, slot, mode, within):
    (folder / "bin").mkdir(mode=0o755)
    folder.chmod(mode)

    assert student_can_write(folder / "bin") is within


@NEEDS_UIDS
def test_a_folder_of_the_students_or_its_groups_is_within_reach(folder, slot):
    os.chown(folder, 0, slot.student_uid)
    folder.chmod(0o775)
    theirs = folder / "theirs"
    theirs.mkdir(mode=0o755)
    os.chown(theirs, slot.student_uid, 0)

    assert student_can_write(folder)
    assert student_can_write(theirs)


@NEEDS_UIDS
def test_a_link_is_what_it_leads_to(folder, slot):
    (folder / "link").symlink_to("/tmp")

    assert student_can_write(folder / "link")


def test_a_search_path_keeps_what_is_absolute_and_out_of_reach(slot):
    given = ["", ".", "bin", "/usr/bin", str(slot.paths.workdir / "bin"), "/bin"]

    assert safe_search_path(os.pathsep.join(given)) == "/usr/bin:/bin"

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox import Box, Command, CurrentRun, enter_run, find_run
from pytest_chalk.sandbox.process_table import living_of_uid

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the student a uid")


def names(box):
    return sorted(str(path.relative_to(box.paths.workdir)) for path in box.paths.workdir.rglob("*"))


def test_a_reset_box_has_no_file_and_no_process(box, sh):
    process = box.launch(Command(("sleep", "60")))
    sh("mkdir -p data/a; :>data/a/b; :>c; ln -s /etc d; mkfifo e; mkdir f; chmod 0 f")

    box.reset()

    assert process.wait(1) == -9
    assert names(box) == ["data", "shared"]
    assert sh("echo usable >data/x && cat data/x").stdout == b"usable\n"


def test_a_reset_also_removes_what_the_author_put_in(box):
    (box.paths.shared_dir / "given.txt").write_text("given")
    (box.paths.workdir / "more").mkdir(mode=0o700)

    box.reset()

    assert names(box) == ["data", "shared"]


def test_a_reset_makes_the_folders_anew_when_the_student_replaced_them(box, sh):
    sh("rm -rf data; ln -s /etc data")

    box.reset()

    assert names(box) == ["data", "shared"]
    assert not box.paths.data_dir.is_symlink()


@root_only
def test_a_reset_removes_the_students_files_outside_of_the_workdir(box, sh):
    script = "f=$(mktemp -p /tmp); ln -s /etc $f-link; echo $f $f-link"
    left = sh(script).stdout.decode().split()

    box.reset()

    assert len(left) == 2
    assert not any(map(os.path.lexists, left))


def test_a_reset_of_an_unused_box_takes_no_time(box):
    box.reset()
    started = time.perf_counter()
    for _ in range(100):
        box.reset()

    assert (time.perf_counter() - started) / 100 < 0.001


@root_only
def test_closing_ends_everything_and_may_be_repeated(slot):
    box = Box(slot)
    process = box.launch(Command(("sh", "-c", "trap '' TERM; :>data/x; sleep 60")))
    time.sleep(0.1)

    box.close()
    box.close()

    assert names(box) == ["data", "shared"]
    assert not Path(f"/proc/{process.pid}").exists()


def test_closing_a_box_whose_supervisor_died_raises_nothing(slot):
    box = Box(slot)
    box.launch(Command(("true",))).wait(5)
    box._link._process.kill()

    box.close()

    assert living_of_uid([slot.student_uid]) == [] or os.geteuid() != 0


def test_a_process_has_one_current_run_at_a_time(box, tmp_path):
    run = CurrentRun(box, tmp_path / "artifacts", tmp_path / "submissions")

    assert find_run() is None
    with enter_run(run):
        assert find_run() is run
        with pytest.raises(BoxError, match="already"), enter_run(run):
            pass
    assert find_run() is None

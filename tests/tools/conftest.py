from __future__ import annotations

import os
import shutil

import pytest

from pytest_chalk.sandbox import Box, BoxPaths, Slot, acquire_slot, run_as_student

LEVELS = ["uid", "none"] if os.geteuid() == 0 else ["none"]


@pytest.fixture(scope="module", params=LEVELS)
def module_box(request, tmp_path_factory):
    """A box at each level there is."""
    if request.param == "uid":
        slot = acquire_slot()
    else:
        own, directory = os.geteuid(), tmp_path_factory.mktemp("slot")
        paths = BoxPaths.under(directory / "workdir")
        slot = Slot(300, own, own, directory, paths, locked=False)
    box = Box(slot)
    box.reset()
    yield box
    box.close()


@pytest.fixture
def files_box(module_box):
    """The module's box with an empty workdir."""
    yield module_box
    module_box.kill_processes()
    paths = module_box.paths
    for path in [*paths.workdir.iterdir(), *paths.data_dir.iterdir(), *paths.shared_dir.iterdir()]:
        if path in (paths.data_dir, paths.shared_dir):
            continue
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@pytest.fixture
def student(files_box):
    """Runs a shell script as the student and returns what it printed."""

    def run(script):
        done = run_as_student(
            files_box, ["/bin/sh", "-c", script], time_limit_s=20, max_output_bytes=10_000
        )
        assert done.exit_code == 0, done.stderr
        return done.stdout.decode("utf-8", "replace")

    return run

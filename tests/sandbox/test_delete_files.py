from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from pytest_chalk.errors import ReclaimError
from pytest_chalk.sandbox import StudentUidError, delete_files
from pytest_chalk.sandbox.removal import TreeRemoval

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the student a uid")


@pytest.fixture
def uid(box):
    return box.slot.student_uid


def left(box):
    found = (path.relative_to(box.paths.workdir) for path in box.paths.workdir.rglob("*"))
    return sorted(str(path) for path in found)


def test_everything_of_the_student_goes_and_the_folders_stay(box, sh, uid):
    sh("mkdir -p data/a/b; :>data/a/b/c; :>d; ln -s / e; mkfifo data/f")

    assert delete_files(uid) == 6

    assert left(box) == ["data", "shared"]


def test_a_data_folder_that_the_student_took_away_is_made_again(box, sh, uid):
    sh("rm -rf data; ln -s /etc data")

    delete_files(uid)

    assert left(box) == ["data", "shared"]
    assert not box.paths.data_dir.is_symlink()
    assert sh("echo usable >data/x && cat data/x").stdout == b"usable\n"


@root_only
def test_files_of_others_stay_also_in_the_students_folders(box, sh, uid):
    sh("mkdir data/a; :>data/a/b")
    (box.paths.data_dir / "a" / "ours").write_text("x")
    (box.paths.shared_dir / "given").write_text("x")

    assert delete_files(uid) == 1

    assert left(box) == ["data", "data/a", "data/a/ours", "shared", "shared/given"]


def test_shared_files_stay(box, uid):
    (box.paths.shared_dir / "given").write_text("x")

    delete_files(uid)

    assert left(box) == ["data", "shared", "shared/given"]


def test_an_excluded_path_stays_with_all_below_and_above_it(box, sh, uid):
    sh("mkdir -p data/a/b/c data/a/x; :>data/a/b/c/d; :>data/a/b2; :>data/a/x/y")

    delete_files(uid, extend_exclude=[box.paths.data_dir / "a" / "b"])

    assert left(box) == ["data", "data/a", "data/a/b", "data/a/b/c", "data/a/b/c/d", "shared"]


def test_a_second_name_of_an_excluded_file_goes(box, sh, uid):
    sh("echo 42 >data/answer; ln data/answer data/other")

    delete_files(uid, exclude=[box.paths.data_dir / "answer"])

    assert left(box) == ["data", "data/answer", "shared"]


def test_an_excluded_parent_that_is_a_link_stays_a_link(box, sh, uid, public_folder):
    (public_folder / "outside").write_text("x")
    sh(f"ln -s {public_folder} data/a")

    delete_files(uid, exclude=[box.paths.data_dir / "a" / "outside"])

    assert (box.paths.data_dir / "a").is_symlink()
    assert (public_folder / "outside").exists()


def test_links_out_of_the_workdir_are_not_followed(box, sh, uid, public_folder):
    outside = public_folder / "outside"
    outside.mkdir(mode=0o777)
    outside.chmod(0o777)
    sh(f"ln -s {outside} data/link; ln -s {outside} link")
    kept = outside / "kept"
    kept.write_text("x")
    os.chown(kept, uid, -1)

    delete_files(uid, include=[box.paths.workdir])

    assert kept.exists()
    assert left(box) == ["data", "shared"]


@pytest.mark.parametrize("level", ["isolated"])  # where it can be had: files in memory go faster
@pytest.mark.usefixtures("current_run")
def test_three_thousand_levels_are_removed(box, sh, uid, student_python):
    script = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"

    assert sh(f'cd data && {student_python} -c "{script}"', time_limit_s=20).exit_code == 0

    assert delete_files(uid) == 3000
    assert left(box) == ["data", "shared"]


@pytest.mark.usefixtures("box")
def test_odd_names_and_closed_folders_are_removed(sh, uid, student_python):
    script = (
        "import os\n"
        "for n in (b'-rf', b'new\\nline', b'\\xff', b'x' * 255, b'*'): open(n, 'w').close()\n"
        "os.makedirs('closed/inside'); os.chmod('closed/inside', 0); os.chmod('closed', 0)\n"
    )
    sh(f'cd data && {student_python} -c "$(cat)"', stdin=script.encode())

    assert delete_files(uid) == 7


@root_only
def test_files_in_public_folders_go_and_those_of_others_stay(sh, uid):
    path = Path(sh("mktemp -d -p /tmp").stdout.decode().strip())
    ours = Path(subprocess.check_output(["mktemp", "-p", "/tmp"], text=True).strip())

    delete_files(uid)

    assert not path.exists()
    assert ours.exists()
    ours.unlink()


@root_only
def test_only_what_is_included_is_swept(box, sh, uid):
    sh("mkdir data/a data/b; :>data/a/x; :>data/b/x")

    assert delete_files(uid, include=[box.paths.data_dir / "a"]) == 1

    assert left(box) == ["data", "data/a", "data/b", "data/b/x", "shared"]


@pytest.mark.usefixtures("box")
def test_files_of_anybody_but_the_student_are_not_to_be_had(uid):
    for other in (uid + 2, 0 if os.geteuid() == 0 else uid + 1):
        with pytest.raises(StudentUidError, match=f"STUDENT_UID, which is {uid}"):
            delete_files(other)


@root_only
def test_what_cannot_be_removed_is_named(box, sh, uid):
    sh("mkdir data/a; :>data/a/stuck")
    stuck = box.paths.data_dir / "a" / "stuck"
    if subprocess.run(["chattr", "+i", str(stuck)], capture_output=True, check=False).returncode:
        pytest.skip("files cannot be made immutable here")

    with pytest.raises(ReclaimError, match="data/a/stuck"):
        delete_files(uid)

    subprocess.run(["chattr", "-i", str(stuck)], check=True)


@pytest.mark.usefixtures("box")
def test_a_sweep_that_takes_too_long_is_given_up(sh, uid):
    sh("touch data/a data/b")

    with pytest.raises(ReclaimError, match="longer than 0 s"):
        delete_files(uid, timeout=0)


def test_a_missing_root_is_empty(tmp_path):
    removal = TreeRemoval(None)

    removal.empty(tmp_path / "none")

    assert (removal.removed, removal.survivors) == (0, [])


def test_a_folder_that_cannot_be_listed_is_named_and_the_rest_goes(tmp_path, monkeypatch):
    for name in ("before/x", "closed/y", "zlast/z"):
        (tmp_path / name).mkdir(parents=True)
    inode, scandir = (tmp_path / "closed").stat().st_ino, os.scandir

    def refusing(fd):
        if os.fstat(fd).st_ino == inode:
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(fd)

    monkeypatch.setattr("os.scandir", refusing)
    removal = TreeRemoval(None)
    removal.empty(tmp_path)
    monkeypatch.undo()

    assert [path.name for path in tmp_path.iterdir()] == ["closed"]
    assert removal.removed == 4
    assert [survivor.split("/")[-1] for survivor in removal.survivors] == [
        "closed' (Permission denied)"
    ]

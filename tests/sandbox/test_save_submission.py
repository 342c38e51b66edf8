from __future__ import annotations

import os
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_chalk.errors import MachineError, StudentMisbehaviorError, TaskDefinitionError
from pytest_chalk.sandbox import save_submission
from pytest_chalk.sandbox import submissions as module

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such a file")
student_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a student of its own")


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def dest(tmp_path):
    return tmp_path / "copy"


def refused(source, dest, match, **options):
    with pytest.raises(StudentMisbehaviorError, match=match) as caught:
        save_submission(source, dest, **options)
    assert not os.path.lexists(dest), "a part of the copy was left behind"
    return str(caught.value)


def modes(root):
    return {
        str(path.relative_to(root)): stat.S_IMODE(path.lstat().st_mode)
        for path in sorted(root.rglob("*"))
    }


def test_a_file_is_copied_by_content_alone(work, dest):
    source = work / "answer.txt"
    source.write_text("42")
    source.chmod(0o4777)
    os.utime(source, (2**32, 2**32))

    assert save_submission(source, dest) == dest

    assert dest.read_text() == "42"
    assert stat.S_IMODE(dest.stat().st_mode) == 0o600
    assert dest.stat().st_mtime < 2**32
    assert dest.stat().st_uid == os.geteuid()


def test_a_tree_is_copied_whole(work, dest):
    (work / "a" / "b").mkdir(parents=True)
    (work / "a" / "b" / "c").write_bytes(bytes(range(256)))
    (work / "empty").mkdir()

    save_submission(work, dest)

    assert modes(dest) == {"a": 0o700, "a/b": 0o700, "a/b/c": 0o600, "empty": 0o700}
    assert (dest / "a" / "b" / "c").read_bytes() == bytes(range(256))


def test_without_a_destination_a_fresh_private_folder_is_returned(work, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (work / "answer").write_text("42")

    first, second = save_submission(work / "answer"), save_submission(work / "answer")

    assert first != second
    assert first.parent == tmp_path / ".config" / "chalk" / "submissions"
    assert (first / "answer").read_text() == "42"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (first, first.parent)} == {0o700}


def test_a_missing_file_is_no_misbehavior(work, dest, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    assert save_submission(work / "never written", dest) == dest
    folder = save_submission(work / "never written")

    assert not dest.exists()
    assert list(folder.iterdir()) == []


def test_the_fresh_folder_goes_when_the_copy_fails(work, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (work / "a").symlink_to("b")

    with pytest.raises(StudentMisbehaviorError):
        save_submission(work)

    assert list((tmp_path / ".config" / "chalk" / "submissions").iterdir()) == []


@pytest.mark.parametrize("points_to", ["/etc/hostname", "own", "dangling"])
def test_a_symlink_is_refused_wherever_it_points(work, dest, points_to):
    (work / "own").write_text("x")
    (work / "answer").symlink_to(points_to)

    refused(work / "answer", dest, "is a symlink")
    refused(work / "answer", dest, "is a symlink", allow_symlinks=True)
    refused(work, dest, "is a symlink")


def test_symlinks_in_a_tree_can_be_allowed_and_are_never_followed(work, dest):
    (work / "link").symlink_to("/etc/hostname")

    save_submission(work, dest, allow_symlinks=True)

    assert (dest / "link").readlink() == Path("/etc/hostname")


def test_a_symlinked_parent_is_refused(work, dest):
    (work / "folder").symlink_to("/etc")

    refused(work / "folder" / "hostname", dest, "folder.*is a symlink")


def test_a_missing_parent_or_one_that_is_no_folder_is_refused(work, dest):
    (work / "file").write_text("x")

    refused(work / "none" / "answer", dest, "does not exist")
    refused(work / "file" / "answer", dest, "is not a directory")


def test_no_race_of_links_lets_the_copy_out_of_the_tree(work, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "answer").write_text("secret")
    (work / "real").mkdir()
    (work / "real" / "answer").write_text("harmless")
    is_over = threading.Event()

    def swap():
        while not is_over.is_set():
            (work / "folder").symlink_to(secret)
            (work / "folder").unlink()
            (work / "real").rename(work / "folder")
            (work / "folder").rename(work / "real")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(200):
            copy = tmp_path / f"copy{number}"
            try:
                save_submission(work / "folder" / "answer", copy)
            except StudentMisbehaviorError:
                continue
            assert not copy.exists() or copy.read_text() == "harmless"
    finally:
        is_over.set()
        swapper.join()


def test_a_second_name_of_a_file_is_refused(work, dest, tmp_path):
    (work / "answer").write_text("x")
    (tmp_path / "kept").hardlink_to(work / "answer")

    refused(work / "answer", dest, "hard links")


def test_fifo_and_socket_are_refused_at_once(work, dest, monkeypatch):
    os.mkfifo(work / "fifo")
    monkeypatch.chdir(work)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        started = time.monotonic()

        refused(work / "fifo", dest, "not a regular file")
        refused(work / "socket", dest, "not a regular file")

    assert time.monotonic() - started < 1


@root_only
def test_a_device_is_refused(work, dest):
    try:
        os.mknod(work / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices cannot be made here")

    refused(work / "zero", dest, "not a regular file")


def test_a_sparse_terabyte_is_refused_by_its_size(work, dest):
    with (work / "huge").open("w") as huge:
        huge.truncate(2**40)

    refused(work / "huge", dest, "too large")


def test_a_sparse_file_stays_sparse(work, dest):
    with (work / "sparse").open("w") as sparse:
        sparse.truncate(32 * 2**20)
        sparse.seek(0, os.SEEK_END)
        sparse.write("end")

    save_submission(work / "sparse", dest)

    assert dest.read_bytes() == (work / "sparse").read_bytes()
    assert dest.stat().st_blocks * 512 < 2 * 2**20


def test_limits_hold_for_size_sum_number_and_depth(work, dest):
    (work / "a").mkdir()
    (work / "a" / "one").write_bytes(b"x" * 600)
    (work / "two").write_bytes(b"x" * 600)

    refused(work, dest, "too large", max_file_bytes=599)
    refused(work, dest, "total size", max_total_bytes=1199)
    refused(work, dest, "entries", max_entries=2)
    refused(work, dest, "deep", max_depth=1)
    save_submission(
        work, dest, max_file_bytes=600, max_total_bytes=1200, max_entries=3, max_depth=2
    )


def test_a_deep_tree_is_refused_and_leaves_nothing(work, dest):
    deep = work
    for _ in range(40):
        deep /= "d"
        deep.mkdir()

    refused(work, dest, "deep")


def test_a_file_that_grows_while_it_is_copied_is_refused(work, dest):
    source = work / "growing"
    with source.open("w") as file:
        file.truncate(100 * 2**20)
    is_over, has_begun = threading.Event(), threading.Event()

    def grow():
        with source.open("ab", buffering=0) as file:
            while not is_over.is_set():
                file.write(b"x")
                has_begun.set()

    writer = threading.Thread(target=grow)
    writer.start()
    has_begun.wait()
    try:
        refused(source, dest, "changed while it was copied")
    finally:
        is_over.set()
        writer.join()


def test_odd_names_are_copied_and_shown_quoted(work, dest):
    names = [b"-rf *", b"new\nline", b"caf\xe9", "日本".encode(), b"x" * 255, b"\x1b[31m"]
    for name in names:
        (work / os.fsdecode(name)).write_text("x")

    save_submission(work, dest)

    assert sorted(os.fsencode(path.name) for path in dest.iterdir()) == sorted(names)
    (work / "esc\x1b[31m").symlink_to("x")
    message = refused(work, dest.with_name("other"), "is a symlink")
    assert "\x1b" not in message


def test_a_path_longer_than_the_kernel_takes_is_copied(work, dest, monkeypatch):
    monkeypatch.chdir(work)
    source = work
    for _ in range(20):
        source /= "d" * 250
        Path("d" * 250).mkdir()
        os.chdir("d" * 250)
    Path("answer").write_text("42")

    save_submission(source / "answer", dest)

    assert dest.read_text() == "42"
    os.chdir("/")


@student_only
def test_files_may_belong_to_the_student_or_to_us_but_to_nobody_else(work, dest, slot):
    (work / "ours").write_text("given by a hook")
    (work / "theirs").write_text("written by the student")
    os.chown(work / "theirs", slot.student_uid, slot.student_uid)
    save_submission(work, dest)
    os.chown(work / "theirs", slot.student_uid + 2, 0)

    refused(work, dest.with_name("other"), f"uid {slot.student_uid + 2}")


def test_a_taken_destination_is_the_callers_error(work, dest):
    dest.symlink_to("nowhere")

    with pytest.raises(FileExistsError):
        save_submission(work, dest)

    assert dest.is_symlink()


def test_a_path_that_names_no_file_is_the_authors_error(dest):
    for path in ("/", "/a/..", "a\0b"):
        with pytest.raises(TaskDefinitionError, match="names no file"):
            save_submission(path, dest)


def test_a_failure_names_path_and_reason_but_no_content(work, dest):
    (work / "answer").write_text("the secret")
    (work / "answer2").hardlink_to(work / "answer")

    message = refused(work / "answer", dest, "hard links")

    assert str(work / "answer") in message
    assert "secret" not in message


@root_only
def test_a_full_disk_is_the_machines_fault_when_it_was_full_before(work, small_disk):
    (work / "big").write_bytes(os.urandom(3 * 2**20))

    with pytest.raises(MachineError, match="no room"):
        save_submission(work / "big", small_disk / "copy")
    assert list(small_disk.iterdir()) == []


@root_only
def test_a_full_disk_is_the_students_fault_when_it_filled_it(work, small_disk, monkeypatch):
    monkeypatch.setattr(module, "FREE_RESERVE_BYTES", 0)
    for number in range(30):
        (work / str(number)).touch()

    with pytest.raises(StudentMisbehaviorError, match="cannot save"):
        save_submission(work, small_disk / "copy", max_total_bytes=1000)
    assert list(small_disk.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,nr_inodes=20,mode=700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


FILE_NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20
).filter(lambda name: name not in (".", ".."))
TREES = st.recursive(
    st.binary(max_size=50), lambda below: st.dictionaries(FILE_NAMES, below, max_size=4)
)


def write(path, tree):
    if isinstance(tree, bytes):
        path.write_bytes(tree)
        return
    path.mkdir()
    for name, below in tree.items():
        write(path / name, below)


def read(path):
    if path.is_dir():
        return {child.name: read(child) for child in path.iterdir()}
    return path.read_bytes()


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
@given(tree=TREES)
def test_every_plain_tree_comes_out_as_it_went_in(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    write(folder / "source", tree)

    save_submission(folder / "source", folder / "copy")

    assert read(folder / "copy") == tree

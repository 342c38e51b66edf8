"""What `--output` names is whole, or as it was; and only its own faults are its own."""

from __future__ import annotations

import os
import threading

import pytest

from pytest_chalk.cli.output_file import replacing
from pytest_chalk.errors import RunOptionError


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"a long text that was there before")
    path.chmod(0o640)

    with replacing(str(path)) as opened:
        opened.writelines([b"new", b"er"])
        opened.write(b"!")
        assert path.read_bytes().startswith(b"a long")

    assert path.read_bytes() == b"newer!"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_fault_of_what_is_read_leaves_the_file_and_is_not_the_outputs(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"before")

    def blocks():
        yield b"first"
        message = "the store is gone"
        raise OSError(message)

    with pytest.raises(OSError, match=r"^the store is gone$"), replacing(str(path)) as opened:
        opened.writelines(blocks())

    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["missing/out", "."])
def test_what_cannot_be_written_is_named(tmp_path, name):
    wanted = str(tmp_path / name)

    with pytest.raises(RunOptionError, match=r"--output .*cannot be written"), replacing(wanted):
        pytest.fail("it was opened")


def test_a_full_disk_is_the_outputs_fault():
    with pytest.raises(RunOptionError, match="cannot be written"), replacing("/dev/full") as opened:
        opened.write(b"x" * 100_000)


def test_a_link_stays_one_and_a_pipe_is_written_as_it_is(tmp_path):
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.touch()
    link.symlink_to(target)
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()

    for path in (link, pipe):
        with replacing(str(path)) as opened:
            opened.write(b"said")

    reader.join(10)
    assert (link.is_symlink(), target.read_bytes(), heard) == (True, b"said", [b"said"])

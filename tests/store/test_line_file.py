"""Files that grow by whole lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_chalk.errors import MachineError
from pytest_chalk.store.line_file import LineFile, whole_lines


def test_a_line_can_be_read_by_others_as_soon_as_it_is_appended(tmp_path):
    file = LineFile(tmp_path / "f", "journal")

    file.append(b"one")
    file.append(b"two")

    assert whole_lines(tmp_path / "f") == [b"one", b"two"]


def test_only_we_can_read_it(tmp_path):
    LineFile(tmp_path / "f", "journal")

    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


def test_opening_it_again_goes_on_behind_what_is_there(tmp_path):
    (tmp_path / "f").write_bytes(b"one\n")

    LineFile(tmp_path / "f", "journal").append(b"two")

    assert whole_lines(tmp_path / "f") == [b"one", b"two"]


def test_a_fresh_file_forgets_what_was_there(tmp_path):
    (tmp_path / "f").write_bytes(b"one\n")

    LineFile(tmp_path / "f", "journal", fresh=True).append(b"two")

    assert whole_lines(tmp_path / "f") == [b"two"]


@pytest.mark.parametrize("torn", [b"tor", b"x" * 200_000])
@pytest.mark.parametrize("before", [b"", b"one\n", b"one\n" * 50_000])
def test_a_torn_last_line_is_not_read_and_not_continued(tmp_path, before, torn):
    (tmp_path / "f").write_bytes(before + torn)

    assert b"".join(line + b"\n" for line in whole_lines(tmp_path / "f")) == before
    LineFile(tmp_path / "f", "journal").append(b"two")

    assert (tmp_path / "f").read_bytes() == before + b"two\n"


def test_on_a_full_disk_earlier_lines_stay_and_no_half_line_is_left(tmp_path, full_disk):
    file = LineFile(tmp_path / "f", "journal")
    file.append(b"one")

    with full_disk(100), pytest.raises(MachineError, match=r"journal .* cannot be written"):
        file.append(b"x" * 1_000)
    file.append(b"two")

    assert (tmp_path / "f").read_bytes() == b"one\ntwo\n"


def test_a_device_that_is_full_is_a_machine_error():
    file = LineFile(Path("/dev/full"), "journal")

    with pytest.raises(MachineError, match="No space left on device"):
        file.append(b"one")


@pytest.mark.parametrize("place", ["missing/f", "."])
def test_a_file_that_cannot_be_opened_is_a_machine_error(tmp_path, place):
    with pytest.raises(MachineError, match=r"transcript .* cannot be written"):
        LineFile(tmp_path / place, "transcript")


def test_a_long_line_is_written_whole(tmp_path):
    line = os.urandom(3_000_000).replace(b"\n", b" ")
    file = LineFile(tmp_path / "f", "journal")

    file.append(line, sync=True)

    assert whole_lines(tmp_path / "f") == [line]


def test_a_closed_file_takes_no_more_and_closing_it_again_is_fine(tmp_path):
    file = LineFile(tmp_path / "f", "journal")
    file.close()
    file.close()

    with pytest.raises(MachineError, match="cannot be written"):
        file.append(b"one")

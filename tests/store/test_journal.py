"""The journal of a session."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_chalk.errors import MachineError
from pytest_chalk.store.journal import Journal, is_in_use, read_journal


def test_entries_come_back_in_the_order_they_happened(tmp_path):
    journal = Journal(tmp_path / "j")

    journal.append("step", {"nodeid": "a", "n": 1})
    journal.append("run", {"nodeid": "a", "score": 0.5}, sync=True)

    assert read_journal(tmp_path / "j") == [
        {"type": "step", "nodeid": "a", "n": 1},
        {"type": "run", "nodeid": "a", "score": 0.5},
    ]


def test_an_entry_is_one_line_whatever_its_text(tmp_path):
    text = "a\nb\r\x0b\x85\u2028\udcff"
    journal = Journal(tmp_path / "j")

    journal.append("step", {"text": text})

    assert (tmp_path / "j").read_bytes().count(b"\n") == 1
    assert read_journal(tmp_path / "j")[0]["text"] == text


def test_a_torn_last_entry_is_left_out(tmp_path):
    (tmp_path / "j").write_text('{"type":"run"}\n{"type":"ru')

    assert read_journal(tmp_path / "j") == [{"type": "run"}]


@pytest.mark.parametrize("line", ["not JSON", "[]", "1", ""])
def test_a_line_that_is_no_entry_is_named(tmp_path, line):
    (tmp_path / "j").write_text(f'{{"type":"run"}}\n{line}\n{{"type":"run"}}\n')

    with pytest.raises(MachineError, match=r"j', line 2: .* is no JSON object"):
        read_journal(tmp_path / "j")


def test_a_number_that_json_lacks_is_not_written(tmp_path):
    journal = Journal(tmp_path / "j")

    with pytest.raises(ValueError, match="JSON compliant"):
        journal.append("run", {"score": float("nan")})

    assert read_journal(tmp_path / "j") == []


def test_a_journal_goes_on_where_an_earlier_process_stopped(tmp_path):
    (tmp_path / "j").write_text('{"type":"run"}\n{"type":"ru')

    Journal(tmp_path / "j").append("step", {})

    assert [entry["type"] for entry in read_journal(tmp_path / "j")] == ["run", "step"]


def test_a_full_disk_is_a_machine_error_that_says_what_to_do():
    with pytest.raises(MachineError, match="free the disk or choose another place"):
        Journal(Path("/dev/full")).append("run", {})


def test_a_journal_is_in_use_until_it_is_closed(tmp_path):
    journal = Journal(tmp_path / "j")
    before = is_in_use(tmp_path / "j")

    journal.close()

    assert (before, is_in_use(tmp_path / "j")) == (True, False)


def test_closing_a_journal_twice_is_fine(tmp_path):
    journal = Journal(tmp_path / "j")

    journal.close()
    journal.close()

    assert read_journal(tmp_path / "j") == []


def test_a_journal_that_is_not_there_is_not_in_use(tmp_path):
    assert not is_in_use(tmp_path / "j")


WRITER = """
import sys
import random
import subprocess
import sys
import time
from pathlib import Path
from pytest_chalk.store.journal import Journal

journal = Journal(Path(sys.argv[1]))
print("open", flush=True)
for number in range(1_000_000):
    journal.append("run", {"part": int(sys.argv[2]), "number": number, "text": "x" * 5_000})
"""


def test_a_process_killed_at_any_instant_loses_no_entry_and_leaves_no_half_one(tmp_path):
    rng = random.Random()
    for part in range(6):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "j"), str(part)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(rng.uniform(0.001, 0.03))
        writer.kill()
        writer.wait()
        writer.stdout.close()

    entries = read_journal(tmp_path / "j")
    for part in range(6):
        numbers = [entry["number"] for entry in entries if entry["part"] == part]
        assert numbers == list(range(len(numbers)))
    assert len(entries) > 10


def test_a_journal_that_another_process_writes_is_refused(tmp_path):
    first = Journal(tmp_path / "j")

    with pytest.raises(MachineError, match="written by another process"):
        Journal(tmp_path / "j")
    first.append("run", {})

    assert len(read_journal(tmp_path / "j")) == 1

"""The file that holds what a session's models have used."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_chalk.errors import MachineError
from pytest_chalk.schemas.spending import Spent
from pytest_chalk.store.spending import SpendingFile

ADDS = """
import sys
from pathlib import Path
from pytest_chalk.schemas.spending import Spent
from pytest_chalk.store.spending import SpendingFile

file = SpendingFile(Path(sys.argv[1]))
for _ in range(200):
    file.add(Spent(3, 5))
"""


def test_nothing_is_spent_at_first(tmp_path: Path):
    assert SpendingFile(tmp_path / "spending.json").total() == Spent()


def test_what_is_added_is_there_for_everybody(tmp_path: Path):
    path = tmp_path / "spending.json"

    SpendingFile(path).add(Spent(10, 2_000))
    SpendingFile(path).add(Spent(5, 10**14))

    assert SpendingFile(path).total() == Spent(15, 2_000 + 10**14)
    assert path.stat().st_mode & 0o777 == 0o600


def test_many_processes_and_threads_at_once_lose_nothing(tmp_path: Path):
    path = tmp_path / "spending.json"
    children = [subprocess.Popen([sys.executable, "-c", ADDS, str(path)]) for _ in range(4)]
    ours = SpendingFile(path)
    threads = [
        threading.Thread(target=lambda: [ours.add(Spent(1, 1)) for _ in range(100)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [child.wait() for child in children] == [0, 0, 0, 0]

    assert ours.total() == Spent(4 * 200 * 3 + 400, 4 * 200 * 5 + 400)


def test_a_process_that_dies_while_it_holds_the_lock_stops_nobody(tmp_path: Path):
    path = tmp_path / "spending.json"
    dies = (
        "import fcntl, os, sys; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); "
        "fcntl.flock(fd, fcntl.LOCK_EX); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", dies, str(path)], check=False)

    SpendingFile(path).add(Spent(1, 1))

    assert SpendingFile(path).total() == Spent(1, 1)


@pytest.mark.parametrize("text", ["x", "{}", "[]", '{"tokens": 1, "nano_usd": null}'])
def test_a_file_that_is_not_ours_is_an_error_and_not_a_fresh_budget(tmp_path: Path, text: str):
    path = tmp_path / "spending.json"
    path.write_text(text)

    with pytest.raises(MachineError, match=r"spending\.json' holds"):
        SpendingFile(path).total()


def test_a_file_that_cannot_be_opened_says_what_to_do(tmp_path: Path):
    file = SpendingFile(tmp_path / "missing" / "spending.json")

    with pytest.raises(MachineError, match="--chalk-session-dir"):
        file.add(Spent(1, 1))


def test_descriptors_are_given_back(tmp_path: Path):
    file = SpendingFile(tmp_path / "spending.json")
    before = len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(50):
        file.add(Spent(1, 1))

    assert len(list(Path("/proc/self/fd").iterdir())) == before

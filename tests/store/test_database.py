from __future__ import annotations

import subprocess
import sys

OPEN = """
import sys
from pathlib import Path
from pytest_chalk.store.database import Database

base = Path(sys.argv[1])
sys.stdin.readline()
for number in range(20):
    Database(base / str(number)).close()
"""


def test_processes_that_make_a_store_at_the_same_moment_wait_for_each_other(tmp_path):
    processes = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(tmp_path)], stdin=subprocess.PIPE)
        for _ in range(6)
    ]
    for process in processes:
        process.stdin.write(b"now\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)

    assert [process.returncode for process in processes] == [0] * 6

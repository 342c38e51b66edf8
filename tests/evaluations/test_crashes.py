"""A process that is killed at any instant leaves a run that another one finishes."""

from __future__ import annotations

import collections
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest
from evaluations.conftest import REPOSITORY, printed_json, run_script

from pytest_chalk.evaluations import DatasetClient, Evaluation, function, scorers
from pytest_chalk.evaluations.place import Place, open_place
from pytest_chalk.schemas.evaluation import CellColumn
from pytest_chalk.store import cell_ledger

N_ROWS = 60

SCRIPT = """
import json, os, sys, time
import chalkcompute

@chalkcompute.function
def slow(n):
    with open("calls.txt", "a") as calls:
        calls.write(f"{n}\\n")
    time.sleep(0.004)
    return str(n)

@chalkcompute.function
def same(n, output):
    return float(str(n) == output)

if __name__ == "__main__":
    if os.path.exists("run.txt"):
        run = chalkcompute.EvaluationRun.from_id(open("run.txt").read())
    else:
        dataset = chalkcompute.DatasetClient().upload("n", [{"n": i} for i in range(ROWS)])
        evaluation = chalkcompute.Evaluation.create("n", dataset=dataset, task=slow, scorers=[same])
        run = evaluation.run(concurrency=4)
        open("run.tmp", "w").write(run.id)
        os.rename("run.tmp", "run.txt")
    print("ready", flush=True)
    final = run.wait(timeout=60)
    print(json.dumps(final.summary["scorers"]["same"]["mean"]))
"""


def start(directory: Path, rows: int = N_ROWS) -> subprocess.Popen[str]:
    (directory / "pytest.ini").touch()
    script = directory / "script.py"
    if not script.exists():
        script.write_text(textwrap.dedent(SCRIPT).replace("ROWS", str(rows)))
    return subprocess.Popen(
        [sys.executable, "-m", "pytest_chalk", "run", "script.py"],
        cwd=directory,
        env={
            **{k: v for k, v in os.environ.items() if "CHALK" not in k},
            "PYTHONPATH": str(REPOSITORY),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_run_is_finished_after_kills_at_any_instant(tmp_path):
    chance = random.Random(7)
    kills = 0
    for _ in range(12):
        process = start(tmp_path)
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.12))
        process.send_signal(signal.SIGKILL)
        _, complaint = process.communicate(timeout=30)
        kills += process.returncode == -signal.SIGKILL
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, complaint
    assert kills >= 2

    process = start(tmp_path)
    said, complaint = process.communicate(timeout=60)

    assert process.returncode == 0, complaint
    assert json.loads(said.splitlines()[-1]) == 1.0
    calls = collections.Counter((tmp_path / "calls.txt").read_text().split())
    assert set(calls) == {str(n) for n in range(N_ROWS)}
    assert not list((tmp_path / ".chalk/datasets").glob("*.parquet.tmp"))


DEADLY = """
import os, signal
from pytest_chalk.store import {module} as module

owner = getattr(module, "{owner}")
real = getattr(owner, "{name}")

def deadly(*args, **kwargs):
    if "{when}" == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, "{name}", deadly)
"""

INSTANTS = [
    ("after", "evaluation_store", "EvaluationStore", "add_run"),
    ("after", "cell_ledger", "CellLedger", "claim"),
    ("before", "cell_ledger", "CellLedger", "commit"),
    ("after", "cell_ledger", "CellLedger", "commit"),
    ("after", "run_ends", "RunEnds", "begin_finalizing"),
    ("before", "dataset_files", "DatasetFiles", "adopt"),
    ("after", "result_file", "ResultFile", "write"),
    ("after", "dataset_catalog", "DatasetCatalog", "add_revision"),
    ("after", "run_ends", "RunEnds", "succeed"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("when", "module", "owner", "name"), INSTANTS)
def test_a_kill_at_each_write_leaves_a_run_that_goes_on(tmp_path, when, module, owner, name):
    deadly = textwrap.dedent(DEADLY).format(module=module, owner=owner, name=name, when=when)
    upload = "        dataset = chalkcompute"
    if name in {"adopt", "add_revision"}:  # the dataset's own are not meant
        script = SCRIPT.replace(
            "        evaluation =", f"{textwrap.indent(deadly, ' ' * 8)}\n        evaluation ="
        )
    else:
        script = deadly + SCRIPT
    assert upload in script

    killed = run_script(tmp_path, script.replace("ROWS", "6"))
    ran = run_script(tmp_path, SCRIPT.replace("ROWS", "6"))

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert printed_json(ran) == 1.0
    calls = (tmp_path / "calls.txt").read_text().split()
    assert set(calls) == set("012345")
    if name != "commit":  # what was not written is called again, nothing else
        assert len(calls) == 6


def test_several_processes_advance_one_run_and_no_call_is_made_twice(tmp_path):
    rows = 300
    first = start(tmp_path, rows)
    first.stdout.readline()
    others = [start(tmp_path, rows) for _ in range(2)]

    for process in (first, *others):
        said, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, complaint
        assert json.loads(said.splitlines()[-1]) == 1.0

    calls = (tmp_path / "calls.txt").read_text().split()
    assert sorted(calls, key=int) == [str(n) for n in range(rows)]


@pytest.fixture
def queued(store):
    dataset = DatasetClient().upload("n", [{"n": i} for i in range(6)])
    task = function(lambda n: n)
    made = Evaluation.create("n", dataset=dataset, task=task, scorers=[scorers.json_valid()])
    return open_place(store), made.run()


def test_what_a_living_process_has_leased_is_nobody_elses(queued):
    place, run = queued
    other = Place(place.store.base)

    claimed = place.ledger.claim(run.id, place.owner_id, 4)

    assert [(c.start, c.stop) for c in claimed] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert [c.start for c in other.ledger.claim(run.id, other.owner_id, 9)] == [4, 5]
    assert other.ledger.claim(run.id, other.owner_id, 9) == []


def test_what_a_dead_process_had_leased_is_free_at_once(queued):
    place, run = queued
    other = Place(place.store.base)
    other.ledger.claim(run.id, other.owner_id, 9)
    assert place.ledger.claim(run.id, place.owner_id, 9) == []

    other._owner.release()

    assert len(place.ledger.claim(run.id, place.owner_id, 9)) == 6


def test_a_lease_that_is_over_is_lost_and_what_comes_of_it_too_late(queued, monkeypatch):
    place, run = queued
    other = Place(place.store.base)
    monkeypatch.setattr(cell_ledger, "LEASE_S", -1.0)
    (chunk,) = other.ledger.claim(run.id, other.owner_id, 1)
    monkeypatch.undo()
    (again,) = place.ledger.claim(run.id, place.owner_id, 1)
    assert (again.start, again.is_fresh) == (chunk.start, False)

    late = {0: CellColumn([chunk.start], ["late"], [None], [None])}
    mine = {0: CellColumn([chunk.start], ["mine"], [None], [None])}
    other.ledger.commit(run.id, other.owner_id, late, held=[chunk], done=[chunk])
    place.ledger.commit(run.id, place.owner_id, mine, held=[again])

    assert [c.value for c in place.ledger.cells(run.id, 0, 9)] == ["mine"]
    assert place.ledger.rows_done(run.id) == 0


def test_only_one_process_finalizes(queued):
    place, run = queued
    other = Place(place.store.base)
    chunks = place.ledger.claim(run.id, place.owner_id, 9)
    assert not place.ends.begin_finalizing(run.id, place.owner_id)
    place.ledger.commit(run.id, place.owner_id, {}, held=chunks, done=chunks)

    assert place.ends.begin_finalizing(run.id, place.owner_id)
    assert not other.ends.begin_finalizing(run.id, other.owner_id)
    assert place.ends.begin_finalizing(run.id, place.owner_id)  # its own, after a failure


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    code = "import chalkcompute; print(len(chalkcompute.EvaluationSuite.list_all()))"
    assert printed_json(run_script(tmp_path, code)) == 0
    with closing(sqlite3.connect(tmp_path / ".chalk/store.db")) as connection:
        connection.execute("PRAGMA user_version = 99")

    ran = run_script(tmp_path, code)

    assert ran.returncode == 1
    assert "made by a newer pytest-chalk (format 99" in ran.stderr

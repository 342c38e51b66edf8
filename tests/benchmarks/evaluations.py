"""What evaluations cost, against the same functions elsewhere. Each side is a process of its own,
and what it imports and prepares is not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks.measure import show

FUNCTIONS = """
import json, resource, sys, time

n = int(sys.argv[1])
rows = [{"question": f"question {i}", "expected": f"QUESTION {i}"} for i in range(n)]
calls = {"task": 0, "same": 0, "short": 0}

def task(question):
    calls["task"] += 1
    return question.upper()

def same(output, expected):
    calls["same"] += 1
    return 1.0 if output == expected else 0.0

def short(output):
    calls["short"] += 1
    return 1.0 / len(output)

def longer(output):
    return float(len(output))

def megabytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6
"""

OURS = """
from pytest_chalk.evaluations import DatasetClient, Evaluation, use_store

use_store("store")
dataset = DatasetClient().upload("d", rows)
del rows
evaluation = Evaluation.create("e", dataset=dataset, task=task, scorers=[same, short])
before_mb, begun_s = megabytes(), time.process_time()
run = evaluation.run().wait()
spent_s = time.process_time() - begun_s
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 - before_mb
assert run.summary["scorers"]["same"]["mean"] == 1.0 and calls["task"] == n
"""

THEIRS = """
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator

class Same(Evaluator):
    def evaluate(self, ctx):
        return same(ctx.output, ctx.expected_output)

class Short(Evaluator):
    def evaluate(self, ctx):
        return short(ctx.output)

cases = [
    Case(name=str(i), inputs=row["question"], expected_output=row["expected"])
    for i, row in enumerate(rows)
]
dataset = Dataset(name="d", cases=cases, evaluators=[Same(), Short()])
begun_s = time.process_time()
report = dataset.evaluate_sync(task, progress=False, max_concurrency=8)
spent_s = time.process_time() - begun_s
peak_mb = 0
assert len(report.cases) == n
"""

RESCORE = """
calls.update(task=0, same=0, short=0)
begun_s = time.process_time()
rescored = run.rescore(scorers=[same, short, longer]).wait()
spent_s = time.process_time() - begun_s
assert calls == {"task": 0, "same": 0, "short": 0}, calls
"""

NATURAL = """
import pyarrow as pa
import pyarrow.parquet as pq
from pytest_chalk.evaluations.place import current_place

datasets = current_place().store.datasets
path = datasets.files.path(datasets.get_revision(run.result_dataset).digest)
pq.read_table(path)  # what it loads is not counted
begun_s = time.process_time()
found = pq.read_table(path).to_pylist()
for row in found:
    row["longer_value"] = longer(row["output"])
pq.write_table(pa.Table.from_pylist(found), "bare.parquet")
spent_s = time.process_time() - begun_s
"""

BARE = """
from pytest_chalk.store.duck import duck
from pytest_chalk.evaluations.place import current_place

datasets = current_place().store.datasets
path = datasets.files.path(datasets.get_revision(run.result_dataset).digest)
cursor = duck()
begun_s = time.process_time()
outputs = cursor.execute(f"SELECT output FROM read_parquet('{path}')").fetchall()
scores = [longer(output) for (output,) in outputs]
cursor.execute(
    f"COPY (SELECT * FROM (SELECT * FROM read_parquet('{path}')) POSITIONAL JOIN "
    "(SELECT unnest($1::DOUBLE[]) AS longer_value)) TO 'bare.parquet' (FORMAT parquet)", [scores]
)
spent_s = time.process_time() - begun_s
"""

EXPORT = """
from pytest_chalk.evaluations import EvaluationRun, use_store
from pytest_chalk.evaluations.place import current_place
from pytest_chalk.store.duck import duck

use_store("store")
del rows
(state,) = current_place().store.runs()
run = EvaluationRun.from_id(state.id)
duck().execute("SELECT 1").fetchall()  # what it loads is not counted
before_mb, begun_s = megabytes(), time.process_time()
with open("out", "wb") as opened:
    run.export(opened, "jsonl")
run.worst("short")
spent_s = time.process_time() - begun_s
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 - before_mb
assert sum(1 for _ in open("out")) == n
"""

TOLD = """
print(json.dumps([spent_s, peak_mb]))
"""


def measure(scratch: Path, n: int, *parts: str, there: Path | None = None) -> tuple[float, float]:
    """Return the seconds of CPU and the megabytes above start that a script tells.

    It runs in a directory of its own, or `there`, after another one.
    """
    place = there or scratch / f"{n}-{len(list(scratch.iterdir()))}"
    place.mkdir(exist_ok=True)
    (place / "script.py").write_text("".join((FUNCTIONS, *parts, TOLD)))
    ran = subprocess.run(
        [sys.executable, "script.py", str(n)],
        cwd=place,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    spent_s, peak_mb = json.loads(ran.stdout.splitlines()[-1])
    return spent_s, peak_mb


def bench_evaluations(scratch: Path, *, quick: bool) -> None:
    n, rounds = (200, 1) if quick else (10_000, 3)
    if find_spec("pydantic_evals") is None:
        print("pydantic-evals is not installed; nothing to compare with")  # noqa: T201
        ours = [measure(scratch, n, OURS)[0] * 1e3 / n for _ in range(rounds)]
        show(f"{n:,} rows, a task and 2 scorers, to Parquet", ours, "ms", "<= 0.12 ms per row")
        return
    ratios = [measure(scratch, n, OURS)[0] / measure(scratch, n, THEIRS)[0] for _ in range(rounds)]
    show(f"{n:,} rows to Parquet / pydantic-evals", ratios, "x", "<= 0.7 x")


def bench_rescoring(scratch: Path, *, quick: bool) -> None:
    n, rounds = (200, 1) if quick else (10_000, 5)
    for loop, name, target in (
        (NATURAL, "a loop over rows as dicts", "<= 2 x"),
        (BARE, "a loop over one column", "(no target)"),
    ):
        ratios = [
            measure(scratch, n, OURS, RESCORE)[0] / measure(scratch, n, OURS, loop)[0]
            for _ in range(rounds)
        ]
        show(f"rescore {n:,} rows, 1 of 3 new / {name}", ratios, "x", target)


def bench_rows(scratch: Path, *, quick: bool) -> None:
    n, rounds = (200, 1) if quick else (10_000, 2)
    pairs = [(measure(scratch, 10 * n, OURS), measure(scratch, n, OURS)) for _ in range(rounds)]
    ratios = [many[0] / few[0] for many, few in pairs]
    show(f"{10 * n:,} rows / {n:,}", ratios, "x", "<= 11 x")
    peaks = [many[1] for many, _ in pairs]
    show(f"  memory above start, {10 * n:,} rows", peaks, "MB", "<= 60 MB")
    there = scratch / "export"
    measure(scratch, 10 * n, OURS, there=there)
    exported = measure(scratch, 10 * n, EXPORT, there=there)[1]
    show(f"  memory of an export, {10 * n:,} rows", [exported], "MB", "<= 60 MB")

"""What it costs to write results down, and to sum up many."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from pytest_chalk.reports.epoch_summary import overall_interval, render_epochs
from pytest_chalk.reports.score_table import render_score_table
from pytest_chalk.schemas.record import RunRecord, StepRecord, Usage
from pytest_chalk.store.journal import Journal
from tests.benchmarks.measure import cost_of, show


def record(number: int) -> RunRecord:
    """Return a record as a run of three steps leaves it: 20,000 tasks, five epochs of each."""
    task, epoch = divmod(number, 5)
    steps = tuple(
        StepRecord(
            index=index,
            of=3,
            name=f"step {index}",
            outcome="passed",
            score=(number % 7) / 7,
            continue_task=True,
            metadata={"stdout": "x" * 200, "checks": {"a": 1, "b": [1, 2, 3]}},
            usage=Usage(turns=4, input_tokens=4_000, output_tokens=500),
            duration_s=12.5,
            instructions="Do what is asked. " * 10,
        )
        for index in range(3)
    )
    return RunRecord(
        run_id=f"t{task}-m-{number}",
        task_id=f"t{task}",
        model="openai/some-model",
        outcome="passed" if number % 3 else "failed",
        score=(number % 7) / 7,
        steps=steps,
        usage=Usage(turns=12, input_tokens=12_000, output_tokens=1_500),
        nodeid=f"tasks/t{task}/__init__.py::T[openai/some-model-e{epoch + 1}]",
        epoch=epoch + 1,
        duration_s=40.0,
    )


def write_journal(path: Path, records: list[RunRecord]) -> None:
    journal = Journal(path)
    started = {"schema_version": 1, "session_id": "s", "started_at": "2026-01-01T00:00:00+00:00"}
    more = {"models": ["m"], "arguments": [], "junit_steps": True, "junit_properties": True}
    journal.append("session_started", {**started, **more})
    for each in records:
        for step in each.steps:
            journal.append("step", {"nodeid": each.nodeid}, record=step)
        journal.append("run", {"nodeid": each.nodeid}, record=each, sync=True)
    journal.close()


def milliseconds(act: Callable[[], object]) -> float:
    started = time.process_time()
    act()
    return (time.process_time() - started) * 1000


def bench_journal(scratch: Path, *, quick: bool) -> None:
    count = 200 if quick else 2_000
    records = [record(number) for number in range(count)]
    figures = []
    for turn in range(3):
        file = scratch / f"journal{turn}.jsonl"
        figures.append(milliseconds(lambda file=file: write_journal(file, records)) / count)
    show("journal: a run of three steps", figures, "ms", "<= 2 ms")
    text = (scratch / "journal0.jsonl").read_bytes()
    floor = milliseconds(lambda: (scratch / "floor").write_bytes(text)) / count
    show("  writing its bytes at once", [floor], "ms", "(the floor)")


def bench_summary(scratch: Path, *, quick: bool) -> None:
    count = 1_000 if quick else 100_000
    records = [record(number) for number in range(count)]

    def sum_up() -> None:
        render_score_table(records)
        render_epochs(records)
        overall_interval(records)

    figures = [milliseconds(sum_up) / 1000 for _ in range(3)]
    show(f"summary of {count:,} records", figures, "s", "<= 3 s")
    session = scratch / ".chalk/sessions/20260101T000000Z-aaaaaa"
    session.mkdir(parents=True)
    write_journal(session / "journal.jsonl", records)
    show_command = [sys.executable, "-m", "pytest_chalk", "show", "--session-dir", ".chalk"]
    shown = cost_of(show_command, scratch).cpu_s
    show(f"pytest-chalk show of {count:,} runs", [shown], "s", "(no target)")

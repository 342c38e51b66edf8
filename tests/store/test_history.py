"""What runs took in earlier sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chalk.schemas.record import VALIDATION, RunRecord, Usage
from pytest_chalk.store.history import read_history
from pytest_chalk.store.journal import Journal


def record(nodeid: str = "a::A[m]", outcome: str = "passed", **fields: object) -> RunRecord:
    known = {"run_id": "r", "task_id": "a", "model": "m", "nodeid": nodeid, "outcome": outcome}
    return RunRecord.model_validate({**known, "duration_s": 4.0, **fields})


def session(base: Path, name: str, *records: RunRecord) -> Path:
    directory = base / "sessions" / name
    directory.mkdir(parents=True)
    journal = Journal(directory / "journal.jsonl")
    journal.append("session_started", {"session_id": name})
    for each in records:
        journal.append("run", {"nodeid": each.nodeid}, record=each)
    journal.close()
    return directory / "journal.jsonl"


def test_measured_runs_come_with_their_times_the_newest_session_first(tmp_path: Path):
    session(tmp_path, "s1", record(duration_s=1.0))
    session(tmp_path, "s2", record(duration_s=2.0), record("a::B[m]", "failed", duration_s=3.0))

    found = [(run.session_id, run.nodeid, run.duration_s) for run in read_history(tmp_path)]

    assert found == [("s2", "a::B[m]", 3.0), ("s2", "a::A[m]", 2.0), ("s1", "a::A[m]", 1.0)]


@pytest.mark.parametrize("outcome", ["error", "not_run", "skipped"])
def test_what_was_not_measured_tells_nothing(tmp_path: Path, outcome: str):
    session(tmp_path, "s1", record(outcome=outcome))

    assert list(read_history(tmp_path)) == []


def test_a_validation_of_a_task_is_no_run_of_its_students(tmp_path: Path):
    session(tmp_path, "s1", record(duration_s=1.0))
    session(tmp_path, "s2", record(model=VALIDATION, duration_s=99.0))

    assert [run.duration_s for run in read_history(tmp_path)] == [1.0]


def test_a_run_that_was_judged_again_counts_once(tmp_path: Path):
    began = {"started_at": "2026-01-01T00:00:00Z"}
    session(tmp_path, "s1", record(**began))
    session(tmp_path, "s2", record(**began, outcome="failed"))

    assert [run.session_id for run in read_history(tmp_path)] == ["s2"]


@pytest.mark.parametrize(
    ("usage", "judges", "cost"),
    [
        ({}, {}, (0.0, True)),
        ({"input_tokens": 9, "usd": 0.25}, {}, (0.25, True)),
        ({"input_tokens": 9, "usd": 0.25}, {"input_tokens": 1, "usd": 0.5}, (0.75, True)),
        ({"input_tokens": 9}, {}, (0.0, False)),
        ({"input_tokens": 9, "usd": 0.25}, {"output_tokens": 1}, (0.25, False)),
    ],
)
def test_a_cost_is_known_where_all_that_was_used_has_a_price(
    tmp_path: Path, usage: dict, judges: dict, cost: tuple[float, bool]
):
    session(tmp_path, "s1", record(usage=Usage(**usage), judge_usage=Usage(**judges)))

    (run,) = read_history(tmp_path)

    assert (run.usd, run.is_price_known) == cost


def test_what_cannot_be_read_is_passed_over(tmp_path: Path):
    journal = session(tmp_path, "s1", record())
    lines = [b'{"type":"run"', b'{"type":"run","record":7}', b'{"type":"run","record":{}}']
    more = [b'{"type":"run","record":{"outcome":"passed"}}', b'{"type":"run","reco']
    journal.write_bytes(journal.read_bytes() + b"\n".join([*lines, *more]))

    assert len(list(read_history(tmp_path))) == 1


def test_no_more_sessions_are_read_than_fit(tmp_path: Path):
    for number in range(3):
        size = session(tmp_path, f"s{number}", record(duration_s=number)).stat().st_size

    found = [run.session_id for run in read_history(tmp_path, max_bytes=size + 1)]

    assert found == ["s2", "s1"]


def test_without_sessions_there_is_no_history(tmp_path: Path):
    assert list(read_history(tmp_path)) == []

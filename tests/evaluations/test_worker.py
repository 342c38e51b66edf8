"""The worker carries `workflow` runs to their ends; commands read what there is."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from evaluations.conftest import REPOSITORY, printed_json, run_script

SCRIPT = """
import json, sys
import chalkcompute

@chalkcompute.function
def double(n):
    return 2 * n

close = chalkcompute.scorers.numeric_close(inputs=("output", "n"), name="close")

if __name__ == "__main__":
    rows = [{"n": i} for i in range(4)]
    dataset = chalkcompute.DatasetClient().upload("n", rows)
    evaluation = chalkcompute.Evaluation.create(
        "doubling", dataset=dataset, task=double, scorers=[close], metadata={"of": "test"}
    )
    run = evaluation.run(execution_mode=sys.argv[1] if len(sys.argv) > 1 else None)
    print(json.dumps([run.id, run.execution_mode]))
"""


def command(directory, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest_chalk", *arguments],
        cwd=directory,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def environment():
    inherited = {k: v for k, v in os.environ.items() if "CHALK" not in k}
    return {**inherited, "PYTHONPATH": str(REPOSITORY)}


@pytest.fixture
def worker(tmp_path):
    (tmp_path / "pytest.ini").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_chalk", "worker"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline().startswith("worker ")
    yield process
    process.kill()
    process.communicate()


def status_of(directory, run_id):
    code = f"""
        import json
        from pytest_chalk.evaluations.place import current_place
        print(json.dumps(current_place().store.get_run({run_id!r}).status))
    """
    return printed_json(run_script(directory, code))


def test_a_run_is_carried_out_by_a_worker_though_nobody_reads_it(tmp_path, worker):
    run_id, mode = printed_json(run_script(tmp_path, SCRIPT))

    assert mode == "workflow"
    assert worker.stdout.readline().strip() == f"run {run_id}: 4 rows"
    assert worker.stdout.readline().strip() == f"run {run_id}: succeeded"

    worker.send_signal(signal.SIGINT)
    _, complaint = worker.communicate(timeout=20)
    assert (worker.returncode, complaint.strip()) == (2, "interrupted")
    ran = run_script(tmp_path, SCRIPT, "workflow")
    assert ran.returncode == 1
    assert "no worker runs" in ran.stderr


@pytest.mark.slow
def test_the_next_worker_finishes_what_a_killed_one_has_begun(tmp_path, worker):
    slow = SCRIPT.replace("return 2 * n", "import time; time.sleep(0.4); return 2 * n").replace(
        "evaluation.run(", "evaluation.run(concurrency=1, "
    )
    run_id, _ = printed_json(run_script(tmp_path, slow))
    worker.stdout.readline()
    time.sleep(0.3)

    worker.kill()
    worker.communicate()
    assert status_of(tmp_path, run_id) in {"pending", "running"}
    (tmp_path / "script.py").write_text(slow)  # the definitions that are pinned
    ran = command(tmp_path, "worker", "--until-idle")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == f"run {run_id}: succeeded"


@pytest.fixture
def run_id(tmp_path):
    return printed_json(run_script(tmp_path, SCRIPT))[0]


def test_list_and_show_carry_an_on_read_run_on(tmp_path, run_id):
    listed = command(tmp_path, "evaluations", "list")

    assert listed.returncode == 0, listed.stderr
    assert "doubling" in listed.stdout
    assert "succeeded  close 0.625" in listed.stdout

    shown = command(tmp_path, "evaluations", "show", run_id[:8])
    assert "status: succeeded" in shown.stdout
    assert "row 1: 0.5  n=1 output=2" in shown.stdout


RESCORED = (
    SCRIPT
    + """
    other = chalkcompute.scorers.numeric_close(
        inputs=("output", "n"), name="close", tolerance=1
    )
    print(json.dumps([evaluation.id, run.id, run.wait().rescore(scorers=[other]).wait().id]))
"""
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with an evaluation, its run, and a rescore of that, which tests only read."""
    directory = tmp_path_factory.mktemp("project")
    return directory, *printed_json(run_script(directory, RESCORED))


def test_show_of_an_evaluation_has_what_is_pinned_and_its_runs(project):
    directory, evaluation_id, run_id, _ = project

    shown = command(directory, "evaluations", "show", evaluation_id)
    found = json.loads(command(directory, "evaluations", "show", evaluation_id, "--json").stdout)

    assert "metadata: {'of': 'test'}" in shown.stdout
    assert run_id in shown.stdout
    assert (found["task"], found["runs"][0]["id"]) == ("double", run_id)


def test_compare_pairs_two_runs_by_row(project):
    directory, _, before, after = project

    shown = command(directory, "evaluations", "compare", before, after)
    found = json.loads(command(directory, "evaluations", "compare", before, after, "--json").stdout)

    assert shown.returncode == 0, shown.stderr
    close = found["scorers"]["close"]
    assert (close["before"], close["after"], close["pairs"]) == (0.625, 0.5, 4)
    assert (close["better"], close["worse"]) == ([1], [2, 3])
    assert "worse by close: rows 2, 3" in shown.stdout


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_results_are_exported(project, tmp_path, form):
    directory, _, run_id, _ = project
    written = tmp_path / "out"

    ran = command(
        directory, "evaluations", "export", run_id, "--format", form, "--output", str(written)
    )

    assert ran.returncode == 0, ran.stderr
    if form == "jsonl":
        rows = [json.loads(line) for line in written.read_text().splitlines()]
        assert (rows[1]["n"], rows[1]["output"], rows[1]["close_value"]) == (1, 2, 0.5)
    elif form == "csv":
        with written.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        assert (rows[1]["n"], rows[1]["output"], rows[1]["close_value"]) == ("1", "2", "0.5")
    else:
        assert written.read_bytes()[:4] == b"PAR1"


@pytest.mark.parametrize("arguments", [("show", "zzz"), ("show", ""), ("compare", "a"), ("nope",)])
def test_what_is_not_there_or_not_clear_is_wrong_usage(project, arguments):
    assert command(project[0], "evaluations", *arguments).returncode == 4


def test_a_worker_fails_a_run_whose_code_it_cannot_load(tmp_path, worker):
    worker.send_signal(signal.SIGSTOP)  # it is there, and does nothing
    run_id, _ = printed_json(run_script(tmp_path, SCRIPT))
    broken = "raise OSError('no such disk')\n" + SCRIPT
    (tmp_path / "script.py").write_text(broken)
    worker.kill()
    worker.communicate()

    ran = command(tmp_path, "worker", "--until-idle")

    assert ran.returncode == 0, ran.stderr
    last = ran.stdout.splitlines()[-1]
    assert last.startswith(f"run {run_id}: failed function 'double' of ")
    assert "OSError: no such disk" in last


def test_definitions_that_run_something_when_they_are_loaded_are_told_so(tmp_path, run_id):
    loose = SCRIPT.replace('if __name__ == "__main__":', "if True:")
    (tmp_path / "script.py").write_text(loose)

    ran = command(tmp_path, "evaluations", "show", run_id)

    assert "status: pending" in ran.stdout
    assert "under `if __name__" in ran.stderr


def test_an_export_that_fails_leaves_the_file_it_was_to_replace(tmp_path):
    written = tmp_path / "out"
    written.write_text("before")
    canceled = SCRIPT.replace("    print(", "    run.cancel()\n    print(")
    run_id = printed_json(run_script(tmp_path, canceled, "on_read"))[0]

    ran = command(tmp_path, "evaluations", "export", run_id, "--output", str(written))

    assert ran.returncode, ran.stdout
    assert "has no results" in ran.stderr
    assert written.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []

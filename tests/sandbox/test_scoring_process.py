from __future__ import annotations

import signal
import time

import pytest

from pytest_chalk.sandbox import run_trusted


@pytest.fixture
def score(tmp_path):
    def run(script, *, time_limit_s=10.0, max_output_bytes=10_000):
        return run_trusted(
            ["/bin/sh", "-c", script],
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "GREETING": "hello"},
            time_limit_s=time_limit_s,
            max_output_bytes=max_output_bytes,
        )

    return run


def test_a_script_runs_in_its_folder_with_its_environment_and_no_input(score, tmp_path):
    completed = score("pwd; echo $GREETING; wc -c; exit 2")

    assert completed.stdout.decode().split() == [str(tmp_path), "hello", "0"]
    assert (completed.exit_code, completed.timed_out) == (2, False)


def test_scoring_ends_when_the_script_ends_whoever_holds_its_pipes(score, wait_until_gone):
    started = time.monotonic()

    completed = score("sleep 60 & echo $!")

    assert time.monotonic() - started < 1.5
    assert wait_until_gone([int(completed.stdout)]) == []


def test_at_the_time_limit_the_scripts_group_is_killed(score, wait_until_gone):
    completed = score("echo $$; sleep 60 & echo $!; trap '' TERM; wait", time_limit_s=0.3)

    assert (completed.timed_out, completed.exit_code) == (True, -9)
    assert wait_until_gone(map(int, completed.stdout.split())) == []


def test_an_interrupt_kills_the_script_and_goes_on_up(score, tmp_path, wait_until_gone):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)

    with pytest.raises(KeyboardInterrupt):
        score("echo $$ >pid; sleep 60")

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert wait_until_gone([int((tmp_path / "pid").read_text())]) == []


def test_floods_of_output_are_bounded(score):
    completed = score("head -c 30000000 /dev/zero; echo end >&2", max_output_bytes=100)

    assert completed.truncated
    assert len(completed.stdout) < 200
    assert completed.stderr == b"end\n"


def test_a_missing_script_is_the_callers_to_explain(tmp_path):
    with pytest.raises(FileNotFoundError):
        run_trusted(
            [str(tmp_path / "none")], cwd=tmp_path, env={}, time_limit_s=1, max_output_bytes=10
        )

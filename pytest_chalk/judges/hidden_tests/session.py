"""One session of hidden tests: what is copied where, how pytest is started, what came of it."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError, StudentMisbehaviorError, TaskDefinitionError
from pytest_chalk.grading.hidden_tests import Tally, find_tests, tally_reports
from pytest_chalk.judges.hidden_tests.interpreter import find_interpreter
from pytest_chalk.reports.clean import shortened
from pytest_chalk.sandbox import Command, open_trial, run_command
from pytest_chalk.schemas.scoring import Scoring

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.judges.hidden_tests import HiddenTestsJudge
    from pytest_chalk.sandbox import Completed, Trial

DRIVER = Path(__file__).with_name("driver.py")

MAX_OUTPUT_BYTES = 1_048_576
"""Of the reports, and of all that was printed: a report is some 200 bytes, three of them a test."""

MAX_SHOWN_CHARS = 32_768
"""Of what was printed, head and tail. It goes into every report."""

DECOY_REASON = "meant to fail: were it reported as passed, the results would be forged"

MAX_LISTED = 20
"""Tests named in the reason for a score. The metadata has all."""


def judge_by_tests(judge: HiddenTestsJudge) -> Scoring:
    """Return the verdict of the hidden tests: see `HiddenTestsJudge.evaluate`."""
    files = _test_files(judge.tests)
    expected = judge.expected if judge.expected is not None else _read_expected(judge.tests, files)
    if not expected:
        raise _no_tests(judge.tests, "defines no test")
    if not judge.submission.exists():
        cause = f"{judge.submission.name!r} was not handed in"
        verdicts = dict.fromkeys(expected, "missing")
        return Scoring(0.0, {"error": cause, "tests": verdicts}, continue_task=False)
    token = secrets.token_hex(16)
    decoy = f"test_{secrets.token_hex(8)}"
    with open_trial() as trial:
        plan = _lay_out(trial, judge, files, decoy)
        completed = _run(trial, judge, {**plan, "token": token})
    decoy_id = f"{decoy}.py::{decoy}"
    tally = tally_reports(completed.stdout, token, expected, decoy_id)
    if not tally.started:
        cause = "ran out of time" if completed.timed_out else f"exited {completed.exit_code}"
        message = (
            f"pytest did not start for the hidden tests: it {cause}. {_shown(completed.stderr)}"
        )
        raise MachineError(message)
    if tally.forged is not None:
        message = f"the results of the hidden tests are forged: {tally.forged}"
        raise StudentMisbehaviorError(message)
    return _scoring(judge, tally, completed)


def _test_files(tests: Path) -> list[Path]:
    if not tests.is_dir():
        if not tests.is_file():
            raise _no_tests(tests, "does not exist")
        return [tests]
    return sorted({*tests.rglob("test_*.py"), *tests.rglob("*_test.py")})


def _read_expected(tests: Path, files: Sequence[Path]) -> list[str]:
    root = tests if tests.is_dir() else tests.parent
    found = []
    for path in files:
        try:
            source = path.read_text(encoding="utf-8")
            found += find_tests(path.relative_to(root).as_posix(), source)
        except (SyntaxError, ValueError, OSError) as error:
            raise _no_tests(path, f"cannot be read: {error}") from error
    return found


def _no_tests(tests: Path, problem: str) -> TaskDefinitionError:
    return TaskDefinitionError(
        f"hidden tests {str(tests)!r}",
        problem,
        fix="Name a file of test functions, or a folder with test_*.py",
    )


def _lay_out(
    trial: Trial, judge: HiddenTestsJudge, files: Sequence[Path], decoy: str
) -> dict[str, object]:
    """Copy everything to where the student can read it; return the plan for the driver."""
    root = judge.tests if judge.tests.is_dir() else judge.tests.parent
    names = [path.relative_to(root).as_posix() for path in files]
    copied = trial.put(judge.tests, "tests" if judge.tests.is_dir() else f"tests/{names[0]}")
    tests = copied if judge.tests.is_dir() else copied.parent
    submission = trial.put(judge.submission, f"submission/{judge.submission.name}")
    is_package = not submission.is_dir() or (submission / "__init__.py").is_file()
    importable = submission.parent if is_package else submission
    (trial.folder / "pytest.ini").write_text("[pytest]\n")
    # Imported by the tests' process like any other file of theirs; in front, so that it is reported
    # before anything that could end the process.
    (tests / f"{decoy}.py").write_text(f"def {decoy}():\n    assert 1 == 2, {DECOY_REASON!r}\n")
    for path in (trial.folder / "pytest.ini", tests / f"{decoy}.py"):
        path.chmod(0o644)
    return {
        "rootdir": str(tests),
        "ini": str(trial.folder / "pytest.ini"),
        "search": [str(tests), str(importable)],
        "tests": [str(tests / name) for name in (f"{decoy}.py", *names)],
        "submission": str(submission),
    }


def _run(trial: Trial, judge: HiddenTestsJudge, plan: Mapping[str, object]) -> Completed:
    interpreter = find_interpreter(trial.box, judge.python)
    driver = trial.put(DRIVER, "driver.py")
    environment = {
        "HOME": str(trial.home),
        "TMPDIR": str(trial.home),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "SUBMISSION": str(plan["submission"]),
    }
    argv = (interpreter.path, "-I", "-B", "-Xutf8", str(driver))
    return run_command(
        trial.box,
        Command(argv, env=environment, cwd=trial.home),
        time_limit_s=judge.timeout_s,
        max_output_bytes=MAX_OUTPUT_BYTES,
        stdin=json.dumps({**plan, "runtime": interpreter.runtime}).encode(),
    )


def _scoring(judge: HiddenTestsJudge, tally: Tally, completed: Completed) -> Scoring:
    not_passed = [name for name, verdict in tally.verdicts.items() if verdict != "passed"]
    metadata: dict[str, object] = {
        "passed": f"{tally.passed} of {len(tally.verdicts)}",
        "tests": dict(tally.verdicts),
        "output": _shown(completed.stderr),
    }
    if tally.unexpected:
        metadata["not expected"] = list(tally.unexpected)
    if not_passed:
        listed = ", ".join(not_passed[:MAX_LISTED]) + ", …" * (len(not_passed) > MAX_LISTED)
        ended = _ending(judge, completed)
        metadata["error"] = (
            f"{len(not_passed)} of {len(tally.verdicts)} hidden tests did not pass{ended}: {listed}"
        )
    goes_on = tally.score >= judge.continue_threshold
    return Scoring(tally.score, metadata, goes_on)


def _ending(judge: HiddenTestsJudge, completed: Completed) -> str:
    if completed.timed_out:
        return f" within the time limit of {judge.timeout_s:g} s"
    if completed.exit_code < 0:
        return f" (their process was killed by signal {-completed.exit_code})"
    return ""


def _shown(output: bytes) -> str:
    return shortened(output.decode("utf-8", "replace"), MAX_SHOWN_CHARS)

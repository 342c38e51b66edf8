"""The commands that read what sessions left: `show`, `junit`, `export`."""
# ruff: noqa: PLC0415 - a command imports what it needs, so that `--help` costs little

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import TextIO

    from pytest_chalk.reports.comparison import Entry
    from pytest_chalk.schemas.record import RunRecord
    from pytest_chalk.schemas.transcript import Transcript
    from pytest_chalk.store.session_directory import SessionDirectory
    from pytest_chalk.store.session_log import SessionLog

EXIT_OK = 0

EXIT_DROPPED = 1
"""Of `compare`: something fell significantly."""


def add_session_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the commands."""
    show = commands.add_parser("show", help="print a session, or the transcript of one of its runs")
    show.add_argument("names", metavar="[ID] [RUN]", nargs="*", help="default: the newest session")
    show.set_defaults(command=_show)
    junit = commands.add_parser("junit", help="print a session's JUnit file, made from its journal")
    export = commands.add_parser("export", help="print a session's runs with their conversations")
    export.add_argument("--format", choices=("jsonl", "markdown"), default="jsonl")
    for parser, command in ((junit, _junit), (export, _export)):
        parser.add_argument("session", metavar="ID", nargs="?", default="")
        parser.add_argument("--output", metavar="FILE", help="write there, not to the terminal")
        parser.set_defaults(command=command)
    compare = commands.add_parser("compare", help="compare two sessions, or baseline files")
    compare.add_argument("before", metavar="A", help="session id, or baseline file")
    compare.add_argument("after", metavar="B")
    compare.set_defaults(command=_compare)
    for parser in (show, junit, export, compare):
        parser.add_argument("--session-dir", metavar="DIR", help="where sessions are kept")


def session_base(chosen: argparse.Namespace) -> Path:
    """Return the directory that holds the sessions, as pytest would choose it."""
    from pytest_chalk.discovery.settings import find_session_base

    return find_session_base(chosen.session_dir)


def load_session(base: Path, session_id: str) -> tuple[SessionDirectory, SessionLog]:
    """Return a session and what its journal says.

    Raises:
        RunOptionError: There is no such session.
        MachineError: Its journal cannot be read.
    """
    from pytest_chalk.store.session_directory import find_session
    from pytest_chalk.store.session_log import read_session

    directory = find_session(base, session_id)
    return directory, read_session(directory.journal)


def _show(chosen: argparse.Namespace) -> int:
    from pytest_chalk.errors import RunOptionError
    from pytest_chalk.store.session_directory import session_ids

    base, names = session_base(chosen), list(chosen.names)
    if len(names) > 2:
        raise RunOptionError("show", f"got {len(names)} names", fix="Give a session and a run")
    is_run = len(names) == 1 and not any(
        known.startswith(names[0]) for known in [*session_ids(base), "latest"]
    )
    session_id, run_name = [*names, "", ""][:2] if not is_run else ("", names[0])
    directory, log = load_session(base, session_id)
    if run_name:
        _print_run(_find_run(log, run_name), directory)
    else:
        _write(_session_lines(directory, log))
    return EXIT_OK


def _find_run(log: SessionLog, name: str) -> RunRecord:
    """Return the run of that id, task id or node id, or whose id begins so."""
    from pytest_chalk.errors import RunOptionError

    runs = log.runs
    tests = (
        lambda run: name in {run.run_id, run.nodeid},
        lambda run: name == run.task_id,
        lambda run: run.run_id.startswith(name) or run.nodeid.endswith(f"::{name}"),
    )
    fits = next((found for test in tests if (found := list(filter(test, runs)))), [])
    if len(fits) == 1:
        return fits[0]
    listed = ", ".join(run.run_id or run.nodeid for run in fits or runs)
    problem = f"{len(fits)} runs fit" if fits else "no run fits"
    raise RunOptionError(
        where=f"run {name!r}",
        problem=f"{problem} in session {log.session_id}",
        fix=f"Name one of: {listed}",
    )


def _print_run(run: RunRecord, directory: SessionDirectory) -> None:
    from pytest_chalk.reports.failure_text import render_run_failure
    from pytest_chalk.reports.transcript_text import render_transcript

    transcript = read_run_transcript(run, directory)
    if transcript is None:
        _write([render_run_failure(run), "its transcript is gone"])
    else:
        _write(render_transcript(transcript.events))


def read_run_transcript(run: RunRecord, directory: SessionDirectory) -> Transcript | None:
    """Return a run's transcript, also after the project was moved; None where it is gone."""
    from pathlib import Path

    from pytest_chalk.errors import MachineError
    from pytest_chalk.store.transcript_file import read_transcript

    if not run.transcript:
        return None
    path = directory.path / "runs" / Path(run.transcript).name
    if not path.is_file():
        return None
    try:
        return read_transcript(path)
    except ValueError as error:
        message = f"transcript {str(path)!r} cannot be read: {error}"
        raise MachineError(message) from error


def _session_lines(directory: SessionDirectory, log: SessionLog) -> Iterator[str]:
    from pytest_chalk.reports.score_table import render_score_table
    from pytest_chalk.reports.summary import mean_score

    ended = "killed" if log.exit_status is None else f"exit status {log.exit_status}"
    resumed = f", resumed {len(log.parts) - 1} times" if len(log.parts) > 1 else ""
    yield f"session {log.session_id}, {log.parts[0] if log.parts else '?'}, {ended}{resumed}"
    yield f"pytest {' '.join(log.arguments)}".rstrip()
    if log.runs:
        yield from render_score_table(log.runs)
    planned = log.planned_runs
    mean = mean_score(planned)
    scored = sum(run.is_scored for run in planned)
    left = sum(item.run is None and item.counts for item in log.items.values())
    shown = "no score" if mean is None else f"mean {mean:.3f}"
    yield f"{shown} over {scored} scored of {len(planned) + left}"
    for run in planned:
        if run.outcome != "passed":
            yield f"{run.outcome.replace('_', ' ')} {run.nodeid}: {run.reason}"
    for nodeid, item in log.items.items():
        if item.run is None and item.counts:
            yield f"no verdict {nodeid}"
    yield from (f"FAIL chalk: {problem}" for problem in log.problems or ())
    yield f"records: {directory.path}"


def _junit(chosen: argparse.Namespace) -> int:
    import xml.etree.ElementTree as ET

    from pytest_chalk.reports.junit import JunitCase, JunitStyle, rewrite_junit
    from pytest_chalk.reports.junit_suite import new_document, suite_properties
    from pytest_chalk.reports.junit_tests import lay_out

    _, log = load_session(session_base(chosen), chosen.session)
    root = new_document(timestamp=log.parts[0] if log.parts else "", seconds=log.seconds)
    cases = [
        JunitCase(
            item.nodeid,
            item.run if item.left_out is None else None,
            item.output,
            item.teardown_error,
            left_out=item.left_out,
            properties=item.properties,
            duration_s=item.duration_s,
        )
        for item in log.items.values()
        if item.run is not None or item.left_out is not None
    ]
    for suite in root.iter("testsuite"):
        suite.extend(lay_out(cases, log.tests))
    gate = None if log.problems is None else not log.problems
    properties = suite_properties(log.session_id, log.runs, log.planned_runs, gate=gate)
    properties |= log.isolation
    style = JunitStyle(steps=log.junit_steps, properties=log.junit_properties)
    rewrite_junit(root, cases, properties, style)
    text = ET.tostring(root, encoding="unicode", xml_declaration=False)
    _write(["<?xml version='1.0' encoding='utf-8'?>", text], chosen.output)
    return EXIT_OK


def _export(chosen: argparse.Namespace) -> int:
    import json

    from pytest_chalk.reports.rollout import render_rollout, rollout

    directory, log = load_session(session_base(chosen), chosen.session)
    runs = ((run, read_run_transcript(run, directory)) for run in log.runs)
    if chosen.format == "jsonl":
        _write((json.dumps(rollout(*pair)) for pair in runs), chosen.output)
    else:
        _write((render_rollout(*pair) for pair in runs), chosen.output)
    return EXIT_OK


def _compare(chosen: argparse.Namespace) -> int:
    from pytest_chalk.reports.baseline_text import find_drops, render_comparison
    from pytest_chalk.reports.comparison import compare

    base = session_base(chosen)
    before, same = _measured(base, chosen.before)
    after, also_same = _measured(base, chosen.after)
    comparison = compare(before, after, deterministic=same | also_same)
    _write(render_comparison(comparison))
    return EXIT_DROPPED if find_drops(comparison) else EXIT_OK


def _measured(base: Path, name: str) -> tuple[dict[str, Entry], set[str]]:
    """Return the entries of a baseline file or a session, and those of deterministic students."""
    from pathlib import Path

    from pytest_chalk.reports.baseline_text import parse_baseline
    from pytest_chalk.reports.comparison import deterministic_groups, entries_of

    if Path(name).is_file():
        return parse_baseline(Path(name).read_text(encoding="utf-8"), name), set()
    _, log = load_session(base, name)
    return entries_of(log.planned_runs), deterministic_groups(log.planned_runs)


def _write(lines: Iterator[str] | Sequence[str], path: str | None = None) -> None:
    """Write lines to a file, or to the terminal.

    Raises:
        RunOptionError: The file cannot be written.
    """
    from pathlib import Path

    from pytest_chalk.errors import RunOptionError

    if not path:
        _write_all(lines, sys.stdout)
        return
    try:
        with Path(path).open("w", encoding="utf-8") as opened:
            _write_all(lines, opened)
    except OSError as error:
        raise RunOptionError(
            where=f"--output {path}",
            problem=f"cannot be written: {error}",
            fix="Name another file",
        ) from error


def _write_all(lines: Iterator[str] | Sequence[str], to: TextIO) -> None:
    to.writelines(f"{line}\n" for line in lines)

"""The commands about evaluations: `evaluations list|show|compare|export`, `worker`."""
# ruff: noqa: PLC0415 - a command imports what it needs, so that `--help` costs little

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.evaluations.run_handle import EvaluationRun

EXIT_OK = 0

READ_S = 2.0
"""How long a command that reads an `on_read` run carries it on."""


def add_evaluation_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the commands."""
    evaluations = commands.add_parser("evaluations", help="look at evaluations and their runs")
    below = evaluations.add_subparsers(required=True, metavar="COMMAND")
    listing = below.add_parser("list", help="list evaluations with their latest runs")
    listing.add_argument("--limit", metavar="N", type=int, default=20, help="default: 20")
    show = below.add_parser("show", help="print an evaluation with its runs, or a run")
    show.add_argument("id", metavar="ID", help="the beginning of an id will do")
    compare = below.add_parser("compare", help="compare two runs, row by row")
    compare.add_argument("before", metavar="RUN")
    compare.add_argument("after", metavar="RUN")
    export = below.add_parser("export", help="write the results of a run")
    export.add_argument("run", metavar="RUN")
    export.add_argument("--format", choices=("jsonl", "csv", "parquet"), default="jsonl")
    export.add_argument("--output", metavar="FILE", help="write there, not to the terminal")
    worker = commands.add_parser("worker", help="carry `workflow` runs to their ends")
    worker.add_argument("--until-idle", action="store_true", help="end when no run is left")
    for parser, command in (
        (listing, _list), (show, _show), (compare, _compare), (export, _export), (worker, _work),
    ):  # fmt: skip
        parser.add_argument("--session-dir", metavar="DIR", help="where the store is kept")
        parser.set_defaults(command=command)
    for parser in (listing, show, compare):
        parser.add_argument("--json", action="store_true", help="for programs")


def _list(chosen: argparse.Namespace) -> int:
    from pytest_chalk.reports.evaluation_table import render_listing

    place = _place(chosen)
    entries = []
    for definition in place.store.definitions(limit=chosen.limit):
        runs = place.store.runs(evaluation_id=definition.id, limit=1)
        run = _read(place, runs[0].id) if runs else None
        entries.append(
            {
                "id": definition.id,
                "name": definition.name,
                "created_at": definition.created_at.isoformat(),
                "scorers": [scorer.name for scorer in definition.scorers],
                "run": _as_json(run) if run else None,
            }
        )
    return _print(chosen, entries, lambda: render_listing(entries) or ["no evaluations"])


def _show(chosen: argparse.Namespace) -> int:
    from pytest_chalk.reports.evaluation_table import render_evaluation, render_run

    place = _place(chosen)
    kind, found = _find(place, chosen.id, ("evaluation", "run"))
    if kind == "run":
        run = _read(place, found)
        shown = _as_json(run)
        return _print(chosen, shown, lambda: render_run(shown, _worst(run)))
    definition = place.store.get_definition(found)
    runs = [_as_json(_read(place, state.id)) for state in place.store.runs(evaluation_id=found)]
    shown = {
        "id": definition.id,
        "name": definition.name,
        "dataset": definition.dataset.dataset_name,
        "dataset_revision_id": definition.dataset.revision_id,
        "task": definition.task.name,
        "task_function_version_id": definition.task.version_id,
        "scorers": [scorer.name for scorer in definition.scorers],
        "metadata": definition.metadata,
        "created_by": definition.created_by,
        "created_at": definition.created_at.isoformat(),
        "runs": runs,
    }
    return _print(chosen, shown, lambda: render_evaluation(shown))


def _worst(run: EvaluationRun) -> dict[str, list[dict[str, Any]]]:
    return {name: run.worst(name, 3) for name in run.summary.get("scorers", {})}


def _compare(chosen: argparse.Namespace) -> int:
    from pytest_chalk.evaluations.comparison import compare
    from pytest_chalk.reports.evaluation_table import render_comparison

    place = _place(chosen)
    runs = [_read(place, _find(place, name, ("run",))[1]) for name in (chosen.before, chosen.after)]
    found = compare(*runs).as_json()
    return _print(chosen, found, lambda: render_comparison(found))


def _export(chosen: argparse.Namespace) -> int:
    from pytest_chalk.cli.output_file import replacing

    place = _place(chosen)
    run = _read(place, _find(place, chosen.run, ("run",))[1])
    if not chosen.output:
        run.export(sys.stdout.buffer, chosen.format)
        return EXIT_OK
    with replacing(chosen.output) as opened:
        run.export(opened, chosen.format)
    return EXIT_OK


def _work(chosen: argparse.Namespace) -> int:
    from pytest_chalk.evaluations.worker import work

    work(_place(chosen), until_idle=chosen.until_idle, say=_say)
    return EXIT_OK


def _place(chosen: argparse.Namespace) -> Place:
    """Return the store, with the project importable: reading a run may call its code."""
    from pathlib import Path

    from pytest_chalk.discovery.alias_path import prepare_imports
    from pytest_chalk.discovery.settings import (
        find_root,
        find_session_base,
        read_paths,
        read_settings,
    )
    from pytest_chalk.evaluations.place import current_place, use_store

    root = find_root(Path.cwd())
    sys.path[:0] = [*map(str, read_paths(root, "pythonpath")), str(root)]
    prepare_imports(read_settings(root))
    use_store(find_session_base(chosen.session_dir))
    return current_place()


def _find(place: Place, name: str, kinds: Sequence[str]) -> tuple[str, str]:
    """Return kind and id of what has that id, or is the only one whose id begins so.

    Raises:
        RunOptionError: There is none, or there are several.
    """
    from pytest_chalk.errors import RunOptionError

    fits = [(kind, found) for kind in kinds for found in place.store.ids_like(kind, name)]
    if len(fits) == 1:
        return fits[0]
    what = " or ".join(kinds)
    problem = f"{len(fits)} ids begin so" if fits else "there is none"
    fix = "Look at `pytest-chalk evaluations list`"
    raise RunOptionError(where=f"{what} {name!r}", problem=problem, fix=fix)


def _read(place: Place, run_id: str) -> EvaluationRun:
    """Return a run; reading carries an `on_read` run on for a moment."""
    from pytest_chalk.errors import EvaluationError
    from pytest_chalk.evaluations.run_handle import handle_of

    run = handle_of(place, place.store.get_run(run_id))
    if run.is_terminal:
        return run
    try:
        return run.wait(timeout=READ_S, poll_interval=0.2, raise_on_failure=False)
    except TimeoutError:
        return handle_of(place, place.store.get_run(run_id))
    except EvaluationError as error:
        sys.stderr.write(f"run {run_id} cannot go on here: {error}\n")
        return handle_of(place, place.store.get_run(run_id))


def _as_json(run: EvaluationRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "evaluation_id": run.evaluation_id,
        "status": run.status.value,
        "execution_mode": run.execution_mode.value,
        "metadata": run.metadata,
        "created_by": run.created_by,
        "created_at": run.created_at.isoformat(),
        "source_run_id": run.source_run_id,
        "error_message": run.error_message,
        "summary": run.summary,
    }


def _print(chosen: argparse.Namespace, found: object, lines: Any) -> int:  # noqa: ANN401 - a function
    import json

    _say(json.dumps(found, indent=2) if chosen.json else "\n".join(lines()))
    return EXIT_OK


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()

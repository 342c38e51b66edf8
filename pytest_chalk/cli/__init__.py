"""The command line: `pytest-chalk create-task`, `tasks list`, `run`, `show` and others.

Only argparse is imported at the top, so that `--help` costs little more than Python itself; each
command imports what it needs.
"""
# ruff: noqa: PLC0415 - the reason is the sentence above

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from pytest_chalk.cli.evaluations import add_evaluation_commands
from pytest_chalk.cli.sessions import add_session_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_chalk.discovery.classes import TaskDescription
    from pytest_chalk.discovery.settings import DiscoverySettings
    from pytest_chalk.errors import TaskDefinitionError

EXIT_OK = 0
EXIT_PROJECT_ERROR = 1
EXIT_INTERRUPTED = 2
EXIT_USAGE = 4

_ARGPARSE_USAGE = 2
"""argparse's own code for wrong usage, which is pytest's for an interrupt."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; return the exit code.

    0 is fine, 1 an error in the project, 2 an interrupt, 4 wrong usage. A script that `run` runs
    may leave through SystemExit with its own.
    """
    try:
        chosen = _parser().parse_args(arguments)
    except SystemExit as stop:
        return EXIT_USAGE if stop.code == _ARGPARSE_USAGE else EXIT_OK
    command: Callable[[argparse.Namespace], int] = chosen.command
    try:
        return _reporting(command, chosen)
    except KeyboardInterrupt:
        _complain("interrupted")
        return EXIT_INTERRUPTED


def _reporting(command: Callable[[argparse.Namespace], int], chosen: argparse.Namespace) -> int:
    from pytest_chalk.errors import ChalkError, RunOptionError

    try:
        return command(chosen)
    except ChalkError as error:
        _complain(f"error: {_one_line(error)}")
        return EXIT_USAGE if isinstance(error, RunOptionError) else EXIT_PROJECT_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("pytest-chalk", description="Agent tasks as pytest tests.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    create = commands.add_parser("create-task", help="start a task package from the template")
    create.add_argument("name", metavar="NAME", help="the task's id, for example my-task")
    create.set_defaults(command=_create_task)

    tasks = commands.add_parser("tasks", help="look at the project's tasks")
    tasks_commands = tasks.add_subparsers(required=True, metavar="COMMAND")
    listing = tasks_commands.add_parser("list", help="list every task")
    listing.add_argument("--json", action="store_true", help="for programs")
    listing.set_defaults(command=_list_tasks)

    check = commands.add_parser("check", help="show what holds a student on this machine")
    check.add_argument("--isolation", metavar="LEVEL", help="as pytest's --chalk-isolation")
    check.set_defaults(command=_check)

    run = commands.add_parser("run", help="run a script in which `import chalk` works")
    run.add_argument("script", metavar="SCRIPT")
    run.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER)
    run.set_defaults(command=_run_script)

    add_session_commands(commands)
    add_evaluation_commands(commands)

    path = commands.add_parser("alias-path", help="print the directories for a type checker's path")
    path.set_defaults(command=_print_alias_path)
    return parser


def _version() -> str:
    from pytest_chalk import __version__

    return f"pytest-chalk {__version__}"


def _create_task(chosen: argparse.Namespace) -> int:
    import os

    from pytest_chalk.discovery.template import create_task_package

    created = create_task_package(chosen.name, _settings())
    where = os.path.relpath(created.directory)
    _say(f"created {where} with the task {created.task_id!r}")
    _say(f"next: edit {where}/__init__.py, then check that its own solution passes with")
    _say(f"    pytest {where}")
    return EXIT_OK


def _list_tasks(chosen: argparse.Namespace) -> int:
    from contextlib import redirect_stdout

    from pytest_chalk.discovery.listing import list_tasks

    settings = _settings()
    with redirect_stdout(sys.stderr):  # what task modules print is not part of the list
        _prepare(settings)
        listed = list_tasks(settings)
    errors = [*listed.errors, *_unknown_tools(listed.tasks)]
    for error in errors:
        _complain(f"error: {_one_line(error)}")
    if chosen.json:
        import json

        _say(json.dumps([_as_json(task) for task in listed.tasks], indent=2))
    elif listed.tasks:
        _say(_as_table(listed.tasks))
    elif not errors:
        _complain(f"no tasks in {settings.tasks_dir}")
    return EXIT_PROJECT_ERROR if errors else EXIT_OK


def _unknown_tools(tasks: Iterable[TaskDescription]) -> list[TaskDefinitionError]:
    """Return what pytest would refuse at collection too."""
    from pytest_chalk import errors as kinds
    from pytest_chalk.tools.registry import check_tool_names
    from pytest_chalk.tools.tool_file import tool_directories

    errors = []
    for task in tasks:
        try:
            check_tool_names(f"task {task.id!r}", task.tools, tool_directories(task.module))
        except kinds.TaskDefinitionError as error:
            errors.append(error)
    return errors


def _check(chosen: argparse.Namespace) -> int:
    import os

    from pytest_chalk.sandbox import hide
    from pytest_chalk.sandbox.doctor import examine, obstacles_text
    from pytest_chalk.sandbox.isolation import LEVEL_VARIABLE, asked_level, find_obstacles

    if chosen.isolation:
        os.environ[LEVEL_VARIABLE] = chosen.isolation
    settings, (asked, source) = _settings(), asked_level()
    secrets = (settings.root, settings.tasks_dir, settings.root / ".chalk")
    hide(*secrets)
    examined = examine(secrets)
    _say(f"asked: {asked} ({source})")
    why_not_better = obstacles_text(find_obstacles(), examined.level)
    _say(f"level: {examined.level}" + (f" ({why_not_better})" if why_not_better else ""))
    for finding in examined.findings:
        word = "BROKEN" if finding.is_broken else "enforced" if finding.promised else "not enforced"
        _say(f"\n{finding.guarantee.name}: {word}: {finding.guarantee.meaning}")
        _say(f"    seen: {finding.how}")
        if not finding.promised:
            _say(f"    do: {finding.guarantee.remedy}")
    return (
        EXIT_PROJECT_ERROR if any(finding.is_broken for finding in examined.findings) else EXIT_OK
    )


def _run_script(chosen: argparse.Namespace) -> int:
    import runpy
    from pathlib import Path

    from pytest_chalk.errors import RunOptionError

    script: str = chosen.script
    if not Path(script).is_file():
        where = f"run {script}"
        raise RunOptionError(where, "there is no such file", fix="Name a Python script")
    settings = _settings()
    _prepare(settings)
    sys.argv = [script, *chosen.arguments]
    sys.path.insert(0, str(Path(script).parent.absolute()))
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception as error:  # noqa: BLE001 - shown as Python itself would show it
        return _show_failure(error, script, settings)
    return EXIT_OK


def _show_failure(error: Exception, script: str, settings: DiscoverySettings) -> int:
    """Print the script's traceback without our frames, and what is known about a failed import."""
    import traceback

    from pytest_chalk.discovery.alias_path import explain_import_error

    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != script:
        frame = frame.tb_next
    traceback.print_exception(type(error), error, frame)
    explained = explain_import_error(error, settings.aliases)
    if explained:
        _complain(f"pytest-chalk: {explained}.")
    return EXIT_PROJECT_ERROR


def _print_alias_path(_: argparse.Namespace) -> int:
    from pytest_chalk.discovery.alias_path import alias_directories

    for directory in alias_directories().values():
        _say(directory)
    return EXIT_OK


def _settings() -> DiscoverySettings:
    from pathlib import Path

    from pytest_chalk.discovery.settings import find_root, read_settings

    return read_settings(find_root(Path.cwd()))


def _prepare(settings: DiscoverySettings) -> None:
    """Make the project importable as under pytest: its `pythonpath`, the aliases, the root last."""
    from pytest_chalk.discovery.alias_path import prepare_imports
    from pytest_chalk.discovery.settings import read_paths

    for entry in reversed(read_paths(settings.root, "pythonpath")):
        sys.path.insert(0, str(entry))
    if str(settings.root) not in sys.path:
        sys.path.append(str(settings.root))
    prepare_imports(settings)


def _as_json(task: TaskDescription) -> dict[str, object]:
    return {
        "id": task.id,
        "tools": list(task.tools),
        "required_hardware": task.required_hardware,
        "submission_paths": [str(path) for path in task.submission_paths],
        "data_mounts": [mount.model_dump(mode="json") for mount in task.data_mounts],
    }


def _as_table(tasks: Sequence[TaskDescription]) -> str:
    from pytest_chalk.reports.table import align

    heading = ("ID", "STEPS", "TOOLS", "HARDWARE", "SUBMISSIONS")
    rows = [heading] + [
        (
            task.id,
            str(task.n_steps),
            ", ".join(task.tools) or "-",
            task.required_hardware or "-",
            ", ".join(str(path) for path in task.submission_paths) or "-",
        )
        for task in tasks
    ]
    return "\n".join(align(rows, len(heading)))


def _one_line(error: BaseException) -> str:
    """Join the lines of a message, without those that only point into the line above."""
    lines = [line.strip() for line in str(error).splitlines()]
    return "; ".join(line for line in lines if line.strip("^~ "))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _complain(text: str) -> None:
    sys.stderr.write(text + "\n")

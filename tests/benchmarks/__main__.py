"""The figures and their targets."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.measure import (
    WITH_CHALK,
    WITHOUT_CHALK,
    cost_of,
    in_turn,
    pytest_command,
    show,
)

TASK = """
from chalk import Step, Task
from chalk.judges import AlwaysPassJudge


class {name}Step(Step):
    instructions = property(lambda self: "Do nothing.")
    judge = property(lambda self: AlwaysPassJudge())


class {name}(Task):
    id = "{name}"
    system_prompt = property(lambda self: None)
    tools = property(lambda self: [])
    steps = property(lambda self: [{name}Step(config=self.config)])
"""
FUNCTION = """
def test_{name}(subtests):
    with subtests.test("1/1 step"):
        pass
"""
CONFTEST = """
import pytest
from pytest_chalk.models import ScriptedModel

@pytest.fixture
def chalk_model():
    return ScriptedModel(["done"])
"""


def new_project(directory: Path) -> Path:
    directory.mkdir()
    (directory / "pytest.ini").write_text("[pytest]\n")
    return directory


def packages(directory: Path, count: int, *, as_tests: bool = False) -> Path:
    """Make a project of `count` task packages, each also a module for pytest if asked."""
    project = new_project(directory)
    for index in range(count):
        name = f"T{index:05}"
        package = project / "tasks" / name.lower()
        package.mkdir(parents=True)
        source = TASK.format(name=name)
        if as_tests:
            source += f"\n\ndef test_{name}():\n    pass\n"
        (package / "__init__.py").write_text(source)
    return project


def items(directory: Path, count: int, *, as_tasks: bool) -> Path:
    """Make a project of `count` no-op tasks in one package, or as many no-op functions."""
    project = new_project(directory)
    names = [f"T{index:05}" for index in range(count)]
    if as_tasks:
        (project / "tasks/all").mkdir(parents=True)
        (project / "tasks/all/__init__.py").write_text("".join(TASK.format(name=n) for n in names))
        (project / "conftest.py").write_text(CONFTEST)
    else:
        (project / "test_all.py").write_text("".join(FUNCTION.format(name=n) for n in names))
    return project


def bench_startup(scratch: Path, *, quick: bool) -> None:
    project = new_project(scratch / "startup")
    (project / "test_one.py").write_text("def test_one():\n    pass\n")
    with_plugin = pytest_command(*WITH_CHALK)
    without = pytest_command(*WITHOUT_CHALK)
    cost_of(with_plugin, project), cost_of(without, project)
    pairs = [
        (cost_of(with_plugin, project).cpu_s * 1000, cost_of(without, project).cpu_s * 1000)
        for _ in range(3 if quick else 40)
    ]
    show("CPU of a run without tasks", [a - b for a, b in pairs], "ms", "<= 10 ms over -p no:chalk")
    least = min(a for a, _ in pairs) - min(b for _, b in pairs)
    show("  the least of each side, which noise cannot lower", [least], "ms", "<= 10 ms")


def bench_help(scratch: Path, *, quick: bool) -> None:
    program = str(Path(sys.executable).with_name("pytest-chalk"))
    ratios = in_turn(
        lambda: cost_of([program, "--help"], scratch).cpu_s,
        lambda: cost_of([sys.executable, "-c", "pass"], scratch).cpu_s,
        3 if quick else 15,
    )
    show("pytest-chalk --help / python -c pass", ratios, "x", "<= 8 x")


def bench_items(scratch: Path, *, quick: bool) -> None:
    count = 100 if quick else 1000
    tasks = items(scratch / "tasks", count, as_tasks=True)
    one_task = items(scratch / "one_task", 1, as_tasks=True)
    functions = items(scratch / "functions", count, as_tasks=False)
    one_function = items(scratch / "one_function", 1, as_tasks=False)

    def marginal(many: Path, one: Path, *options: str) -> float:
        command = pytest_command(*options)
        return (cost_of(command, many).cpu_s - cost_of(command, one).cpu_s) / (count - 1)

    ratios = in_turn(
        lambda: marginal(tasks, one_task, *WITH_CHALK),
        lambda: marginal(functions, one_function, *WITHOUT_CHALK),
        2 if quick else 5,
    )
    show(f"no-op task / function with a sub-test, {count:,} items", ratios, "x", "<= 1.8 x")


def bench_collection(scratch: Path, *, quick: bool) -> None:
    count = 100 if quick else 1000
    ours = packages(scratch / "ours", count)
    theirs = packages(scratch / "theirs", count, as_tests=True)
    (theirs / "pytest.ini").write_text(
        "[pytest]\npython_files = __init__.py\npythonpath = . aliases\n"
    )
    alias = Path(__file__).parents[2] / "pytest_chalk/_alias_path/chalk/chalk"
    (theirs / "aliases").mkdir()
    (theirs / "aliases/chalk").symlink_to(alias)
    ratios = in_turn(
        lambda: cost_of(pytest_command(*WITH_CHALK, "--collect-only", "tasks"), ours).cpu_s,
        lambda: cost_of(pytest_command(*WITHOUT_CHALK, "--collect-only", "tasks"), theirs).cpu_s,
        2 if quick else 5,
    )
    show(f"collecting {count:,} task packages / as test modules", ratios, "x", "<= 0.65 x")


def bench_growth(scratch: Path, *, quick: bool) -> None:
    count = 50 if quick else 300
    few = items(scratch / "few", count, as_tasks=True)
    many = items(scratch / "many", 10 * count, as_tasks=True)
    command = pytest_command(*WITH_CHALK)
    ratios = in_turn(lambda: cost_of(command, many).cpu_s, lambda: cost_of(command, few).cpu_s, 3)
    show(f"{10 * count:,} no-op tasks / {count:,}", ratios, "x", "<= 11 x")


BENCHMARKS: dict[str, Callable[..., None]] = {
    "startup": bench_startup,
    "help": bench_help,
    "items": bench_items,
    "collection": bench_collection,
    "growth": bench_growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that they run")
    given = parser.parse_args()
    for name in given.names or BENCHMARKS:
        with tempfile.TemporaryDirectory(prefix="chalk-bench-") as scratch:
            BENCHMARKS[name](Path(scratch), quick=given.quick)


if __name__ == "__main__":
    main()

"""The figures and their targets."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks import boxes
from tests.benchmarks.evaluations import bench_evaluations, bench_rescoring, bench_rows
from tests.benchmarks.judging import bench_executable, bench_executables_at_once, bench_regex
from tests.benchmarks.measure import (
    WITH_CHALK,
    WITHOUT_CHALK,
    cost_of,
    in_turn,
    pytest_command,
    show,
)
from tests.benchmarks.models import (
    bench_conversation,
    bench_parallel,
    bench_transcript,
    bench_turn,
)
from tests.benchmarks.results import bench_journal, bench_summary

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
    steps = property(lambda self: [{name}Step(config=self.config) for _ in range({steps})])
"""
FUNCTION = """
def test_{name}(subtests):
    for number in range({steps}):
        with subtests.test(f"{{number}}/{steps} step"):
            pass
"""
CONFTEST = """
import pytest
from pytest_chalk.models import ScriptedModel

@pytest.fixture
def chalk_model():
    return ScriptedModel(["done"] * {steps})
"""


def new_project(directory: Path) -> Path:
    directory.mkdir()
    (directory / "pytest.ini").write_text("[pytest]\n")
    return directory


def task_packages(directory: Path, count: int) -> Path:
    """Make a project of `count` packages with one task each."""
    project = new_project(directory)
    for index in range(count):
        package = project / f"tasks/t{index:05}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(TASK.format(name=f"T{index:05}", steps=1))
    return project


def test_packages(directory: Path, count: int, *, module: str) -> Path:
    """Make a project of the same packages for pytest alone: a test function beside each class.

    `module` is where both stand, for example `test_task.py`. The import name `chalk` is there too.
    """
    project = new_project(directory)
    alias = Path(__file__).parents[2] / "pytest_chalk/_alias_path/chalk/chalk"
    (project / "aliases").mkdir()
    (project / "aliases/chalk").symlink_to(alias)
    (project / "pytest.ini").write_text(
        f"[pytest]\npython_files = {module}\npythonpath = . aliases\n"
    )
    for index in range(count):
        name = f"T{index:05}"
        package = project / f"tasks/t{index:05}"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        source = TASK.format(name=name, steps=1) + f"\n\ndef test_{name}():\n    pass\n"
        (package / module).write_text(source)
    return project


def tasks_in_one_package(directory: Path, count: int, steps: int = 1) -> Path:
    """Make a project of `count` no-op tasks in one package."""
    project = new_project(directory)
    sources = [TASK.format(name=f"T{index:05}", steps=steps) for index in range(count)]
    (project / "tasks/all").mkdir(parents=True)
    (project / "tasks/all/__init__.py").write_text("".join(sources))
    (project / "conftest.py").write_text(CONFTEST.format(steps=steps))
    return project


def functions_in_one_module(directory: Path, count: int, steps: int) -> Path:
    """Make a project of `count` test functions with as many sub-tests as tasks have steps.

    As deep in directories as the tasks: pytest looks for marks in every node above an item.
    """
    project = new_project(directory)
    sources = [FUNCTION.format(name=f"T{index:05}", steps=steps) for index in range(count)]
    (project / "tests/all").mkdir(parents=True)
    (project / "tests/all/test_all.py").write_text("".join(sources))
    return project


def bench_startup(scratch: Path, *, quick: bool) -> None:
    """Compare runs in which pytest finds its plugins by itself: looking for them costs too."""
    project = new_project(scratch / "startup")
    (project / "test_one.py").write_text("def test_one():\n    pass\n")

    def cost_ms(*arguments: str) -> float:
        return cost_of(pytest_command(*arguments), project, autoload=True).cpu_s * 1000

    cost_ms(), cost_ms(*WITHOUT_CHALK)
    pairs = [(cost_ms(), cost_ms(*WITHOUT_CHALK)) for _ in range(3 if quick else 40)]
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
    """Compare what one more item costs, start-up apart.

    Of the figures a person should look at the second: another process that deletes files at the
    same time makes ext4 slow to create ours, and only the tasks create any.
    """
    count = 100 if quick else 1000
    for steps in (1, 5):
        place = scratch / str(steps)
        place.mkdir()
        projects = {
            "tasks": tasks_in_one_package(place / "tasks", count, steps),
            "task": tasks_in_one_package(place / "task", 1, steps),
            "functions": functions_in_one_module(place / "functions", count, steps),
            "function": functions_in_one_module(place / "function", 1, steps),
        }
        rounds = [
            {
                name: cost_of(pytest_command(*_plugin_for(name)), project).cpu_s
                for name, project in projects.items()
            }
            for _ in range(2 if quick else 6)
        ][1:]
        least = {name: min(costs[name] for costs in rounds) for name in projects}
        what = f"no-op task / function, {count:,} with {steps} step{'s' if steps > 1 else ''} each"
        show(what, [_marginal_ratio(costs) for costs in rounds], "x", "<= 1.8 x")
        show("  the least of each side", [_marginal_ratio(least)], "x", "<= 1.8 x")


def _plugin_for(name: str) -> Sequence[str]:
    return WITH_CHALK if name.startswith("task") else WITHOUT_CHALK


def _marginal_ratio(costs: dict[str, float]) -> float:
    return (costs["tasks"] - costs["task"]) / (costs["functions"] - costs["function"])


def bench_collection(scratch: Path, *, quick: bool) -> None:
    """Compare whole runs of `--collect-only`, start-up included on both sides.

    The target is for the same packages: the source in `__init__.py` on both sides. Fresh is how CI
    finds a project, with nothing of it compiled. The last pair is what an author would write for
    pytest alone, the source as `test_task.py` in a package of its own: a second file for each, in
    which pytest rewrites the assertions while it compiles it.
    """
    count = 100 if quick else 1000
    rounds = 2 if quick else 5
    command = pytest_command(*WITH_CHALK, "--collect-only", "tasks")
    plain = pytest_command(*WITHOUT_CHALK, "--collect-only", "tasks")
    for module, target in (("__init__.py", "<= 0.65 x"), ("test_task.py", "(no target)")):
        place = scratch / module.strip("_.py")
        place.mkdir()
        pairs = [
            (
                _collecting(command, task_packages(place / f"ours{number}", count)),
                _collecting(plain, test_packages(place / f"theirs{number}", count, module=module)),
            )
            for number in range(rounds)
        ]
        for state, index in (("fresh", 0), ("compiled", 1)):
            ratios = [ours[index] / theirs[index] for ours, theirs in pairs]
            show(f"collecting {count:,} tasks / as {module}, {state}", ratios, "x", target)


def _collecting(command: Sequence[str], project: Path) -> tuple[float, float]:
    """Return the CPU seconds in a project never imported, and in the same once more."""
    return cost_of(command, project).cpu_s, cost_of(command, project).cpu_s


def bench_growth(scratch: Path, *, quick: bool) -> None:
    count = 50 if quick else 300
    few = tasks_in_one_package(scratch / "few", count)
    many = tasks_in_one_package(scratch / "many", 10 * count)
    command = pytest_command(*WITH_CHALK)
    ratios = in_turn(lambda: cost_of(command, many).cpu_s, lambda: cost_of(command, few).cpu_s, 3)
    show(f"{10 * count:,} no-op tasks / {count:,}", ratios, "x", "<= 11 x")


BENCHMARKS: dict[str, Callable[..., None]] = {
    "turn": bench_turn,
    "conversation": bench_conversation,
    "transcript": bench_transcript,
    "parallel": bench_parallel,
    "startup": bench_startup,
    "help": bench_help,
    "items": bench_items,
    "collection": bench_collection,
    "growth": bench_growth,
    "evaluations": bench_evaluations,
    "rescoring": bench_rescoring,
    "rows": bench_rows,
    "executable": bench_executable,
    "executables": bench_executables_at_once,
    "regex": bench_regex,
    "journal": bench_journal,
    "summary": bench_summary,
    **boxes.BENCHMARKS,
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

"""What the plugin costs a pytest run that has no tasks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from plugin.conftest import Project

LOADED = {
    "pytest_chalk",
    "pytest_chalk.cheap_override",
    "pytest_chalk.discovery",
    "pytest_chalk.discovery.alias_path",
    "pytest_chalk.discovery.module_names",
    "pytest_chalk.discovery.packages",
    "pytest_chalk.discovery.resolution",
    "pytest_chalk.discovery.scoring_child",
    "pytest_chalk.discovery.settings",
    "pytest_chalk.errors",
    "pytest_chalk.plugin",
    "pytest_chalk.plugin.fixtures",
    "pytest_chalk.plugin.hookspecs",
    "pytest_chalk.plugin.options",
    "pytest_chalk.plugin.project",
}
"""All of ours that a run without tasks loads. Every entry is paid for by every pytest run on every
machine that has the package installed: think twice before adding one."""

NEVER = {
    "httpx",
    "pydantic",
    "psutil",
    "sqlite3",
    "asyncio",
    "multiprocessing",
    "ctypes",
    "typing_extensions",
}

PROBE = """
import sys

sockets = []
sys.addaudithook(lambda event, args: sockets.append(event) if event.startswith("socket.") else None)

def pytest_unconfigure(config):
    ours = sorted(name for name in sys.modules if name.split(".")[0] == "pytest_chalk")
    open("loaded.txt", "w").write("\\n".join(ours))
    open("others.txt", "w").write("\\n".join(sorted(sys.modules)))
    open("sockets.txt", "w").write("\\n".join(sockets))
"""


def run_without_tasks(project: Project) -> None:
    project.file("conftest.py", PROBE)
    project.file("test_plain.py", "def test_plain(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "chalk", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=project.path, check=True, stdout=subprocess.DEVNULL)


def test_a_run_without_tasks_loads_only_what_is_listed_here(project: Project):
    run_without_tasks(project)

    assert set((project.path / "loaded.txt").read_text().split()) == LOADED


def test_a_run_without_tasks_loads_nothing_heavy(project: Project):
    run_without_tasks(project)

    assert not NEVER & set((project.path / "others.txt").read_text().split())


def test_a_run_without_tasks_opens_no_socket_and_writes_no_file(project: Project):
    run_without_tasks(project)

    assert (project.path / "sockets.txt").read_text() == ""
    kept = {path.name for path in project.path.iterdir()} - {"__pycache__"}
    assert kept == {
        "conftest.py", "loaded.txt", "others.txt", "sockets.txt", "pytest.ini", "test_plain.py",
    }  # fmt: skip


@pytest.mark.parametrize("options", [["--collect-only"], ["--help"], ["--fixtures"]])
def test_looking_takes_no_slot_starts_nothing_and_writes_nothing(
    project: Project, options: list[str]
):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file(
        "conftest.py",
        """
        import sys

        started = []
        sys.addaudithook(
            lambda event, args: started.append(event)
            if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "fcntl.flock") else None
        )

        def pytest_unconfigure(config):
            slots = sys.modules.get("pytest_chalk.sandbox.slots")
            print("\\nslot held:", slots is not None and slots.has_slot(), "started:", started)
        """,
    )

    result = project.run_apart(*options)

    assert result.ret == 0
    result.stdout.fnmatch_lines(["slot held: False started: []"])
    assert not (project.path / ".chalk").exists()


def test_our_modules_are_read_as_python_reads_them_not_searched_for_assertions(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)  # as for a user
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file(
        "conftest.py",
        """
        import sys

        def pytest_unconfigure(config):
            rewriter = config.pluginmanager.rewrite_hook
            loaders = {
                name: module.__spec__.loader for name, module in sys.modules.items()
                if name.partition(".")[0] == "pytest_chalk"
            }
            print("\\nrewritten:", [name for name in loaders if loaders[name] is rewriter])
        """,
    )

    result = project.run_apart("-p", "no:randomly", "-p", "no:asyncio", "-p", "no:anyio")

    assert result.ret == 0
    # Only what is loaded before we can say so.
    result.stdout.fnmatch_lines(["rewritten: ['pytest_chalk', 'pytest_chalk.plugin']"])

"""A project on disk, and a fresh interpreter to import it in."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

TASK = """
from chalk import Task

class {name}(Task):
    id = "{id}"
    system_prompt = None
    tools = ()
    steps = ()
"""

PREPARED = """
import sys
from pathlib import Path
from pytest_chalk.discovery.alias_path import *
from pytest_chalk.discovery.classes import *
from pytest_chalk.discovery.importing import *
from pytest_chalk.discovery.listing import *
from pytest_chalk.discovery.module_names import *
from pytest_chalk.discovery.packages import *
from pytest_chalk.discovery.settings import *
from pytest_chalk.errors import *
settings = read_settings(Path.cwd())
prepare_imports(settings)
report = report_aliases()
"""


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        # Only the package: the repository itself would add its own `tasks` and `conftest`.
        self.library = root.parent / "library"
        self.library.mkdir()
        (self.library / "pytest_chalk").symlink_to(REPOSITORY / "pytest_chalk")

    def file(self, name: str, text: str = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def task(self, directory: str, name: str = "Found", task_id: str | None = None) -> Path:
        task_id = task_id or Path(directory).name.replace("_", "-")
        return self.file(f"{directory}/__init__.py", TASK.format(name=name, id=task_id))

    def ini(self, **keys: str) -> Path:
        lines = "\n".join(f"{key} = {value}" for key, value in keys.items())
        return self.file("pytest.ini", f"[pytest]\n{lines}\n")

    def run(
        self, *arguments: str, path: tuple[Path, ...] = (), **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in the project; `path` follows the package on PYTHONPATH."""
        search = os.pathsep.join(map(str, (self.library, *path)))
        inherited = {key: value for key, value in os.environ.items() if "CHALK" not in key}
        return subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=self.root,
            env={**inherited, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1", **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def python(self, *code: str, path: tuple[Path, ...] = (), **environ: str) -> str:
        """Run the pieces of code after the imports are prepared; return what they print."""
        ran = self.run("-c", PREPARED + "\n".join(map(textwrap.dedent, code)), path=path, **environ)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    made = Project(root)
    made.ini()
    return made

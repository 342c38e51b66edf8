"""The examples on other machines: not root, without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

UNPRIVILEGED = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
"""A user without rights that can still read root's own interpreter, where ours happens to be."""

needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="needs root and util-linux to play another machine",
)


NO_NAMESPACES = """
from pytest_chalk.sandbox import isolation
isolation.probed = lambda kind: "left out by a test"
"""


def examples(
    tmp_path: Path, *prefix: str, options: tuple[str, ...] = (), conftest: str = ""
) -> tuple[int, str]:
    """Run the example tasks under a command that changes who and where we are."""
    project = tmp_path / "project"
    if not project.exists():
        project.mkdir()
        shutil.copytree(ROOT / "tasks", project / "tasks", ignore=shutil.ignore_patterns("__py*"))
        (project / "conftest.py").write_text(conftest + (ROOT / "conftest.py").read_text())
        (project / "pytest.ini").write_text("[pytest]\ntestpaths = tasks\n")
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TMPDIR": str(tmp_path)}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    for name in ("CHALK_SLOT", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    plugins = ("-p", "chalk", "-p", "xdist", "-p", "timeout", "-p", "no:cacheprovider")
    completed = subprocess.run(
        [*prefix, sys.executable, "-m", "pytest", *plugins, *options],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return completed.returncode, completed.stdout


def test_the_examples_pass_and_noop_fails_them_without_an_error(tmp_path: Path):
    status, output = examples(tmp_path)
    assert status == 0, output

    status, output = examples(tmp_path, options=("--chalk-model=noop",))
    assert status == 1
    assert "error" not in output.splitlines()[-1]
    assert "2 failed" not in output.splitlines()[-1] or "passed" not in output.splitlines()[-1]


@needs_namespaces
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_examples_pass_with_the_network_off(tmp_path: Path, workers: str):
    status, output = examples(tmp_path, "unshare", "--net", options=(workers,))

    assert status == 0, output


@needs_namespaces
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize(("level", "conftest"), [("userns", ""), ("none", NO_NAMESPACES)])
def test_the_examples_pass_unprivileged_and_the_level_is_said(
    tmp_path: Path, workers: str, level: str, conftest: str
):
    status, output = examples(tmp_path, *UNPRIVILEGED, options=(workers,), conftest=conftest)

    assert status == 0, output
    assert f"isolation={level}" in output


@needs_namespaces
def test_collecting_and_listing_need_no_root(tmp_path: Path):
    status, output = examples(tmp_path, *UNPRIVILEGED, options=("--collect-only", "-q"))
    assert status == 0, output
    assert "tasks/find_python/__init__.py::FindPython[oracle]" in output

    program = Path(sys.executable).with_name("pytest-chalk")
    listed = subprocess.run(
        [*UNPRIVILEGED, program, "tasks", "list"],
        cwd=tmp_path / "project",
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert listed.returncode == 0
    assert "find-python" in listed.stdout

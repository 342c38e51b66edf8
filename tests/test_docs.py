"""The documentation names everything there is, and what it shows runs.

A page's examples are one project. Comments before a block say what is done with it:
`<!-- file: PATH -->` adds the block to that file, `<!-- run: ARGUMENTS -->` runs pytest on the
page's files and wants all of it to pass. Lines of a console block after a `run` must be printed.
`<!-- script -->` runs the block with `pytest-chalk run` where all pages' files are and have run;
lines of a text block right after it must be printed.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from inner_pytest import plugins

import pytest_chalk.errors
import pytest_chalk.judges
import pytest_chalk.plugin
from pytest_chalk import cli
from pytest_chalk.plugin import hookspecs
from pytest_chalk.plugin.options import SPECS
from pytest_chalk.schemas.frozen import Frozen
from pytest_chalk.schemas.record import RunRecord, StepRecord
from pytest_chalk.schemas.run_config import RunConfig

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, *DOCS]
PLUGINS = plugins("chalk", "xdist", "timeout", "no:randomly", "no:cacheprovider")

COMMANDS = (
    "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest",
    ".venv/bin/pytest tests",
)


@dataclass(frozen=True)
class Block:
    """A fenced block, and what the comment before it says."""

    language: str
    text: str
    line: int
    file: str | None = None
    is_script: bool = False
    printed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run of pytest that a page asks for, and the lines it says are printed."""

    arguments: tuple[str, ...]
    printed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    blocks: tuple[Block, ...]
    runs: tuple[Run, ...]
    sections: dict[str, str]


_PART = re.compile(
    r"^<!-- (?P<verb>file|run|script)(?:: (?P<value>[^\n]+?))? -->$"
    r"|^```(?P<language>\w+)\n(?P<text>.*?)^```$"
    r"|^#+ (?P<heading>[^\n]+)$",
    re.MULTILINE | re.DOTALL,
)


def read_page(path: Path) -> Page:
    """Return a page's blocks, runs, and the text below each heading."""
    source = path.read_text()
    blocks: list[Block] = []
    runs: list[Run] = []
    headings: list[tuple[str, int]] = []
    file, before = None, None
    for part in _PART.finditer(source):
        if part["heading"]:
            headings.append((part["heading"].replace("`", ""), part.end()))
        elif part["verb"] == "file":
            file = part["value"]
        elif part["verb"] == "run":
            runs.append(Run(tuple(part["value"].split())))
        else:
            line = source.count("\n", 0, part.start()) + 2
            if part["language"] == "text" and blocks and blocks[-1].is_script and before is None:
                blocks[-1] = replace(blocks[-1], printed=tuple(part["text"].splitlines()))
            blocks.append(Block(part["language"], part["text"], line, file, before == "script"))
            if before == "run" and part["language"] == "console":
                printed = [text for text in part["text"].splitlines() if text[:1] != "$"]
                runs[-1] = Run(runs[-1].arguments, tuple(printed))
            file = None
        before = part["verb"]
    ends = [start for _, start in headings[1:]] + [len(source)]
    sections = {name: source[start:end] for (name, start), end in zip(headings, ends, strict=True)}
    return Page(tuple(blocks), tuple(runs), sections)


def all_sections() -> dict[str, str]:
    return {name: text for path in DOCS for name, text in read_page(path).sections.items()}


def commands_of(parser: argparse.ArgumentParser, name: str) -> list[str]:
    """Return every complete command that a parser takes."""
    below = [
        command
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for word, child in action.choices.items()
        for command in commands_of(child, f"{name} {word}")
    ]
    return below or [name]


OPTIONS = {spec.ini if spec.ini_only else spec.flag: spec for spec in SPECS}
HOOKS = [name for name in vars(hookspecs) if name.startswith("pytest_")]
ERRORS = [
    name
    for name, value in vars(pytest_chalk.errors).items()
    if inspect.isclass(value) and issubclass(value, BaseException) and not name.startswith("_")
]


@pytest.mark.parametrize("heading", OPTIONS)
def test_an_option_has_a_heading_and_below_it_its_default_ini_key_and_variable(heading: str):
    text = all_sections()[heading]

    assert "Default:" in text
    assert f"`{OPTIONS[heading].ini}`" in text
    assert f"`{OPTIONS[heading].variable}`" in text


@pytest.mark.parametrize(
    "name",
    [
        *HOOKS,
        *pytest_chalk.plugin.__all__,
        *pytest_chalk.judges.__all__,
        *ERRORS,
        *commands_of(cli._parser(), "pytest-chalk"),
    ],
)
def test_everything_public_has_a_heading(name: str):
    assert name in all_sections()


def test_no_heading_names_an_option_or_hook_that_is_gone():
    known = {*OPTIONS, *HOOKS, *pytest_chalk.plugin.__all__}

    named = [
        name
        for name in all_sections()
        if name.startswith(("--chalk", "chalk_", "pytest_chalk_")) and name not in known
    ]

    assert named == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_has_the_two_commands_word_for_word(command: str):
    blocks = [block.text for block in read_page(README).blocks if block.language == "console"]

    assert f"{command}\n" in blocks


def python_blocks() -> list[object]:
    return [
        pytest.param(block, id=f"{path.name}:{block.line}")
        for path in PAGES
        for block in read_page(path).blocks
        if block.language == "python"
    ]


@pytest.mark.parametrize("block", python_blocks())
def test_a_python_block_compiles(block: Block):
    compile(block.text, f"line {block.line}", "exec")


def test_every_python_block_of_the_readme_is_run():
    blocks = [block for block in read_page(README).blocks if block.language == "python"]

    assert [block.line for block in blocks if block.file is None] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_that_has_files_runs_them(path: Path):
    page = read_page(path)

    assert bool(page.runs) == any(block.file for block in page.blocks)


def write_files(root: Path, pages: list[Path]) -> None:
    (root / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    for block in [block for path in pages for block in read_page(path).blocks if block.file]:
        target = root / str(block.file)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("a") as opened:
            opened.write(block.text)


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch):
    for name in [n for n in os.environ if n.startswith("CHALK_") and n != "CHALK_SLOT_BASE"]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def page_runs() -> list[object]:
    return [
        pytest.param(path, run, id=f"{path.name}: {' '.join(run.arguments)}")
        for path in PAGES
        for run in read_page(path).runs
    ]


@pytest.mark.usefixtures("clean_environment")
@pytest.mark.parametrize(("path", "run"), page_runs())
def test_the_examples_of_a_page_pass_and_print_what_it_shows(
    pytester: pytest.Pytester, path: Path, run: Run
):
    write_files(pytester.path, [path])

    result = pytester.runpytest_subprocess(*PLUGINS, *run.arguments, timeout=60)

    assert result.ret == 0
    printed = [" ".join(line.split()) for line in result.stdout.lines]
    assert [line for line in run.printed if " ".join(line.split()) not in printed] == []


def run_script(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest_chalk", "run", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Import, ast.ImportFrom))


@pytest.mark.usefixtures("clean_environment")
def test_what_the_pages_import_can_be_imported(pytester: pytest.Pytester):
    write_files(pytester.path, PAGES)
    blocks = [b for path in PAGES for b in read_page(path).blocks if b.language == "python"]
    # Hidden tests import what a student hands in.
    texts = [b.text for b in blocks if "hidden_tests" not in str(b.file)]
    imports = [ast.unparse(s) for text in texts for s in ast.parse(text).body if is_import(s)]
    (pytester.path / "script.py").write_text("\n".join(dict.fromkeys(imports)))

    ran = run_script(pytester.path / "script.py")

    assert ran.returncode == 0, ran.stderr


@pytest.mark.usefixtures("clean_environment")
def test_the_scripts_of_the_pages_run_after_a_session_and_print_something(
    pytester: pytest.Pytester,
):
    write_files(pytester.path, PAGES)
    assert pytester.runpytest_subprocess(*PLUGINS, "tasks", timeout=60).ret == 0
    scripts = [b for path in PAGES for b in read_page(path).blocks if b.is_script]

    # In one process: to start it takes longer than most of them.
    for number, script in enumerate(scripts):
        (pytester.path / f"script_{number}.py").write_text(script.text)
    (pytester.path / "script.py").write_text(
        "import runpy\n"
        f"for number in range({len(scripts)}):\n"
        "    print('=' * 70)\n"
        "    runpy.run_path(f'script_{number}.py', run_name='__main__')\n"
    )
    ran = run_script(pytester.path / "script.py")

    assert ran.returncode == 0, ran.stderr
    _, *outputs = ran.stdout.split("=" * 70)
    for script, output in zip(scripts, outputs, strict=True):
        assert output.strip()
        printed = [" ".join(line.split()) for line in output.splitlines()]
        assert [line for line in script.printed if " ".join(line.split()) not in printed] == []


@pytest.mark.parametrize(
    ("schema", "name"),
    [(RunRecord, "reports.md"), (StepRecord, "reports.md"), (RunConfig, "tasks.md")],
)
def test_a_page_names_every_field(schema: type[Frozen], name: str):
    text = (ROOT / "docs" / name).read_text()

    assert [field for field in schema.model_fields if f"`{field}`" not in text] == []


def slug(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def links() -> list[object]:
    found = []
    for path in [*PAGES, ROOT / "CHANGELOG.md"]:
        text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        targets = re.findall(r"\]\(([^)\s]+)\)", text)
        found += [pytest.param(path, target, id=f"{path.name}: {target}") for target in targets]
    return [link for link in found if "://" not in str(link.values[1])]


@pytest.mark.parametrize(("path", "target"), links())
def test_a_link_leads_somewhere(path: Path, target: str):
    name, _, anchor = target.partition("#")
    leads_to = path if not name else path.parent / name

    assert leads_to.is_file()
    assert not anchor or anchor in {slug(heading) for heading in read_page(leads_to).sections}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_the_readme_links_every_page(path: Path):
    assert f"](docs/{path.name})" in README.read_text()

"""The page on evaluations: its script prints what its comments say."""

from __future__ import annotations

import re

from evaluations.conftest import REPOSITORY, run_script

from pytest_chalk import scorers

PAGE = (REPOSITORY / "docs" / "evaluations.md").read_text()


def python_blocks():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "chalk_evaluate" not in block]


def test_the_blocks_of_the_page_run_as_one_script_and_print_what_they_say(tmp_path):
    script = "\n".join(python_blocks())

    ran = run_script(tmp_path, script)

    assert ran.returncode == 0, ran.stderr
    said = re.findall(r"^ +print\([^\n]*\)(?:  # |\n    # )([^\n]+)$", script, re.MULTILINE)
    assert len(said) == 3
    assert ran.stdout.splitlines() == said


def test_the_test_of_the_page_passes(pytester, monkeypatch):
    block = PAGE.partition("<!-- test_triage.py -->\n```python\n")[2].partition("```")[0]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_triage=block)

    result = pytester.runpytest_subprocess("-p", "chalk", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
    table = PAGE.partition("= chalk evaluations =")[2].partition("```")[0].splitlines()[1:]
    result.stdout.fnmatch_lines(["*= chalk evaluations =*", *(line for line in table if line)])


def test_the_page_names_every_scorer():
    names = [name for name in scorers.__all__ if name.islower()]

    assert [name for name in names if f"`{name}" not in PAGE] == []

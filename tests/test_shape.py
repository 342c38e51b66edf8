"""How large modules and functions may grow before somebody has to split them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_chalk

PACKAGE = Path(pytest_chalk.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50
MAX_POSITIONAL = 5

PRESCRIBED: set[str] = set()
"""Functions whose signatures the seeds prescribe, as `module.py:qualified.name`."""


def functions(module):
    """Return the functions of a module by `path:qualified.name`."""
    found = {}

    def visit(node, outer):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{outer}.{child.name}" if outer else child.name
                if not isinstance(child, ast.ClassDef):
                    found[f"{module.relative_to(PACKAGE)}:{name}"] = child
                visit(child, name)
            else:
                visit(child, outer)

    visit(ast.parse(module.read_text(encoding="utf-8")), "")
    return found


FUNCTIONS = {name: node for module in MODULES for name, node in functions(module).items()}


def lines(node):
    """Count a function's lines, docstring included and decorators not."""
    return node.end_lineno - node.lineno + 1


def positional(node):
    """Count the parameters that can be given by position, without self and cls."""
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    return len(names[1:] if names[:1] in (["self"], ["cls"]) else names)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_a_module_can_be_read_in_one_go(module):
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MAX_MODULE_LINES


def test_a_function_fits_on_a_screen():
    long = {name: lines(n) for name, n in FUNCTIONS.items() if lines(n) > MAX_FUNCTION_LINES}

    assert long == {}


def test_a_call_can_be_read_without_the_signature():
    wide = {name: positional(n) for name, n in FUNCTIONS.items() if positional(n) > MAX_POSITIONAL}

    assert {name: count for name, count in wide.items() if name not in PRESCRIBED} == {}


def test_every_exemption_is_still_needed():
    assert {name for name in PRESCRIBED if positional(FUNCTIONS[name]) <= MAX_POSITIONAL} == set()


def test_no_two_test_modules_have_the_same_name():
    # Pytest imports them by their names alone: of two it would refuse the second.
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]

    assert sorted(names) == sorted(set(names))

"""The version of a function: a hash of what decides what it does.

That is its source without comments, docstrings and layout, its defaults, and the values of the
names it takes from around it: of functions and classes of the project their source, of constants
and containers their values as the function found them first, of anything else its type. Names that
the function itself assigns (`global calls`) are its state and do not count.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import inspect
import re
import sys
import sysconfig
import textwrap
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_DEPTH = 20
"""Of functions that use functions. Deeper ones count by name."""

_CONSTANTS = (str, bytes, int, float, complex, bool, type(None), PurePath, re.Pattern)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass
class Snapshots:
    """Containers as a function found them first: what it appends to one is no new version."""

    _by_id: dict[int, tuple[object, str]] = field(default_factory=dict)

    def text_of(self, container: object, render: Callable[[object], str]) -> str:
        """Return the text of a container, rendered at the first look."""
        found = self._by_id.get(id(container))
        if found is None or found[0] is not container:
            found = self._by_id[id(container)] = (container, render(container))
        return found[1]


def code_version(function: Callable[..., Any], snapshots: Snapshots) -> str:
    """Return the version of `function`, 32 hexadecimal digits."""
    walker = _Walker(snapshots)
    walker.function(inspect.unwrap(function))
    return hashlib.sha256("\n".join(walker.parts).encode("utf-8", "replace")).hexdigest()[:32]


class _Walker:
    """Collects the parts of one version; each function and class once."""

    def __init__(self, snapshots: Snapshots) -> None:
        self.parts: list[str] = []
        self._snapshots = snapshots
        self._seen: set[int] = set()
        self._depth = 0

    def function(self, function: Any) -> None:  # noqa: ANN401 - any callable
        if id(function) in self._seen or self._depth > MAX_DEPTH:
            return
        self._seen.add(id(function))
        self._depth += 1
        code = getattr(function, "__code__", None)
        self.parts.append(f"function {getattr(function, '__qualname__', type(function))}")
        self.parts.append(_source(function) or _bytecode(code))
        self._value("defaults", getattr(function, "__defaults__", None))
        self._value("keyword defaults", getattr(function, "__kwdefaults__", None))
        if isinstance(code, CodeType):
            for name, value in _names_around(function, code):
                self._value(name, value)
        self._depth -= 1

    def _value(self, name: str, value: object) -> None:
        """Take one value in under its name."""
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, FunctionType):
            value = wrapped
        if isinstance(value, ModuleType):
            self.parts.append(f"{name} = module {value.__name__}")
        elif isinstance(value, (FunctionType, type)) and _is_projects(value):
            self.parts.append(f"{name} =")
            self._projects(value)
        elif isinstance(value, (FunctionType, type, BuiltinFunctionType)):
            self.parts.append(f"{name} = {value.__module__}.{value.__qualname__}")
        else:
            self.parts.append(f"{name} = {self._text(value)}")

    def _projects(self, value: FunctionType | type) -> None:
        if isinstance(value, FunctionType):
            self.function(value)
        elif id(value) not in self._seen:
            self._seen.add(id(value))
            bases = [base.__qualname__ for base in value.__bases__]
            self.parts.append(f"class {value.__qualname__} {bases}")
            for name, member in sorted(vars(value).items()):
                # Not the class's own source: that of a script's classes cannot be found later.
                bare = getattr(member, "__func__", getattr(member, "fget", member))
                if isinstance(bare, FunctionType) or not name.startswith("__"):
                    self._value(name, bare)

    def _text(self, value: object) -> str:
        if isinstance(value, _CONSTANTS):
            return _plain(repr(value))
        if isinstance(value, (list, dict, set)):
            return self._snapshots.text_of(value, self._container)
        return self._container(value)

    def _container(self, value: object) -> str:
        if isinstance(value, dict):
            items = [f"{self._text(key)}: {self._text(item)}" for key, item in value.items()]
            return f"{{{', '.join(items)}}}"
        if isinstance(value, (set, frozenset)):
            return f"set({sorted(self._text(item) for item in value)})"
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self._text(item) for item in value)}]"
        if isinstance(value, FunctionType) and _is_projects(value):
            self.function(value)
        return f"<{type(value).__module__}.{type(value).__qualname__}>"


def _plain(text: str) -> str:
    return _ADDRESS.sub("", text)


def _is_projects(value: FunctionType | type) -> bool:
    """Tell whether somebody here wrote it: not the standard library, not an installed package."""
    if isinstance(value, FunctionType):
        path = value.__code__.co_filename
    else:
        module = sys.modules.get(value.__module__)
        path = "script" if module is None else getattr(module, "__file__", None) or ""
        path = "script" if value.__module__ == "__main__" else path
    in_installed = path.startswith(_installed_places())
    return bool(path) and not in_installed and not value.__module__.startswith("pytest_chalk.")


@cache
def _installed_places() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({f"{paths[name]}/" for name in ("stdlib", "purelib", "platlib")})


_SOURCES: dict[CodeType, str] = {}
"""Sources as they were when they were first asked for, which is when their module is loaded: a file
that is edited afterwards is not what runs."""


def remember_source(function: Callable[..., Any]) -> None:
    """Read a function's source now."""
    _source(inspect.unwrap(function))


def _source(function: Any) -> str:  # noqa: ANN401 - any callable
    """Return the source as Python's own parser prints it; empty where there is none."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return ""
    if code not in _SOURCES:
        _SOURCES[code] = _parsed_source(function, code)
    return _SOURCES[code]


def _parsed_source(function: object, code: CodeType) -> str:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError, IndentationError):
        return ""
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    # Of several on one line the source does not tell which is meant.
    told = _bytecode(code) if code.co_name == "<lambda>" and len(lambdas) > 1 else ""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            node.decorator_list = []
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree) + told


def _bytecode(code: CodeType | None) -> str:
    if code is None:
        return ""
    constants = [
        _bytecode(constant) if isinstance(constant, CodeType) else repr(constant)
        for constant in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {constants}"


def _names_around(function: FunctionType, code: CodeType) -> Iterator[tuple[str, object]]:
    """Yield what the function reads from outside: globals and the variables of outer functions."""
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not set yet
            yield name, cell.cell_contents
    read, assigned = _global_names(code)
    for name in sorted(read - assigned):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _global_names(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the globals that a function's code reads and those it assigns, inner code included."""
    read: set[str] = set()
    assigned: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            read.add(str(instruction.argval))
        elif instruction.opname in {"STORE_GLOBAL", "DELETE_GLOBAL"}:
            assigned.add(str(instruction.argval))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner_read, inner_assigned = _global_names(constant)
            read |= inner_read
            assigned |= inner_assigned
    return read, assigned

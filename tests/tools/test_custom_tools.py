"""Tools of a project or task: found, checked, described to the model, and held to their limits."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_chalk.authoring.tool import ToolAnswer
from pytest_chalk.errors import MachineError, StudentMisbehaviorError, TaskDefinitionError
from pytest_chalk.runner.user_code import call_tool_code
from pytest_chalk.sandbox import Box
from pytest_chalk.schemas.chat import Function, ToolCall
from pytest_chalk.tools import custom
from pytest_chalk.tools.registry import Toolbox, check_tool_names
from pytest_chalk.tools.tool_code import load_tool
from pytest_chalk.tools.tool_file import tool_directories

NO_BOX = cast("Box", SimpleNamespace(reaped=[]))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes `tools/<name>.py`."""

    def write(text: str, name: str = "lookup", directory: Path = tmp_path) -> Path:
        path = directory / "tools" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def ask(write, tmp_path: Path) -> Callable[..., ToolAnswer]:
    """Writes a tool and calls it once as a run does."""

    def ask(text: str, *, limit_s: float | None = 5.0, **arguments: Any) -> ToolAnswer:
        write(text)
        box = Toolbox.open(
            "task 'x'",
            ["lookup"],
            NO_BOX,
            search_dirs=[tmp_path / "tools"],
            call_user=call_tool_code,
        )
        return box.answer(call("lookup", **arguments), time_limit_s=limit_s)

    return ask


def call(tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="1", function=Function(name=tool, arguments=json.dumps(arguments)))


# --- what the model is told


def test_docstring_and_annotations_become_the_schema(write):
    code = load_tool(
        "lookup",
        write('''
            from __future__ import annotations
            from typing import Annotated, Literal, Optional
            from pydantic import BaseModel, Field

            class Place(BaseModel):
                city: str

            def lookup(
                query: Annotated[str, Field(description="What to find.")],
                kind: Literal["word", "name"] = "word",
                limit: Optional[int] = None,
                tags: list[str] = [],
                place: Place | None = None,
                *,
                model_config: bool = False,
            ) -> str:
                """Look a word up.

                In the big dictionary.
                """
                return query
        '''),
    )

    schema = code.signature.parameters
    assert code.signature.description == "Look a word up.\n\nIn the big dictionary."
    assert schema["required"] == ["query"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["query"] == {"type": "string", "description": "What to find."}
    assert schema["properties"]["kind"] == {
        "type": "string",
        "enum": ["word", "name"],
        "default": "word",
    }
    assert schema["properties"]["limit"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "default": None,
    }
    assert schema["properties"]["tags"]["items"] == {"type": "string"}
    assert schema["properties"]["model_config"] == {"type": "boolean", "default": False}
    assert schema["$defs"]["Place"]["properties"] == {"city": {"type": "string"}}


def test_a_default_that_json_cannot_show_is_left_out(write):
    code = load_tool(
        "lookup",
        write('''
            THERE_IS_NONE = object()
            def lookup(query: str = THERE_IS_NONE) -> str:
                """Look up."""
                return "none" if query is THERE_IS_NONE else query
        '''),
    )

    assert code.signature.parameters["properties"]["query"] == {"type": "string"}


def test_the_tool_gets_values_of_its_annotations_and_keeps_its_defaults(ask):
    answer = ask(
        '''
        from pydantic import BaseModel
        class Place(BaseModel):
            city: str
        NONE = object()
        def lookup(place: Place, json: int, copy: str = NONE) -> str:
            """Look up."""
            return f"{place.city} {json + 1} {copy is NONE}"
        ''',
        place={"city": "Rome"},
        json="3",
    )

    assert answer.text == "Rome 4 True"


# --- how it may be written

WAYS_TO_WRITE = (
    '''
    def lookup(query: str) -> str:
        """Look up."""
        return query * 2
    ''',
    '''
    async def lookup(query: str) -> str:
        """Look up."""
        await __import__("asyncio").sleep(0)
        return query * 2
    ''',
    '''
    class lookup:
        def __call__(self, query: str) -> str:
            """Look up."""
            return query * 2
    ''',
    '''
    class Lookup:
        """Look up."""
        async def __call__(self, query: str):
            return query * 2

    lookup = Lookup
    ''',
    '''
    from pytest_chalk.authoring.tool import ToolAnswer
    def lookup(query: str) -> ToolAnswer:
        """Look up."""
        return ToolAnswer(query * 2)
    ''',
)


@pytest.mark.parametrize("code", WAYS_TO_WRITE)
def test_a_tool_is_a_function_or_a_class_sync_or_async(ask, code: str):
    answer = ask(code, query="ab")

    assert (answer.text, answer.is_error) == ("abab", False)


def test_a_class_is_made_once_per_run_and_keeps_its_state(write, tmp_path: Path):
    write('''
        class lookup:
            """Count calls."""
            def __init__(self):
                self.calls = 0
            def __call__(self) -> str:
                self.calls += 1
                return str(self.calls)
    ''')

    def open_box() -> Toolbox:
        return Toolbox.open("task 'x'", ["lookup"], NO_BOX, search_dirs=[tmp_path / "tools"])

    first, second = open_box(), open_box()
    told = [box.answer(call("lookup"), time_limit_s=5).text for box in (first, first, second)]

    assert told == ["1", "2", "1"]


def test_a_dict_is_told_as_json_and_kept_as_details(ask):
    answer = ask(
        '''
        def lookup():
            """Look up."""
            return {"found": 2, "bad": "\\ud800", "path": __import__("pathlib").Path("/x")}
        '''
    )

    assert json.loads(answer.text) == {"found": 2, "bad": "\\ud800", "path": "/x"}
    assert answer.details["found"] == 2


def test_parts_and_answers_reach_the_loop(ask):
    answer = ask(
        '''
        from pytest_chalk.authoring.tool import ToolAnswer
        def lookup() -> ToolAnswer:
            """Look up."""
            return ToolAnswer("t", parts=[{"type": "text", "text": "p"}], answers={"a": "b"})
        '''
    )

    assert (answer.parts, answer.answers) == ([{"type": "text", "text": "p"}], {"a": "b"})


def test_a_long_answer_is_cut_in_the_middle_visibly(ask):
    answer = ask('def lookup():\n    """Look up."""\n    return "a" + "x" * 10**6 + "z"')

    assert len(answer.text) < custom.MAX_TEXT_CHARS + 100
    assert answer.text.startswith("a")
    assert answer.text.endswith("z")
    assert "characters cut" in answer.text


# --- what is refused at collection


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 1", "has no 'lookup'.*Write def lookup"),
        ("lookup = 3", "is int, no function and no class"),
        ("def lookup(q: str) -> str: return q", "no docstring"),
        ('def lookup(q, *, r) -> str:\n    """D."""', "no annotation for q, r.*q: str"),
        ('def lookup(*q: str) -> str:\n    """D."""', "q cannot be given by name"),
        ('def lookup(q: str, /) -> str:\n    """D."""', "q cannot be given by name"),
        ('def lookup() -> int:\n    """D."""', "returns int.*Return a str"),
        ('def lookup() -> None:\n    """D."""', "returns NoneType"),
        ('class lookup:\n    """D."""', "no __call__"),
        (
            'class lookup:\n    def __init__(self, a): ...\n    def __call__(self): "D."',
            "constructor needs a",
        ),
        ('class X: ...\ndef lookup(q: X) -> str:\n    """D."""', "has no JSON schema"),
        (
            'from __future__ import annotations\ndef lookup(q: Missing) -> str:\n    """D."""',
            "annotations cannot be read: NameError",
        ),
        (
            "raise ValueError('broken.')",
            r"cannot be imported: ValueError: broken at .*lookup\.py:1",
        ),
        ("raise SystemExit(0)", "cannot be imported: SystemExit"),
        ("def lookup(:", "cannot be imported: SyntaxError"),
        ('def lookup() -> str:\n    """D."""\nlookup.time_limit_s = 0', "time_limit_s is 0"),
        ('def lookup() -> str:\n    """D."""\nlookup.time_limit_s = True', "time_limit_s is True"),
    ],
)
def test_a_file_that_is_no_tool_is_the_authors_to_mend(write, tmp_path: Path, code: str, says: str):
    path = write(code)

    with pytest.raises(TaskDefinitionError, match=f"(?s){says}") as refused:
        check_tool_names("task 'x'", ["lookup"], [tmp_path / "tools"])

    assert refused.value.where == f"tool 'lookup' in {path}"


def test_a_broken_import_leaves_no_module_behind(write):
    path = write("raise ValueError")
    before = set(sys.modules)

    with pytest.raises(TaskDefinitionError):
        load_tool("lookup", path)

    assert [name for name in set(sys.modules) - before if "lookup" in name] == []


def test_an_unknown_tool_is_told_with_the_places_looked_in(tmp_path: Path):
    with pytest.raises(TaskDefinitionError, match="no tool and has no file in") as refused:
        check_tool_names("task 'x'", ["bash", "../bash", "x"], [tmp_path])

    assert "'../bash'" in refused.value.problem
    assert "view_lines_in_file" in refused.value.fix


# --- where it is found


@pytest.fixture
def project(tmp_path: Path):
    """A project with a task module, and its name."""
    package = tmp_path / "tasks" / "one"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    module = type(sys)("chalk_tools_test_task")
    module.__file__ = str(package / "__init__.py")
    sys.modules[module.__name__] = module
    yield SimpleNamespace(root=tmp_path, package=package, module=module.__name__)
    del sys.modules[module.__name__]


def test_tools_are_found_beside_the_task_and_above_up_to_the_projects_root(project):
    wanted = [project.package, project.root / "tasks", project.root]
    for directory in [*wanted, project.root.parent]:
        (directory / "tools").mkdir(exist_ok=True)

    found = tool_directories(project.module)

    (project.root.parent / "tools").rmdir()
    assert found == tuple(directory / "tools" for directory in wanted)


def test_the_nearest_tool_wins_and_any_goes_before_a_built_in(write, project):
    tool = 'def {}() -> str:\n    """D."""\n    return "{}"'
    write(tool.format("bash", "far"), "bash", project.root)
    write(tool.format("bash", "near"), "bash", project.package)
    directories = [project.package / "tools", project.root / "tools"]

    box = Toolbox.open("task 'x'", ["bash"], NO_BOX, search_dirs=directories)

    assert box.answer(call("bash"), time_limit_s=5).text == "near"


def test_a_tool_may_be_a_package(write, tmp_path: Path):
    package = tmp_path / "tools" / "lookup"
    package.mkdir(parents=True)
    (package / "words.py").write_text("WORD = 'found'")
    (package / "__init__.py").write_text(
        'from .words import WORD\ndef lookup() -> str:\n    """D."""\n    return WORD'
    )

    box = Toolbox.open("task 'x'", ["lookup"], NO_BOX, search_dirs=[tmp_path / "tools"])

    assert box.answer(call("lookup"), time_limit_s=5).text == "found"


def test_a_tool_is_the_module_that_other_code_imports(
    write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write('def lookup() -> str:\n    """D."""', directory=tmp_path / "chalk_outer")
    monkeypatch.syspath_prepend(str(tmp_path))

    loaded = load_tool("lookup", path)

    assert loaded.target.__module__ == "chalk_outer.tools.lookup"
    assert sys.modules["chalk_outer.tools.lookup"].lookup is loaded.target


def test_two_projects_may_have_tools_of_one_name(write, tmp_path: Path):
    texts = []
    for name in ("a", "b"):
        path = write(f'def lookup() -> str:\n    """Of {name}."""', directory=tmp_path / name)
        texts.append(load_tool("lookup", path).signature.description)

    assert texts == ["Of a.", "Of b."]


# --- calls that go wrong


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "n: Field required"),
        ({"n": "x"}, "n: Input should be a valid integer"),
        ({"n": 1, "m": 2}, "m: Extra inputs"),
        ({"p0": 1}, "p0: Extra inputs"),
    ],
)
def test_wrong_arguments_are_answered(ask, arguments: dict[str, Any], says: str):
    answer = ask('def lookup(n: int) -> str:\n    """D."""\n    return "called"', **arguments)

    assert answer.is_error
    assert says in answer.text
    assert "It takes n." in answer.text


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        ("ValueError('no \\x1b[31msuch word')", "Error: ValueError: no \\x1b[31msuch word"),
        ("SystemExit(0)", "Error: SystemExit: tried to end the process with exit status 0"),
        ("TimeoutError('slow')", "Error: TimeoutError: slow"),
        (
            "__import__('pytest_chalk.authoring.tool').authoring.tool.ToolRefusalError('no.')",
            "Error: no.",
        ),
    ],
)
def test_what_a_tool_raises_is_the_answer(ask, raised: str, says: str):
    answer = ask(f'def lookup() -> str:\n    """D."""\n    raise {raised}')

    assert (answer.text, answer.is_error) == (says, True)


def test_the_traceback_is_for_the_reader_not_for_the_student(ask):
    answer = ask('def lookup() -> str:\n    """D."""\n    secret = 1\n    return secret / 0')

    assert "return secret / 0" in answer.details["traceback"]
    assert "secret" not in answer.text


def test_an_attempt_to_end_the_process_is_an_answer(ask):
    answer = ask('import os\ndef lookup() -> str:\n    """D."""\n    os._exit(0)')

    assert answer.is_error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("MachineError('no network')", MachineError),
        ("StudentMisbehaviorError('caught')", StudentMisbehaviorError),
    ],
)
def test_what_ends_a_run_ends_it_from_a_tool_too(ask, error: str, kind: type[Exception]):
    with pytest.raises(kind, match=r"no network|caught"):
        ask(
            "from pytest_chalk.errors import MachineError, StudentMisbehaviorError\n"
            f'def lookup() -> str:\n    """D."""\n    raise {error}'
        )


def test_a_full_disk_is_the_machines(ask):
    with pytest.raises(MachineError, match="No space left"):
        ask(
            'import errno, os\ndef lookup() -> str:\n    """D."""\n'
            "    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))"
        )


@pytest.mark.parametrize("value", ["3", "None", "b'x'", "[1]"])
def test_an_answer_that_is_none_is_the_authors_to_mend(ask, value: str):
    with pytest.raises(TaskDefinitionError, match="Return a str, a dict or a ToolAnswer"):
        ask(f'def lookup():\n    """D."""\n    return {value}')


def test_a_dict_without_end_is_an_error_of_the_tool(ask):
    answer = ask('def lookup():\n    """D."""\n    x = {}\n    x["x"] = x\n    return x')

    assert "RecursionError" in answer.text


@pytest.mark.parametrize(
    "body",
    ["import time; time.sleep(30)", "import threading; threading.Event().wait(30)"],
)
def test_a_tool_that_hangs_is_given_up(ask, body: str):
    started = time.monotonic()

    answer = ask(f'def lookup() -> str:\n    """D."""\n    {body}', limit_s=0.2)

    assert time.monotonic() - started < 2
    assert answer.is_error
    assert "did not come back within 0.2 s" in answer.text
    assert answer.details == {"timed_out": True, "hung_calls": 1}


def test_the_tools_own_limit_holds_where_the_step_has_none(ask):
    answer = ask(
        'import time\ndef lookup() -> str:\n    """D."""\n    time.sleep(30)\n'
        "lookup.time_limit_s = 0.2",
        limit_s=None,
    )

    assert "within 0.2 s" in answer.text


def test_a_tool_that_hangs_again_and_again_is_not_called_any_more(write, tmp_path: Path):
    write('''
        import threading
        go_on = threading.Event()
        def lookup() -> str:
            """D."""
            go_on.wait(30)
            return "done"
    ''')
    box = Toolbox.open(
        "task 'x'",
        ["lookup"],
        NO_BOX,
        search_dirs=[tmp_path / "tools"],
        call_user=call_tool_code,
    )
    threads = threading.active_count()

    told = [box.answer(call("lookup"), time_limit_s=0.05).text for _ in range(5)]

    assert threading.active_count() - threads == custom.MAX_HUNG_CALLS
    assert "cannot be called again" in told[-1]
    load_tool("lookup", tmp_path / "tools" / "lookup.py").target.__globals__["go_on"].set()
    deadline = time.monotonic() + 5
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert box.answer(call("lookup"), time_limit_s=5).text == "done"

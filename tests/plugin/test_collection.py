"""What is collected, under which id, and what is an error instead of a silent loss."""

from __future__ import annotations

import pytest
from plugin.conftest import Project

PASSES = 'One = task("one-task", step("work", Score(1)))'


def collected(project: Project, *arguments: str) -> list[str]:
    result = project.run("--collect-only", "-q", *arguments)
    return [line for line in result.stdout.lines if "::" in line]


def test_a_task_is_collected_as_its_class_name_and_model(project: Project):
    project.task("one", PASSES)

    assert collected(project) == ["tasks/one/__init__.py::One[oracle]"]


@pytest.mark.parametrize(
    "argument",
    ["tasks", "tasks/one", "tasks/one/__init__.py", "tasks/one/__init__.py::One[oracle]", "."],
)
def test_a_task_can_be_named_in_every_way_pytest_knows(project: Project, argument: str):
    project.task("one", PASSES)

    result = project.run(argument)

    assert result.parseoutcomes()["passed"] == 1


@pytest.mark.parametrize("expression", ["one-task", "One", "oracle"])
def test_k_selects_by_task_id_class_and_model(project: Project, expression: str):
    project.task("one", PASSES)
    project.task("two", 'Two = task("two-task", step("work", Score(1)))')

    result = project.run("-k", expression)

    assert result.parseoutcomes()["passed"] == (2 if expression == "oracle" else 1)


def test_a_package_that_does_not_mention_chalk_is_never_imported(project: Project):
    project.file("tasks/other/__init__.py", "raise RuntimeError('imported')\n")
    project.file("test_plain.py", "def test_plain(): pass\n")

    result = project.run()

    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 1}


def test_a_package_whose_name_starts_with_an_underscore_is_left_out(project: Project):
    project.task("_template", PASSES)
    project.task("one", 'One = task("one", step("work", Score(1)))')

    assert collected(project) == ["tasks/one/__init__.py::One[oracle]"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nonexistent_module_x", "*nonexistent_module_x*"),
        ("raise SystemExit(0)", "*SystemExit*"),
        (
            "class Half(Task):\n    id = 'half'\n    tools = []\n",
            "*Half*does not implement*steps*system_prompt*",
        ),
        (
            "T = task('t', step('w', Score(1)), tools=property(lambda s: {}['difficulty']))",
            "*tools*KeyError*difficulty*",
        ),
        (
            "T = task('t', step('w', Score(1)), required_hardware=property(lambda s: {}['hw']))",
            "*required_hardware*KeyError*hw*",
        ),
        (
            "T = task('t', step('work', Score(1)), tools=property(lambda self: ['hammer']))",
            "*'hammer'*no tool*bash*",
        ),
        (
            "A = task('same', step('work', Score(1)))\nB = task('same', step('work', Score(1)))",
            "*same*",
        ),
        ("T = task('x' * 256, step('work', Score(1)))", "*255*"),
    ],
)
def test_what_cannot_be_a_task_is_a_collection_error_that_says_why(
    project: Project, source: str, message: str
):
    project.task("one", source)

    result = project.run()

    assert result.ret == 2
    assert result.parseoutcomes() == {"error": 1} or result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*Traceback (most recent call last)*site-packages*")


def test_two_packages_with_one_id_are_an_error_that_names_both(project: Project):
    project.task("one", 'One = task("same", step("work", Score(1)))')
    project.task("two", 'Two = task("same", step("work", Score(1)))')

    result = project.run()

    assert result.ret == 2
    result.stdout.fnmatch_lines(["*same*one*two*"])


def test_a_task_imported_from_another_package_is_collected_where_it_is_defined(project: Project):
    project.task("one", "from tasks.two import Two\n")
    project.task("two", 'Two = task("two", step("work", Score(1)))')

    assert collected(project) == ["tasks/two/__init__.py::Two[oracle]"]
    assert collected(project, "tasks/two") == ["tasks/two/__init__.py::Two[oracle]"]


def test_a_task_defined_outside_the_packages_is_collected_at_the_first_place(project: Project):
    project.file(
        "library.py",
        "import sys\nfrom tasks._shared import step, task, Score\n"
        'Lib = task("lib", step("work", Score(1)))\n',
    )
    project.task("_shared", "")
    project.task("one", "sys.path.insert(0, '.')\nfrom library import Lib\n")
    project.task("two", "from library import Lib\n")

    assert collected(project) == ["tasks/one/__init__.py::Lib[oracle]"]


def test_a_package_called_like_a_standard_module_is_ours(project: Project):
    project.task("json", 'One = task("one", step("work", Score(1)))\nimport json as real')

    result = project.run()

    assert result.parseoutcomes()["passed"] == 1


def test_tests_beside_a_task_are_collected_and_share_its_classes(project: Project):
    project.task("one", PASSES)
    project.file(
        "tasks/one/test_one.py",
        """
        import sys
        from tasks.one import One

        def test_identity(chalk_run):
            assert chalk_run(One).outcome == "passed"
            copies = [m for m in sys.modules.values() if getattr(m, "One", One) is not One]
            assert copies == []
        """,
    )

    result = project.run_apart()

    assert result.parseoutcomes()["passed"] == 2


def test_helpers_named_like_tests_in_a_task_package_are_no_tests(project: Project):
    project.ini("python_files = *.py")
    project.task("one", PASSES + "\n\ndef test_helper(): raise AssertionError\n")

    result = project.run()

    assert result.parseoutcomes()["passed"] == 1


def test_parametrize_and_marks_work_on_a_task_class(project: Project):
    project.task(
        "one",
        """
        import pytest

        @pytest.mark.parametrize("level", [1, 2])
        @pytest.mark.slow
        class One(task("base", step("work", Score(1)))):
            id = "one"
            def pre_hook(self, level):
                return {"level": level}
        """,
    )
    project.ini("markers = slow: slow")

    result = project.run("-m", "slow")

    assert result.parseoutcomes()["passed"] == 2
    levels = [e["record"]["nodeid"] for e in project.journal() if e["type"] == "run"]
    assert sorted(levels) == [
        "tasks/one/__init__.py::One[oracle-1]",
        "tasks/one/__init__.py::One[oracle-2]",
    ]


def test_skip_and_xfail_marks_leave_a_task_out_of_the_plan(project: Project):
    project.task(
        "one",
        """
        import pytest

        @pytest.mark.skip(reason="later")
        class Skipped(task("b1", step("work", Score(1)))):
            id = "skipped"

        @pytest.mark.xfail(reason="too hard")
        class Xfailed(task("b2", step("work", Score(0)))):
            id = "xfailed"

        One = task("one", step("work", Score(1)))
        """,
    )

    result = project.run()

    assert result.ret == 0
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["skipped"], outcomes["xfailed"]) == (1, 1, 1)
    result.stdout.fnmatch_lines(["mean 1.000 over 1 scored of 1"])


def test_include_and_exclude_select_by_id(project: Project):
    project.task("one", 'A = task("a", step("s", Score(1)))\nB = task("b", step("s", Score(1)))')
    project.ini("chalk_exclude = a")

    assert collected(project) == ["tasks/one/__init__.py::B[oracle]"]


def test_a_tasks_directory_can_be_named(project: Project):
    project.file("agents/one/__init__.py", "")
    project.task("one", PASSES)
    (project.path / "tasks").rename(project.path / "challenges")
    project.ini("chalk_tasks = challenges")

    assert collected(project) == ["challenges/one/__init__.py::One[oracle]"]


def test_collecting_locks_no_slot_and_writes_nothing(project: Project):
    project.task("one", PASSES)

    result = project.run_apart("--collect-only", f"--basetemp={project.path.parent}/t")

    assert result.ret == 0
    assert not (project.path / ".chalk").exists()


def test_a_run_without_tasks_writes_nothing(project: Project):
    project.file("test_plain.py", "def test_plain(): pass\n")

    project.run()

    assert not (project.path / ".chalk").exists()


LONELY, WITH_FILE = "tasks/lonely/__init__.py::Lonely", "tasks/with_file/__init__.py::WithFile"


@pytest.fixture
def two_layouts(project: Project) -> Project:
    """A package that holds nothing but its module, which has no node of its own, and another."""
    project.task("lonely", 'Lonely = task("lonely", step("work", Score(1)))')
    project.task("with_file", 'WithFile = task("with-file", step("work", Score(1)))')
    project.file("tasks/with_file/answers.txt", "42")
    return project


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), {LONELY, WITH_FILE}),
        (("--ignore=tasks/lonely",), {WITH_FILE}),
        (("--ignore=tasks/with_file",), {LONELY}),
        (("--ignore-glob=*lonely*",), {WITH_FILE}),
        (("--deselect=tasks/lonely",), {WITH_FILE}),
        (("tasks/lonely",), {LONELY}),
        (("tasks/lonely", "tasks/with_file"), {LONELY, WITH_FILE}),
    ],
)
def test_both_layouts_of_a_package_are_selected_alike(
    two_layouts: Project, arguments: tuple[str, ...], expected: set[str]
):
    assert set(collected(two_layouts, *arguments)) == {f"{name}[oracle]" for name in expected}


def test_a_conftest_above_reaches_both_layouts(two_layouts: Project):
    two_layouts.file(
        "tasks/conftest.py",
        """
        import pytest

        collect_ignore = ["with_file"]

        def pytest_chalk_make_run_config(item, run_config):
            return run_config.model_copy(update={"extra_config": {"heard": item.name}})
        """,
    )

    assert collected(two_layouts) == [f"{LONELY}[oracle]"]
    two_layouts.task(
        "lonely",
        """
        def judge(self):
            return Score(1, heard=self.config.extra_config["heard"])

        Lonely = task("lonely", step("work", property(judge)))
        """,
    )
    assert two_layouts.run().ret == 0
    assert two_layouts.run_record()["steps"][0]["metadata"] == {"heard": "Lonely[oracle]"}


def test_fixtures_and_set_up_of_a_packages_own_module_work(project: Project):
    project.task(
        "one",
        """
        import pytest

        seen = []

        def setup_module():
            seen.append("set up")

        @pytest.fixture
        def answer():
            return 42

        def pre_hook(self, answer):
            return {"answer": answer, "seen": list(seen)}

        One = task("one", step("work", Score(1)), pre_hook=pre_hook)
        """,
    )

    assert project.run().ret == 0
    (event,) = [e for e in project.events() if e["type"] == "task_pre_hook_completed"]
    assert event["metadata"] == {"answer": 42, "seen": ["set up"]}

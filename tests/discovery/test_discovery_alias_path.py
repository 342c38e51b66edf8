import ast
import importlib
import sys
from pathlib import Path
from typing import TypeVar

import pytest

import pytest_chalk
from pytest_chalk.discovery.alias_path import alias_directories

ALIAS_FILES = sorted(
    file for directory in alias_directories().values() for file in Path(directory).rglob("*.py")
)
SCHEMAS = ["scoring", "transcript", "chat", "run_config", "data_mount"]


def statements(file):
    return ast.parse(file.read_text()).body


def is_re_export(statement):
    match statement:
        case (
            ast.Import()
            | ast.ImportFrom()
            | ast.Expr(value=ast.Constant(value=str()))
            | ast.Assign(targets=[ast.Name(id="__all__" | "__path__")])
            | ast.FunctionDef(name="__getattr__")
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
        ):
            return True
    return False


@pytest.mark.parametrize("file", ALIAS_FILES, ids=lambda file: "/".join(file.parts[-2:]))
def test_an_alias_file_holds_nothing_but_re_exports(file):
    assert [ast.unparse(s) for s in statements(file) if not is_re_export(s)] == []


def test_each_name_has_a_directory_of_its_own_that_is_no_package():
    for name, directory in alias_directories().items():
        entries = {entry.name for entry in Path(directory).iterdir()} - {"__pycache__"}
        assert entries == {name}
        assert (Path(directory) / name / "py.typed").is_file()


def test_every_public_name_is_the_same_object_under_chalk(project):
    printed = project.python(
        """
        import chalk, pytest_chalk
        names = [name for name in pytest_chalk.__all__
                 if getattr(chalk, name) is not getattr(pytest_chalk, name)]
        print(names, sorted(chalk.__all__) == sorted(pytest_chalk.__all__))
        """
    )

    assert printed == "[] True"


def test_type_checkers_see_every_public_name_under_chalk():
    file = Path(alias_directories()["chalk"]) / "chalk" / "__init__.py"
    (guarded,) = [s for s in statements(file) if isinstance(s, ast.If)]
    seen = {alias.name for s in guarded.body for alias in s.names}

    assert seen | {"__version__"} == set(pytest_chalk.__all__)


@pytest.mark.parametrize("module", [*(f"schemas.{name}" for name in SCHEMAS), "judges"])
def test_a_module_under_chalk_has_every_public_name_of_its_original(project, module):
    original = importlib.import_module(f"pytest_chalk.{module}")
    defined = [
        name
        for name, value in vars(original).items()
        if getattr(value, "__module__", "") == original.__name__
        and not (name.startswith("_") or isinstance(value, TypeVar))
    ]
    wanted = sorted({*getattr(original, "__all__", ()), *defined})

    printed = project.python(
        f"""
        import chalk.{module}, pytest_chalk.{module}
        for name in {wanted}:
            ours = getattr(pytest_chalk.{module}, name)
            if getattr(chalk.{module}, name, None) is not ours:
                print(name)
        """
    )

    assert printed == "", "add these to the alias file"


def test_the_run_config_is_reachable_under_its_seed_module(project):
    printed = project.python(
        """
        from chalk.schemas.evaluation_run_config import EvaluationRunConfig
        print(EvaluationRunConfig is __import__("pytest_chalk").RunConfig)
        """
    )

    assert printed == "True"


def test_a_name_chalk_does_not_have_is_an_import_error(project):
    printed = project.python(
        """
        import pytest_chalk.schemas
        for name in ("Nope", "errors", "__wrapped__"):
            try:
                exec(f"from chalk import {name}")
            except ImportError as error:
                print(error.name, explain_import_error(error, "auto"))
        from chalk import schemas
        print(schemas.__name__)
        """
    )

    assert printed.splitlines() == ["chalk None"] * 3 + ["chalk.schemas"]


def test_taking_step_and_task_loads_neither_pydantic_nor_the_sandbox(project):
    printed = project.python(
        """
        from chalk import StudentMisbehaviorError, Step, Task, create_task
        print([name for name in ("pydantic", "pytest_chalk.sandbox") if name in sys.modules])
        """
    )

    assert printed == "[]"


def test_the_paths_follow_the_slot_of_the_process(project):
    printed = project.python(
        """
        import environment.paths as paths
        from pytest_chalk.sandbox import peek_slot
        slot = peek_slot()
        print(paths.STUDENT_UID == slot.student_uid, paths.STUDENT_WORKDIR == slot.paths.workdir,
              paths.STUDENT_DATA_DIR == slot.paths.data_dir,
              paths.SHARED_DATA_DIR == slot.paths.shared_dir,
              paths.ROOT_DATA_DIR == slot.directory / "root_data")
        print([name for name in vars(paths) if name.startswith(("STUDENT", "SHARED", "ROOT"))])
        """
    )

    assert printed.splitlines() == ["True True True True True", "[]"]


def test_the_names_of_submissions_are_those_of_the_sandbox(project):
    printed = project.python(
        """
        import environment.submissions as ours, pytest_chalk.sandbox as sandbox
        print(all(getattr(ours, name) is getattr(sandbox, name) for name in ours.__all__))
        """
    )

    assert printed == "True"


def test_our_names_come_last_and_the_report_says_so(project):
    printed = project.python(
        """
        print(report.text)
        print(sys.path[-3:] == list(alias_directories().values()))
        """
    )

    assert printed.splitlines() == ["chalk, chalkcompute, environment: ours", "True"]


def foreign_chalk(tmp_path):
    site = tmp_path / "site"
    (site / "chalk").mkdir(parents=True)
    (site / "chalk" / "__init__.py").write_text("red = 'red'\n")
    metadata = site / "chalkpy-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: chalkpy\nVersion: 2.0\n")
    (metadata / "top_level.txt").write_text("chalk\n")
    return site


def test_a_real_package_keeps_its_name_and_the_report_says_who_it_is(project, tmp_path):
    site = foreign_chalk(tmp_path)

    printed = project.python("import chalk; print(report.text); print(chalk.red)", path=(site,))

    assert printed.splitlines() == [
        f"chalkcompute, environment: ours; chalk is {site / 'chalk' / '__init__.py'}",
        "red",
    ]


def test_a_task_that_meets_a_foreign_chalk_is_told_whose_it_is_and_the_way_out(project, tmp_path):
    project.task("tasks/a")
    site = foreign_chalk(tmp_path)
    code = """
        try:
            import_task_package(find_task_packages(settings)[0])
        except TaskImportError as error:
            print(error)
        """

    printed = project.python(code, path=(site,))

    assert "cannot import name 'Task' from 'chalk'" in printed
    assert f"{site / 'chalk' / '__init__.py'} (chalkpy 2.0)" in printed
    assert "chalk_aliases = first" in printed


@pytest.mark.parametrize(
    "statement", ["import chalk.judges", "import chalk; chalk.Task", "from chalk import Step"]
)
def test_each_way_to_miss_our_chalk_is_explained(project, tmp_path, statement):
    printed = project.python(
        f"""
        try:
            exec({statement!r})
        except Exception as error:
            print(explain_import_error(error, "auto"))
        """,
        path=(foreign_chalk(tmp_path),),
    )

    assert "chalk_aliases = first" in printed


@pytest.mark.parametrize(
    "statement", ["import nowhere", "import environment.nowhere", "1 / 0", "import chalk.nowhere"]
)
def test_other_errors_are_not_explained_by_the_aliases(project, statement):
    printed = project.python(
        f"""
        try:
            exec({statement!r})
        except Exception as error:
            print(explain_import_error(error, "auto"))
        """
    )

    assert printed == "None"


def test_first_puts_our_chalk_before_a_real_package(project, tmp_path):
    project.ini(chalk_aliases="first")
    project.task("tasks/a")

    printed = project.python(
        "print(report.text); print(import_task_package(find_task_packages(settings)[0]).Found.id)",
        path=(foreign_chalk(tmp_path),),
    )

    assert printed.splitlines() == ["chalk, chalkcompute, environment: ours", "a"]


def test_off_changes_nothing_and_says_what_to_write_instead(project):
    project.ini(chalk_aliases="off")
    project.task("tasks/a")

    printed = project.python(
        """
        print(report.text, any("_alias_path" in entry for entry in sys.path))
        try:
            import_task_package(find_task_packages(settings)[0])
        except TaskImportError as error:
            print(error)
        """
    )

    assert printed.startswith("chalk: nobody; chalkcompute: nobody; environment: nobody False")
    assert "chalk_aliases is off" in printed
    assert "import from pytest_chalk" in printed


def test_a_package_that_only_an_import_hook_knows_keeps_its_name(project):
    printed = project.python(
        """
        import importlib.util
        class Editable:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "chalk":
                    return importlib.util.spec_from_file_location("chalk", "/src/chalk/__init__.py")
        sys.meta_path.append(Editable)
        install_aliases("auto")
        print(report_aliases().text)
        """
    )

    assert printed == "chalkcompute, environment: ours; chalk is /src/chalk/__init__.py"


def test_a_bare_directory_called_environment_is_no_real_package_and_stays_importable(project):
    project.file("environment/gym.py", "NAME = 'gym'\n")

    printed = project.python(
        """
        import environment.gym, environment.paths
        print(report.text, environment.gym.NAME)
        """,
        path=(project.root,),
    )

    assert printed == "chalk, chalkcompute, environment: ours gym"


def test_the_projects_own_environment_wins_in_either_order_of_installing(project):
    project.ini(chalk_tasks="src/environment/tasks")
    project.file("src/environment/__init__.py", "OWN = True\n")
    project.task("src/environment/tasks/a")

    printed = project.python(
        """
        remove_finder()
        sys.path.remove(str(settings.root / "src"))
        install_aliases("auto")
        install_finder(settings)
        import environment, environment.tasks.a
        print(environment.OWN, report_aliases().text)
        """
    )

    assert printed.startswith("True chalk, chalkcompute: ours; environment is ")


def test_installing_twice_leaves_one_entry_per_name(project):
    printed = project.python(
        """
        for mode in ("auto", "first", "auto"):
            install_aliases(mode)
        print([entry.rpartition("/")[2] for entry in sys.path if "_alias_path" in entry])
        """
    )

    assert printed == "['chalk', 'chalkcompute', 'environment']"


def test_override_can_be_imported_from_typing(project):
    assert project.python("from typing import override; print(override.__name__)") == "override"


def child(project, *command, code="", path=(), **environ):
    """Run a scoring child as a judge would; return what it prints."""
    return project.python(
        code,
        f"""
        import os, subprocess
        done = subprocess.run(
            [sys.executable, "-P", *{list(command)!r}],
            env={{**os.environ, **child_environment()}}, cwd="/", capture_output=True, text=True,
        )
        print(done.stdout + done.stderr)
        """,
        path=path,
        **environ,
    )


def test_a_scoring_script_runs_as_a_module_of_environment_tasks(project):
    project.task("tasks/a")
    project.file("tasks/a/answers.py", "ANSWER = 42\n")
    project.file(
        "tasks/a/scoring_script.py",
        """
        from typing import override
        import sys
        from chalk import Step
        from environment.tasks.a import Found
        from environment.tasks.a.answers import ANSWER
        import tasks.a
        print(__name__, ANSWER, Found is tasks.a.Found, Found.__module__, sys.argv[1:])
        """,
    )

    printed = child(project, "-m", "environment.tasks.a.scoring_script", "copy")

    assert printed == "__main__ 42 True tasks.a ['copy']"


def test_a_scoring_script_of_a_project_with_its_own_environment_runs_too(project):
    project.ini(chalk_tasks="src/environment/tasks")
    project.file("src/environment/__init__.py", "OWN = True\n")
    project.task("src/environment/tasks/a")
    project.file(
        "src/environment/tasks/a/scoring_script.py",
        """
        from environment import OWN
        import chalk, tasks.a
        print(OWN, tasks.a.Found.__module__)
        """,
    )

    printed = child(project, "-m", "environment.tasks.a.scoring_script")

    assert printed == "True environment.tasks.a"


def test_a_scoring_child_sees_only_the_names_that_its_parent_resolved_to_us(project, tmp_path):
    site = foreign_chalk(tmp_path)
    code = f"sys.path.insert(0, {str(site)!r})\ninstall_aliases('auto')\nreport = report_aliases()"

    printed = child(
        project, "-c", "import environment; print(environment); import chalk", code=code
    )

    assert "_alias_path/environment" in printed
    assert "No module named 'chalk'" in printed


def test_the_child_path_keeps_order_drops_the_current_directory_and_ends_with_the_root(project):
    printed = project.python(
        """
        import os
        os.environ["PYTHONPATH"] = "/one::/two:"
        names = list(alias_directories().values())
        for mode in ("auto", "first"):
            chosen = make_settings(settings.root, {"chalk_aliases": mode}, {})
            found = child_environment(chosen)["PYTHONPATH"].split(":")
            expected = ["/one", "/two", *names] if mode == "auto" else [*names, "/one", "/two"]
            print(found == [*expected, str(settings.root)])
        """
    )

    assert printed.splitlines() == ["True", "True"]


def test_the_child_learns_the_tasks_directory_and_the_slot_if_there_is_one(project):
    code = "print(child_environment()['CHALK_TASKS_DIR'], child_environment().get('CHALK_SLOT'))"

    assert project.python(code) == f"{project.root / 'tasks'} None"
    assert project.python(code, CHALK_SLOT="3:17").endswith(" 3:17")


def test_a_project_that_nobody_prepared_is_read_for_the_child(project):
    ran = project.run(
        "-c",
        "from pytest_chalk.discovery.alias_path import child_environment as c\n"
        "print(c()['CHALK_TASKS_DIR'], 'alias' in c()['PYTHONPATH'])",
    )

    assert ran.stdout.split() == [str(project.root / "tasks"), "False"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="typing has override")
def test_plain_processes_keep_their_typing_module(project):
    ran = project.run("-c", "import pytest_chalk, typing; print(hasattr(typing, 'override'))")

    assert ran.stdout.strip() == "False"

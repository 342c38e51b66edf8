import pytest

from pytest_chalk.discovery.module_names import canonical_prefix
from pytest_chalk.discovery.settings import make_settings


def test_the_prefix_is_the_name_of_the_tasks_directory(project):
    assert canonical_prefix(make_settings(project.root, {}, {})) == "tasks"
    assert canonical_prefix(make_settings(project.root, {"chalk_tasks": "a/b"}, {})) == "b"


def test_the_prefix_is_environment_tasks_in_a_project_with_that_package(project):
    project.file("src/environment/__init__.py")
    ini = {"chalk_tasks": "src/environment/tasks"}

    assert canonical_prefix(make_settings(project.root, ini, {})) == "environment.tasks"


def test_the_prefix_stays_tasks_where_our_environment_is_preferred(project):
    project.file("src/environment/__init__.py")
    ini = {"chalk_tasks": "src/environment/tasks", "chalk_aliases": "first"}

    assert canonical_prefix(make_settings(project.root, ini, {})) == "tasks"


SAME = """
from importlib import import_module
names = [prefix + ".a" + tail for prefix in {prefixes} for tail in ("", ".deep", ".deep.leaf")]
for name in {order}(names):
    import_module(name)
for tail in ("", ".deep", ".deep.leaf"):
    modules = [sys.modules[prefix + ".a" + tail] for prefix in {prefixes}]
    assert len(set(map(id, modules))) == 1, tail
    assert modules[0].__name__ == modules[0].__spec__.name == "{canonical}.a" + tail
print(sys.modules["{canonical}.a"].Found.__module__)
"""


@pytest.mark.parametrize("order", ["list", "reversed"])
@pytest.mark.parametrize("has_init", [False, True])
@pytest.mark.parametrize("on_path", [False, True])
def test_tasks_and_environment_tasks_are_the_same_modules(project, order, has_init, on_path):
    project.task("tasks/a")
    project.file("tasks/a/deep/__init__.py")
    project.file("tasks/a/deep/leaf.py")
    if has_init:
        project.file("tasks/__init__.py")

    printed = project.python(
        SAME.format(prefixes=["tasks", "environment.tasks"], canonical="tasks", order=order),
        path=(project.root,) if on_path else (),
    )

    assert printed == "tasks.a"


@pytest.mark.parametrize("order", ["list", "reversed"])
@pytest.mark.parametrize("on_path", [False, True])
def test_in_a_project_with_its_own_environment_both_names_are_the_same_modules(
    project, order, on_path
):
    project.ini(chalk_tasks="src/environment/tasks")
    project.file("src/environment/__init__.py", "OWN = True")
    project.task("src/environment/tasks/a")
    project.file("src/environment/tasks/a/deep/__init__.py")
    project.file("src/environment/tasks/a/deep/leaf.py")

    printed = project.python(
        SAME.format(
            prefixes=["tasks", "environment.tasks"], canonical="environment.tasks", order=order
        )
        + "import environment; print(environment.OWN)",
        path=(project.root / "src",) if on_path else (),
    )

    assert printed.splitlines() == ["environment.tasks.a", "True"]


def test_a_name_through_the_packages_around_the_tasks_directory_is_the_same_module(project):
    project.ini(chalk_tasks="app/tasks")
    project.file("app/__init__.py")
    project.task("app/tasks/a")

    printed = project.python(
        """
        import app.tasks.a, tasks.a
        print(app.tasks.a is tasks.a, tasks.a.__name__)
        """,
        path=(project.root,),
    )

    assert printed == "True tasks.a"


@pytest.mark.parametrize("first", ["bare", "canonical"])
def test_the_bare_name_that_prepend_mode_makes_possible_is_the_same_module(project, first):
    project.task("tasks/probe")
    project.file("tasks/probe/helper.py")

    imports = ["import probe.helper", "import tasks.probe.helper"]
    printed = project.python(
        "sys.path.insert(0, str(settings.tasks_dir))\n"
        + "\n".join(imports if first == "bare" else reversed(imports))
        + "\nprint(probe is tasks.probe, probe.helper is tasks.probe.helper, probe.__name__)"
    )

    assert printed == "True True tasks.probe"


def test_a_bare_name_that_another_directory_answers_first_is_left_alone(project, tmp_path):
    project.task("tasks/probe")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "probe.py").write_text("OWNER = 'other'\n")

    printed = project.python(
        "sys.path.append(str(settings.tasks_dir))\nimport probe\nprint(probe.OWNER)",
        path=(tmp_path / "site",),
    )

    assert printed == "other"


def test_a_missing_module_is_reported_under_the_name_that_was_asked_for(project):
    project.task("tasks/a")

    printed = project.python(
        """
        try:
            import environment.tasks.nope
        except ModuleNotFoundError as error:
            print(error)
        """
    )

    assert printed == "No module named 'environment.tasks.nope'"


def test_another_namespace_directory_called_tasks_stays_importable(project, tmp_path):
    project.task("tasks/a")
    (tmp_path / "other" / "tasks").mkdir(parents=True)
    (tmp_path / "other" / "tasks" / "theirs.py").write_text("")

    printed = project.python(
        "import tasks.a, tasks.theirs; print(tasks.theirs.__file__)", path=(tmp_path / "other",)
    )

    assert printed == str(tmp_path / "other" / "tasks" / "theirs.py")


def test_a_class_pickled_under_one_name_is_the_class_of_the_other(project):
    project.task("tasks/a")

    printed = project.python(
        """
        import pickle
        import environment.tasks.a as seed, tasks.a as own
        from chalk.schemas.scoring import Scoring
        pickled = pickle.dumps(seed.Found)
        print(pickle.loads(pickled) is own.Found, b"tasks.a" in pickled)
        print(b"pytest_chalk.schemas.scoring" in pickle.dumps(Scoring(1.0, {}, True)))
        """
    )

    assert printed.splitlines() == ["True True", "True"]


def test_python_m_finds_code_under_both_names(project):
    project.task("tasks/a")
    project.file("tasks/a/script.py", "from tasks.a import Found\nprint(__name__, Found.id)\n")

    for name in ("tasks.a.script", "environment.tasks.a.script"):
        printed = project.python(f"import runpy; runpy.run_module({name!r}, run_name='__main__')")
        assert printed == "__main__ a"


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_a_conftest_in_a_task_package_does_not_make_a_second_copy(project, mode):
    project.task("tasks/a")
    project.file(
        "tasks/a/conftest.py", "from environment.tasks.a import Found\nFound.marked = True\n"
    )
    if mode != "append":  # two files called conftest.py are one module to pytest then
        project.file("tasks/conftest.py", "import environment.tasks.a\n")
    project.file(
        "tasks/a/test_inner.py",
        """
        import sys, importlib

        def test_same():
            assert importlib.import_module("tasks.a").Found.marked
            copies = {id(m) for m in list(sys.modules.values())
                      if str(getattr(m, "__file__", "")).endswith("tasks/a/__init__.py")}
            assert len(copies) == 1
        """,
    )
    from_conftest = project.root / "conftest_code.py"
    from_conftest.write_text(
        "from pathlib import Path\n"
        "from pytest_chalk.discovery.alias_path import prepare_imports\n"
        "from pytest_chalk.discovery.settings import read_settings\n"
        "prepare_imports(read_settings(Path.cwd()))\n"
    )

    ran = project.run(
        *("-m", "pytest", "-p", "conftest_code", "-p", "no:cacheprovider", "-q"),
        *(f"--import-mode={mode}", "tasks"),
        path=(project.root,),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )

    assert "1 passed" in ran.stdout, ran.stdout + ran.stderr

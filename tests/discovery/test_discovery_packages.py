import pytest

from pytest_chalk.discovery.packages import (
    TaskPackage,
    find_task_packages,
    has_task_packages,
    is_task_package,
)
from pytest_chalk.discovery.settings import make_settings
from pytest_chalk.errors import RunOptionError


def settings_of(project, **ini):
    return make_settings(project.root, ini, {})


def test_packages_are_directories_with_an_init_file_that_mentions_chalk_sorted(project):
    for name in ("b", "a", "_template", ".hidden"):
        project.task(f"tasks/{name}")
    project.file("tasks/celery_jobs/__init__.py", "def job(): ...\n")
    project.file("tasks/no_package/chalk.py")
    project.file("tasks/chalk_file.py", "import chalk\n")

    found = find_task_packages(settings_of(project))

    tasks = project.root / "tasks"
    assert found == [
        TaskPackage("a", tasks / "a", "tasks.a"),
        TaskPackage("b", tasks / "b", "tasks.b"),
    ]


def test_a_directory_named_in_the_ini_needs_no_mention_of_chalk(project):
    project.file("agents/quiet/__init__.py", "from somewhere import QuietTask\n")

    found = find_task_packages(settings_of(project, chalk_tasks="agents"))

    assert [package.canonical_name for package in found] == ["agents.quiet"]


def test_a_project_without_tasks_has_none(project):
    assert not has_task_packages(settings_of(project))
    assert find_task_packages(settings_of(project)) == []


def test_looking_for_the_first_package_is_enough_to_know_there_are_some(project):
    project.task("tasks/a")

    assert has_task_packages(settings_of(project))


@pytest.mark.parametrize("find", [has_task_packages, find_task_packages])
def test_a_tasks_directory_that_is_named_and_missing_is_an_error(project, find):
    with pytest.raises(RunOptionError, match=r"chalk_tasks.*no directory"):
        find(settings_of(project, chalk_tasks="agnets"))


def test_a_package_is_known_by_its_directory_or_its_init_file(project):
    init = project.task("tasks/a")
    helper = project.file("tasks/a/nested/__init__.py", "import chalk\n")

    settings = settings_of(project)

    assert is_task_package(init, settings)
    assert is_task_package(init.parent, settings)
    assert not is_task_package(helper, settings)
    assert not is_task_package(project.root / "tasks", settings)


def test_a_project_whose_tasks_belong_to_celery_is_left_alone(project):
    project.file("tasks/__init__.py", "LOADED = True\ndef send_mail(): ...\n")
    project.file("tasks/reports/__init__.py", "raise SystemExit('imported')\n")

    printed = project.python(
        """
        print(has_task_packages(settings), [name for name in sys.modules if "tasks" in name])
        import tasks
        print(tasks.LOADED)
        """,
        path=(project.root,),
    )

    assert printed.splitlines() == ["False []", "True"]


def test_asking_for_packages_imports_neither_pydantic_nor_our_errors(project):
    project.task("tasks/a")

    ran = project.run(
        "-c",
        "import sys, pathlib\n"
        "from pytest_chalk.discovery.settings import make_settings\n"
        "from pytest_chalk.discovery.packages import has_task_packages\n"
        "print(has_task_packages(make_settings(pathlib.Path.cwd(), {}, {})))\n"
        "print([m for m in ('pydantic', 'typing_extensions', 'tomllib') if m in sys.modules])\n",
    )

    assert ran.stdout.splitlines() == ["True", "[]"]

import pytest

LIST = """
registry = TaskRegistry(settings)
for package in find_task_packages(settings):
    try:
        found = task_classes(import_task_package(package), package, registry)
        print(package.name, [cls.__name__ for cls in found])
    except TaskDefinitionError as error:
        print(package.name, "error", error)
"""

MEMBERS = "    system_prompt = None\n    tools = ()\n    steps = ()\n"


def test_tasks_come_in_the_order_of_the_package_and_bases_without_id_are_left_out(project):
    project.file(
        "tasks/a/__init__.py",
        f"from chalk import Task\n"
        f"class Base(Task):\n{MEMBERS}"
        f"class Zeta(Base):\n    id = 'zeta'\n"
        f"class Abstract(Task):\n    pass\n"
        f"class Alpha(Base):\n    id = 'alpha'\n"
        f"Again = Zeta\nNUMBER = 1\n",
    )

    assert project.python(LIST) == "a ['Zeta', 'Alpha']"


def test_a_task_made_by_create_task_is_one_of_the_package(project):
    project.file(
        "tasks/a/__init__.py",
        "from chalk import create_task\n"
        "made = create_task(id='made', tools=[], steps=[], system_prompt=None)\n",
    )

    assert project.python(LIST) == "a ['made']"


def test_a_class_that_several_packages_show_is_collected_where_it_is_defined(project):
    project.task("tasks/b", "Owned")
    project.file("tasks/a/__init__.py", "import chalk\nfrom environment.tasks.b import Owned\n")
    project.file("tasks/c/__init__.py", "import chalk\nfrom tasks.b import Owned\n")

    assert project.python(LIST).splitlines() == ["a []", "b ['Owned']", "c []"]


def test_a_class_from_elsewhere_is_collected_where_it_is_seen_first(project):
    project.task("tasks/_shared", "Shared")
    for name in ("b", "c"):
        project.file(
            f"tasks/{name}/__init__.py", "import chalk\nfrom tasks._shared import Shared\n"
        )

    printed = project.python(LIST, LIST.partition("TaskRegistry(settings)")[2])

    assert printed.splitlines() == ["b ['Shared']", "c []", "b ['Shared']", "c []"]


def test_a_class_its_own_package_hides_is_collected_where_it_is_shown(project):
    project.file("tasks/a/__init__.py", "import chalk\n")
    project.file(
        "tasks/a/inner.py", f"from chalk import Task\nclass Inner(Task):\n    id = 'x'\n{MEMBERS}"
    )
    project.file("tasks/b/__init__.py", "import chalk\nfrom tasks.a.inner import Inner\n")

    assert project.python(LIST).splitlines() == ["a []", "b ['Inner']"]


def test_two_classes_with_one_id_are_an_error_naming_both(project):
    first = project.task("tasks/a", "First", "same")
    second = project.task("tasks/b", "Second", "same")

    printed = project.python(LIST).splitlines()

    assert printed[0] == "a ['First']"
    assert f"tasks.a.First in {first}" in printed[1]
    assert f"tasks.b.Second in {second}" in printed[1]


def test_a_class_that_inherits_an_id_it_does_not_change_is_a_second_class_with_it(project):
    project.task("tasks/a", "First")
    project.file("tasks/a/__init__.py", (project.root / "tasks/a/__init__.py").read_text())
    with (project.root / "tasks/a/__init__.py").open("a") as file:
        file.write("\nclass Harder(First):\n    pass\n")

    printed = project.python(LIST)

    assert "error" in printed
    assert "tasks.a.First" in printed
    assert "tasks.a.Harder" in printed


def test_a_class_with_an_id_and_missing_members_is_an_error_naming_them(project):
    project.file(
        "tasks/a/__init__.py",
        "from chalk import Task\nclass Half(Task):\n    id = 'half'\n    tools = []\n",
    )

    printed = project.python(LIST)

    assert "error task 'half' (tasks.a.Half" in printed
    assert "steps, system_prompt" in printed


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("7", "its id is 7"),
        ("property(lambda self: 'x')", "its id is <property"),
        ("'x' * 256", "256"),
    ],
)
def test_an_id_that_is_none_is_an_error(project, written, said):
    project.file(
        "tasks/a/__init__.py",
        f"from chalk import Task\nclass Odd(Task):\n    id = {written}\n{MEMBERS}",
    )

    printed = project.python(LIST)

    assert "error tasks.a.Odd" in printed
    assert said in printed


def test_ini_keys_select_by_id_and_exclude_wins(project):
    project.ini(chalk_include="a b", chalk_exclude="b")
    for name in "abc":
        project.task(f"tasks/{name}")

    assert project.python(LIST).splitlines() == ["a ['Found']", "b []", "c []"]


def test_an_excluded_task_may_be_broken(project):
    project.ini(chalk_exclude="half")
    project.file(
        "tasks/a/__init__.py", "from chalk import Task\nclass Half(Task):\n    id = 'half'\n"
    )

    assert project.python(LIST) == "a []"


def own_environment(project, text, **ini):
    project.ini(chalk_tasks="src/environment/tasks", **ini)
    project.file("src/environment/__init__.py", text)
    for name in "abc":
        project.task(f"src/environment/tasks/{name}")


GET_TASKS = """
def get_tasks():
    import importlib
    return [importlib.import_module("environment.tasks." + name).Found for name in "ab"]
"""


def test_the_projects_own_get_tasks_selects(project):
    own_environment(project, GET_TASKS)

    assert project.python(LIST).splitlines() == ["a ['Found']", "b ['Found']", "c []"]


def test_the_projects_own_sets_select(project):
    own_environment(project, "INCLUDE_TASKS = {'a', 'b'}\nEXCLUDE_TASKS = {'b'}\n")

    assert project.python(LIST).splitlines() == ["a ['Found']", "b []", "c []"]


def test_the_ini_key_include_stands_in_for_what_the_environment_package_says(project):
    own_environment(project, GET_TASKS, chalk_include="c")

    assert project.python(LIST).splitlines() == ["a []", "b []", "c ['Found']"]


def test_the_ini_key_exclude_is_taken_from_what_get_tasks_returns(project):
    own_environment(project, GET_TASKS, chalk_exclude="a")

    assert project.python(LIST).splitlines() == ["a []", "b ['Found']", "c []"]


def test_an_environment_package_beside_the_tasks_is_asked_too(project):
    project.file("environment/__init__.py", "EXCLUDE_TASKS = {'b'}\n")
    for name in "ab":
        project.task(f"tasks/{name}")

    printed = project.python(LIST, path=(project.root,))

    assert printed.splitlines() == ["a ['Found']", "b []"]


def test_an_environment_package_that_says_nothing_about_tasks_is_not_imported(project):
    project.file("environment/__init__.py", "raise SystemExit('imported')\n")
    project.task("tasks/a")

    assert project.python(LIST, path=(project.root,)) == "a ['Found']"


def test_a_class_from_get_tasks_that_no_package_shows_is_an_error(project):
    own_environment(
        project,
        GET_TASKS.replace("return [", "return [Lost] + [")
        + "from chalk import Task\nclass Lost(Task):\n    id = 'lost'\n"
        + MEMBERS,
    )

    printed = project.python(LIST)

    assert "environment.Lost, which no task package shows" in printed


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def get_tasks(): return [1]\n", "returned 1, which is no Task class"),
        ("def get_tasks(): return 1 / 0\n", "ZeroDivisionError"),
        ("INCLUDE_TASKS = 'a'\n", "INCLUDE_TASKS: holds 'a'"),
        ("import nowhere\nget_tasks = None\n", "No module named 'nowhere'"),
    ],
)
def test_an_environment_package_that_cannot_be_asked_is_an_error(project, body, said):
    own_environment(project, body)

    assert said in project.python(LIST)


DESCRIBE = """
registry = TaskRegistry(settings)
(package,) = find_task_packages(settings)
(cls,) = task_classes(import_task_package(package), package, registry)
try:
    print(describe_task(cls))
except TaskDefinitionError as error:
    print(error)
"""


def describe(project, body):
    project.file(
        "tasks/a/__init__.py",
        "from pathlib import Path\nfrom chalk import Task, Step\n"
        f"class Found(Task):\n    id = 'a'\n{MEMBERS}{body}\n",
    )
    return project.python(DESCRIBE)


def test_a_task_is_described_with_the_placeholder_config(project):
    printed = describe(
        project,
        "    tools = ['bash']\n    submission_paths = (Path('/x'),)\n"
        "    required_hardware = property(lambda self: repr(self.config.run_id))\n"
        "    steps = property(lambda self: (i for i in range(3)))\n",
    )

    assert "tools=('bash',)" in printed
    assert "PosixPath('/x')" in printed
    assert "required_hardware=\"''\"" in printed
    assert "n_steps=3" in printed


@pytest.mark.parametrize("member", ["tools", "required_hardware", "data_mounts", "steps"])
def test_a_property_that_fails_with_the_placeholder_is_named(project, member):
    printed = describe(project, f"    {member} = property(lambda self: [][int(self.config.model)])")

    assert printed.startswith("task 'a' (tasks.a.Found")
    assert f"{member} raised ValueError" in printed
    assert "placeholder" in printed


@pytest.mark.parametrize("tools", ["'bash'", "[1]", "None"])
def test_tools_that_are_no_list_of_names_are_an_error(project, tools):
    printed = describe(project, f"    tools = {tools}")

    assert "tools is" in printed
    assert "list or tuple of str" in printed

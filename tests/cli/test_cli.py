import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_chalk import __version__

REPOSITORY = Path(__file__).parents[2]


def cli(project, *arguments, **environ):
    return project.run("-m", "pytest_chalk", *arguments, **environ)


def test_help_names_every_command(project):
    ran = cli(project, "--help")

    assert ran.returncode == 0
    for command in ("create-task", "tasks", "check", "run", "alias-path"):
        assert command in ran.stdout


def test_version_is_that_of_the_package(project):
    assert cli(project, "--version").stdout.strip() == f"pytest-chalk {__version__}"


@pytest.mark.parametrize("arguments", [(), ("nope",), ("tasks",), ("create-task",), ("run",)])
def test_wrong_usage_exits_4(project, arguments):
    assert cli(project, *arguments).returncode == 4


def test_help_costs_at_most_8_times_as_much_as_python_itself(project):
    def fastest(*arguments):
        took = []
        for _ in range(7):
            start = time.monotonic()
            project.run(*arguments)
            took.append(time.monotonic() - start)
        return min(took)

    assert fastest("-m", "pytest_chalk", "--help") <= 8 * fastest("-c", "pass")


def test_a_created_task_is_listed_with_its_id_and_its_directory_has_underscores(project):
    ran = cli(project, "create-task", "count-the-lines")

    assert ran.returncode == 0
    assert "pytest tasks/count_the_lines" in ran.stdout
    directory = project.root / "tasks" / "count_the_lines"
    assert sorted(path.name for path in directory.iterdir()) == ["__init__.py", "scoring_script.py"]
    assert (
        "environment.tasks.count_the_lines.scoring_script"
        in (directory / "__init__.py").read_text()
    )
    listed = json.loads(cli(project, "tasks", "list", "--json").stdout)
    assert [task["id"] for task in listed] == ["count-the-lines"]


def test_a_name_with_underscores_gets_an_id_with_dashes(project):
    cli(project, "create-task", "two_words")

    assert 'id = "two-words"' in (project.root / "tasks/two_words/__init__.py").read_text()


def test_the_projects_own_template_is_preferred(project):
    project.file(
        "tasks/_template/__init__.py",
        'import chalk\nclass Mine(chalk.Task):\n    id: str = "template"  # kept\n',
    )
    project.file("tasks/_template/deep/notes.md", "notes")
    project.file("tasks/_template/__pycache__/x.pyc", "old")

    cli(project, "create-task", "new-one")

    created = project.root / "tasks" / "new_one"
    assert 'id: str = "new-one"  # kept' in (created / "__init__.py").read_text()
    assert (created / "deep" / "notes.md").read_text() == "notes"
    assert not (created / "__pycache__").exists()


def test_a_template_without_an_id_is_an_error_and_leaves_nothing(project):
    project.file("tasks/_template/__init__.py", "import chalk\n")

    ran = cli(project, "create-task", "new-one")

    assert ran.returncode == 1
    assert "sets no id" in ran.stderr
    assert not (project.root / "tasks" / "new_one").exists()


def test_a_task_that_exists_is_never_overwritten(project):
    init = project.task("tasks/mine")
    before = init.read_text()

    ran = cli(project, "create-task", "mine")

    assert ran.returncode == 1
    assert "exists already" in ran.stderr
    assert init.read_text() == before


@pytest.mark.parametrize(
    "name", ["My-Task", "1st", "a--b", "-a", "a/b", "../a", "import", "a b", "", "a_", "x" * 256]
)
def test_a_name_that_cannot_be_a_package_is_wrong_usage(project, name):
    ran = cli(project, "create-task", "--", name)

    assert ran.returncode == 4
    assert ran.stderr.count("\n") == 1
    assert not (project.root / "tasks").exists()


def test_the_packaged_template_is_the_one_of_this_repository():
    packaged = REPOSITORY / "pytest_chalk" / "_template"
    own = REPOSITORY / "tasks" / "_template"

    assert {path.name.removesuffix(".txt"): path.read_text() for path in packaged.iterdir()} == {
        path.name: path.read_text() for path in own.glob("*.py")
    }


def test_the_list_as_json_has_the_five_fields_of_each_task_sorted_by_id(project):
    project.file(
        "tasks/b/__init__.py",
        """
        from pathlib import Path
        from chalk import Task
        from chalk.schemas.data_mount import DataMount

        class B(Task):
            id = "zeta"
            system_prompt = None
            tools = ["bash"]
            steps = ()
            required_hardware = "my-gpu"
            submission_paths = (Path("/data/answer.txt"),)
            data_mounts = [DataMount(name="d", version="1", container_path="/d")]
        """,
    )
    project.task("tasks/c", task_id="alpha")

    listed = json.loads(cli(project, "tasks", "list", "--json").stdout)

    empty = {"tools": [], "required_hardware": None, "submission_paths": [], "data_mounts": []}
    mount = {"name": "d", "version": "1", "container_path": "/d", "mount_type": "read"}
    assert listed == [
        {"id": "alpha", **empty},
        {
            "id": "zeta",
            "tools": ["bash"],
            "required_hardware": "my-gpu",
            "submission_paths": ["/data/answer.txt"],
            "data_mounts": [mount],
        },
    ]


def test_the_list_for_people_is_a_table(project):
    project.task("tasks/a")

    lines = cli(project, "tasks", "list").stdout.splitlines()

    assert lines[0].split() == ["ID", "STEPS", "TOOLS", "HARDWARE", "SUBMISSIONS"]
    assert lines[1].split() == ["a", "0", "-", "-", "-"]


def test_an_error_in_one_task_is_one_line_and_the_others_are_listed(project):
    project.task("tasks/good")
    project.file("tasks/bad/__init__.py", "import chalk\nimport nowhere\n")
    project.file("tasks/worse/__init__.py", "import chalk\nclass (\n")

    ran = cli(project, "tasks", "list", "--json")

    assert ran.returncode == 1
    assert [task["id"] for task in json.loads(ran.stdout)] == ["good"]
    errors = ran.stderr.splitlines()
    assert len(errors) == 2
    assert "tasks/bad/__init__.py:2: import nowhere" in errors[0]
    assert "Traceback" not in ran.stderr


def test_what_tasks_print_at_import_does_not_spoil_the_json(project):
    init = project.task("tasks/a")
    init.write_text("print('hello')\n" + init.read_text())

    ran = cli(project, "tasks", "list", "--json")

    assert len(json.loads(ran.stdout)) == 1
    assert "hello" in ran.stderr


def test_a_project_without_tasks_is_told_so(project):
    ran = cli(project, "tasks", "list")

    assert (ran.returncode, ran.stdout) == (0, "")
    assert "no tasks in" in ran.stderr


def test_the_list_is_the_same_from_a_directory_below_the_root(project):
    project.task("tasks/a")
    deep = project.root / "src" / "deep"
    deep.mkdir(parents=True)

    ran = project.run(
        "-c",
        f"import os; os.chdir({str(deep)!r})\n"
        "from pytest_chalk.cli import main; raise SystemExit(main(['tasks', 'list', '--json']))",
    )

    assert [task["id"] for task in json.loads(ran.stdout)] == ["a"]


def test_modules_that_pytests_pythonpath_makes_importable_are_so_for_the_list(project):
    project.ini(pythonpath="src")
    project.file("src/helper.py", "NAME = 'from-helper'\n")
    project.file("beside.py", "")
    init = project.task("tasks/a", task_id="x")
    init.write_text(
        init.read_text().replace('"x"', "helper.NAME") + "\nimport beside  # in the root\n"
    )
    init.write_text("import helper\n" + init.read_text())

    listed = json.loads(cli(project, "tasks", "list", "--json").stdout)

    assert listed[0]["id"] == "from-helper"


def test_listing_takes_no_slot_and_writes_nothing(project, tmp_path):
    project.task("tasks/a")
    init = project.root / "tasks/a/__init__.py"
    init.write_text("from environment.paths import STUDENT_DATA_DIR\n" + init.read_text())
    before = sorted(project.root.rglob("*"))

    ran = cli(project, "tasks", "list", CHALK_SLOT_BASE=str(tmp_path / "slots"))

    assert ran.returncode == 0
    assert sorted(project.root.rglob("*")) == before
    assert not (tmp_path / "slots").exists()


def test_a_bad_ini_value_is_wrong_usage_in_one_line(project):
    project.ini(chalk_aliases="last")

    ran = cli(project, "tasks", "list")

    assert ran.returncode == 4
    assert ran.stderr.count("\n") == 1


def test_a_script_is_run_with_its_arguments_and_the_aliases(project):
    project.task("tasks/a")
    project.file("scripts/helper.py", "WORD = 'helped'\n")
    project.file(
        "scripts/look.py",
        """
        import sys
        import helper
        from chalk import Task
        from environment.tasks.a import Found
        print(__name__, sys.argv, helper.WORD, issubclass(Found, Task))
        """,
    )

    ran = cli(project, "run", "scripts/look.py", "--json", "x")

    assert ran.stdout.strip() == "__main__ ['scripts/look.py', '--json', 'x'] helped True"


def test_the_exit_code_of_a_script_is_passed_on(project):
    project.file("script.py", "raise SystemExit(7)\n")

    assert cli(project, "run", "script.py").returncode == 7


def test_a_script_that_fails_shows_its_own_frames_only(project):
    project.file("script.py", "def act():\n    1 / 0\nact()\n")

    ran = cli(project, "run", "script.py")

    assert ran.returncode == 1
    assert "script.py" in ran.stderr
    assert "ZeroDivisionError" in ran.stderr
    assert "runpy" not in ran.stderr
    assert "cli.py" not in ran.stderr


def test_a_script_that_does_not_exist_is_wrong_usage(project):
    ran = cli(project, "run", "nowhere.py")

    assert ran.returncode == 4
    assert "no such file" in ran.stderr


def test_an_interrupt_exits_2(project):
    project.file("script.py", "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest_chalk", "run", "script.py"],
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": str(project.library)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()

    process.send_signal(signal.SIGINT)

    _, complaint = process.communicate(timeout=30)
    assert process.returncode == 2
    assert complaint.strip() == "interrupted"


def test_the_alias_path_is_printed_for_type_checkers(project):
    directories = cli(project, "alias-path").stdout.split()

    assert [Path(directory).name for directory in directories] == [
        "chalk",
        "chalkcompute",
        "environment",
    ]
    assert all(Path(directory).is_dir() for directory in directories)


def test_check_says_what_is_asked_enforced_and_seen_and_what_to_do(project):
    ran = cli(project, "check")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "asked: auto (default)" in ran.stdout
    assert "level: " in ran.stdout
    for word in ("network: ", "kill: ", "tasks: ", "seen: ", "do: "):
        assert word in ran.stdout
    assert "BROKEN" not in ran.stdout


def test_check_of_a_level_that_cannot_be_had_is_wrong_usage(project):
    unmet = cli(project, "check", "--isolation", "strict")

    assert unmet.returncode == 4
    assert "'strict' is no level" in unmet.stderr

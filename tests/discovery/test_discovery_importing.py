import pytest

IMPORT_ALL = """
for package in find_task_packages(settings):
    try:
        print(import_task_package(package).__name__)
    except TaskImportError as error:
        print(type(error.__cause__).__name__, "|", error)
"""


def test_a_task_package_is_imported_although_the_root_is_on_no_path(project):
    project.task("tasks/a")

    assert project.python(IMPORT_ALL) == "tasks.a"


def test_an_error_in_a_task_names_the_file_the_line_and_the_cause_but_no_frame_of_ours(project):
    project.file("tasks/a/__init__.py", "import chalk\nfrom tasks.a import helper\n")
    project.file("tasks/a/helper.py", "1 / 0\n")

    printed = project.python(IMPORT_ALL)

    assert printed.startswith("ZeroDivisionError |")
    assert "tasks/a/__init__.py:2: from tasks.a import helper" in printed
    assert "tasks/a/helper.py:1: 1 / 0" in printed
    assert "ZeroDivisionError: division by zero" in printed
    assert "importlib" not in printed
    assert "pytest_chalk" not in printed


def test_a_syntax_error_is_shown_with_its_line(project):
    project.file("tasks/a/__init__.py", "import chalk\nclass Broken(\n")

    assert "line 2" in project.python(IMPORT_ALL)


def test_a_task_that_exits_at_import_does_not_end_the_session(project):
    project.file("tasks/a/__init__.py", "import chalk\nraise SystemExit('usage: a')\n")
    project.task("tasks/b")

    printed = project.python(IMPORT_ALL).splitlines()

    assert printed[0].startswith("SystemExit |")
    assert printed[-1] == "tasks.b"


def test_skipping_a_whole_module_reaches_pytest(project):
    project.file(
        "tasks/a/__init__.py",
        "import chalk, pytest\npytest.skip('not here', allow_module_level=True)\n",
    )

    printed = project.python(
        """
        import pytest
        with pytest.raises(pytest.skip.Exception, match="not here"):
            import_task_package(find_task_packages(settings)[0])
        """
    )

    assert printed == ""


def test_a_failed_import_can_be_repeated_under_both_names(project):
    project.file(
        "tasks/a/__init__.py",
        "import environment.tasks.a, chalk\nraise RuntimeError('broken')\n",
    )

    printed = project.python(IMPORT_ALL + IMPORT_ALL)

    assert printed.count("RuntimeError: broken") == 2


def test_a_directory_with_a_dot_is_refused_in_words(project):
    project.file("tasks/v1.2/__init__.py", "import chalk\n")

    assert "dot" in project.python(IMPORT_ALL)


@pytest.mark.parametrize("foreign", ["tasks.py", "tasks/__init__.py"])
def test_a_foreign_tasks_module_on_the_path_is_an_error_naming_both(project, tmp_path, foreign):
    project.task("tasks/a")
    other = tmp_path / "site" / foreign
    other.parent.mkdir(parents=True)
    other.write_text("")

    printed = project.python(IMPORT_ALL, path=(tmp_path / "site",))

    assert "tasks.<name>" in printed
    assert str(other) in printed
    assert "chalk_tasks" in printed


def test_a_foreign_tasks_module_that_is_imported_already_is_an_error_naming_both(project):
    project.task("tasks/a")

    printed = project.python(
        """
        import types
        sys.modules["tasks"] = types.ModuleType("tasks")
        sys.modules["tasks"].__file__ = "/elsewhere/tasks.py"
        """,
        IMPORT_ALL,
    )

    assert "/elsewhere/tasks.py" in printed


def test_the_seed_name_fails_naming_the_canonical_one_where_that_is_foreign(project, tmp_path):
    project.task("tasks/a")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "tasks.py").write_text("")

    printed = project.python(
        """
        try:
            import environment.tasks.a
        except TaskImportError as error:
            print(error)
        """,
        path=(tmp_path / "site",),
    )

    assert "imported as tasks.<name>" in printed
    assert "site/tasks.py" in printed


def test_a_foreign_tasks_module_is_never_taken_from_those_who_import_it(project, tmp_path):
    project.task("tasks/a")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "tasks.py").write_text("OWNER = 'celery'\n")

    printed = project.python("import tasks; print(tasks.OWNER)", path=(tmp_path / "site",))

    assert printed == "celery"


def test_a_name_that_leads_to_another_file_is_an_error(project):
    project.task("tasks/a")

    printed = project.python(
        """
        import types
        sys.modules["tasks.a"] = types.ModuleType("tasks.a")
        """,
        IMPORT_ALL,
    )

    assert "'tasks.a' leads to" in printed


def test_a_package_called_json_is_ours_and_the_standard_library_keeps_its_own(project):
    project.task("tasks/json", "JsonTask")
    project.task("tasks/colorsys", "ColourTask")

    printed = project.python(
        """
        sys.path.insert(0, str(settings.tasks_dir))
        for package in find_task_packages(settings):
            module = import_task_package(package)
            print(module.__name__, module.__file__.startswith(str(settings.root)))
        import json, colorsys
        print(json.dumps(1), colorsys.rgb_to_hsv(0, 0, 0))
        """
    )

    assert printed.splitlines() == [
        "tasks.colorsys True",
        "tasks.json True",
        "1 (0.0, 0.0, 0)",
    ]

import os

import pytest
from _pytest.config.findpaths import locate_config

from pytest_chalk.discovery.settings import find_root, make_settings, parse_ids, read_settings
from pytest_chalk.errors import RunOptionError

CONFIGURATIONS = {
    "pytest.toml": '[pytest]\nchalk_tasks = "agents"\nchalk_include = ["a", "b"]\n',
    ".pytest.toml": '[pytest]\nchalk_tasks = "agents"\nchalk_include = ["a", "b"]\n',
    "pytest.ini": "[pytest]\nchalk_tasks = agents\nchalk_include = a b\n",
    ".pytest.ini": "[pytest]\nchalk_tasks = agents\nchalk_include = a, b\n",
    "pyproject.toml": '[tool.pytest.ini_options]\nchalk_tasks = "agents"\nchalk_include = "a b"\n',
    "tox.ini": "[pytest]\nchalk_tasks = agents\nchalk_include =\n    a\n    b\n",
    "setup.cfg": "[tool:pytest]\nchalk_tasks = agents\nchalk_include = a b\n",
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_keys_are_read_from_every_file_that_pytest_reads(tmp_path, name):
    (tmp_path / name).write_text(CONFIGURATIONS[name])

    settings = read_settings(tmp_path)

    assert settings.tasks_dir == tmp_path / "agents"
    assert settings.tasks_dir_is_explicit
    assert settings.include == {"a", "b"}


def test_native_toml_tables_of_pyproject_are_read(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.pytest]\nchalk_exclude = ["slow-one"]\n')

    assert read_settings(tmp_path).exclude == {"slow-one"}


def test_without_a_word_the_tasks_are_in_tasks_and_not_explicit(tmp_path):
    settings = read_settings(tmp_path)

    assert settings.tasks_dir == tmp_path / "tasks"
    assert not settings.tasks_dir_is_explicit
    assert (settings.include, settings.exclude, settings.aliases) == (set(), set(), "auto")


def test_the_environment_comes_before_the_ini_file(tmp_path):
    ini = {"chalk_tasks": "a", "chalk_include": ["x"], "chalk_aliases": "first"}
    environ = {"CHALK_TASKS": "b", "CHALK_INCLUDE": "y,z", "CHALK_ALIASES": "off"}

    settings = make_settings(tmp_path, ini, environ)

    assert settings.tasks_dir == tmp_path / "b"
    assert settings.include == {"y", "z"}
    assert settings.aliases == "off"


def test_an_unknown_alias_mode_is_an_error_that_lists_the_modes(tmp_path):
    with pytest.raises(RunOptionError, match=r"'last'.*auto.*first.*off"):
        make_settings(tmp_path, {"chalk_aliases": "last"}, {})


def test_a_configuration_that_cannot_be_parsed_is_an_error_naming_the_file(tmp_path):
    (tmp_path / "pytest.toml").write_text("[pytest\n")

    with pytest.raises(RunOptionError, match=r"pytest\.toml"):
        read_settings(tmp_path)


@pytest.mark.parametrize("value", ["a b", "a, b", "a\nb", ["a", "b"], ["a b"], "b a,"])
def test_ids_are_separated_by_commas_blanks_or_lines(value):
    assert parse_ids(value) == {"a", "b"}


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": ""},
        {"pyproject.toml": "[project]\nname='x'\n"},
        {"sub/pyproject.toml": "", "pytest.ini": "[pytest]\n"},
        {"sub/pyproject.toml": "[tool.pytest.ini_options]\n", "pytest.ini": "[pytest]\n"},
        {"sub/pyproject.toml": "[tool.pytest]\n", "pytest.ini": "[pytest]\n"},
        {"sub/tox.ini": "[tox]\n", "setup.cfg": "[tool:pytest]\n"},
        {"sub/setup.cfg": "[metadata]\nname = x\n", "tox.ini": "[pytest]\n"},
        {"sub/.pytest.toml": "", "pytest.ini": "[pytest]\n"},
    ],
)
def test_the_root_is_the_one_that_pytest_finds(tmp_path, files):
    start = tmp_path / "sub"
    start.mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert find_root(start) == locate_config(start, [start])[0]


def test_without_any_configuration_the_root_is_where_one_stands(tmp_path):
    assert find_root(tmp_path) == tmp_path


def test_paths_are_relative_to_the_root(tmp_path):
    settings = make_settings(tmp_path, {"chalk_tasks": "../shared/./tasks"}, {})

    assert os.fspath(settings.tasks_dir) == os.path.normpath(tmp_path / "../shared/tasks")

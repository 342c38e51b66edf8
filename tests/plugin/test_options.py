"""Options: what each does, where it may come from, and what cannot be used."""

from __future__ import annotations

import json

import pytest
from plugin.conftest import Project

ECHO = """
class Echo(Judge):
    def __init__(self, config):
        self.config = config

    def evaluate(self, transcript):
        return Scoring(1.0, self.config.model_dump(mode="json"), True)


One = task("one", step("work", property(lambda self: Echo(self.config))))
"""


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--chalk-epochs=0", "*--chalk-epochs: '0'*whole number of at least 1*"),
        ("--chalk-epochs=x", "*whole number of at least 1*"),
        ("--chalk-turn-limit=0", "*--chalk-turn-limit: '0'*"),
        ("--chalk-turn-limit=-1", "*--chalk-turn-limit: '-1'*"),
        ("--chalk-step-time-limit=0", "*seconds as a number above 0*"),
        ("--chalk-step-time-limit=nan", "*seconds as a number above 0*"),
        ("--chalk-on-limit=ignore", "*score or error*"),
        ("--chalk-gate=some", "*each or mean*"),
        ("--chalk-fail-under=high", "*finite number*"),
        ("--chalk-pass-score=inf", "*finite number*"),
        ("--chalk-min-scored=1.5", "*number from 0 to 1*"),
        ("--chalk-extra=novalue", "*'novalue' is no entry*K=V*"),
        ("--chalk-extra=extra_task_instructions=7", "*string or list of strings*"),
        ("--chalk-config=missing.json", "*cannot be read*"),
        ("--chalk-model=unknown", "*'unknown' is unknown*"),
    ],
)
def test_a_value_that_cannot_be_used_is_a_usage_error(project: Project, option: str, message: str):
    project.task("one", ECHO)

    result = project.run(option)

    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "*holds a list*"),
        ("{", "*cannot be read*"),
        ('{"turn_limti": 3}', "*unknown field 'turn_limti'*Write 'turn_limit'*"),
        ('{"turn_limit": 0}', "*turn_limit is 0*"),
        ('{"task_id": "two"}', "*task_id is 'two'*Use one of: one*"),
        ('{"model": "gpt-x"}', "*'gpt-x' is unknown*"),
    ],
)
def test_a_config_file_that_cannot_be_used_is_a_usage_error(
    project: Project, content: str, message: str
):
    project.task("one", ECHO)
    project.file("run.json", content)

    result = project.run("--chalk-config=run.json")

    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


def config_of(project: Project, *arguments: str) -> dict:
    result = project.run(*arguments)
    assert result.ret == 0, result.stdout.str()
    return project.run_record()["steps"][0]["metadata"]


def test_a_config_file_fills_the_run_config_and_flags_override_it(project: Project):
    project.task("one", ECHO)
    content = {"turn_limit": 5, "use_hints": True, "extra_config": {"a": 1, "b": 2}}
    project.file("run.json", json.dumps({**content, "websocket_config": {"port": 1}}))

    config = config_of(
        project, "--chalk-config=run.json", "--chalk-no-hints", "--chalk-extra=b=[3]",
        "--chalk-extra=c=plain text",
    )  # fmt: skip

    assert config["turn_limit"] == 5
    assert config["use_hints"] is False
    assert config["extra_config"] == {"a": 1, "b": [3], "c": "plain text"}


def test_the_config_files_task_id_deselects_the_others(project: Project):
    project.task("one", ECHO)
    project.task("two", 'Two = task("two", step("work", Score(0)))')
    project.file("run.json", '{"task_id": "one"}')

    result = project.run("--chalk-config=run.json")

    assert result.ret == 0
    assert result.parseoutcomes() == {"passed": 1, "deselected": 1}


def test_the_config_has_run_id_task_id_and_model(project: Project):
    project.task("one", ECHO)

    config = config_of(project)

    assert (config["task_id"], config["model"]) == ("one", "oracle")
    assert config["run_id"].startswith("one-oracle-")


def test_the_command_line_beats_the_environment_and_that_the_ini(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", ECHO)
    project.ini("chalk_turn_limit = 3", "chalk_step_time_limit = 30", "chalk_on_limit = error")
    monkeypatch.setenv("CHALK_TURN_LIMIT", "4")
    monkeypatch.setenv("CHALK_STEP_TIME_LIMIT", "40")

    config = config_of(project, "--chalk-turn-limit=5")

    assert config["turn_limit"] == 5
    assert config["step_time_limit_seconds"] == 40
    assert config["on_limit"] == "error"


def test_the_model_comes_from_environment_and_ini_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", ECHO)
    project.ini("chalk_model = noop oracle")
    assert config_of(project, "-k", "noop")["model"] == "noop"

    monkeypatch.setenv("CHALK_MODEL", "oracle")
    assert config_of(project)["model"] == "oracle"


def test_extra_task_instructions_are_told_to_the_student(project: Project):
    project.task("one", ECHO)

    project.run("--chalk-extra=extra_task_instructions=Be brief.")

    told = [e["message"]["content"] for e in project.events() if e["type"] == "message_added"]
    assert told[0] == "Do work.\n\nBe brief."


def test_extra_artifact_paths_are_kept_before_the_submission_is_collected(project: Project):
    project.task(
        "one",
        """
        from environment.paths import STUDENT_UID, STUDENT_WORKDIR
        from environment.submissions import delete_files

        One = task("one", step("work", Score(1), solution="echo kept > notes.txt",
                               pre_scoring_hook=lambda self: delete_files(STUDENT_UID)))
        """,
    )
    project.file(
        "conftest.py",
        """
        import pytest

        @pytest.fixture
        def chalk_run_config(chalk_run_config, chalk_student):
            extra = {"extra_artifact_paths": str(chalk_student.workdir / "notes.txt")}
            return chalk_run_config.model_copy(update={"extra_config": extra})
        """,
    )

    result = project.run_apart()

    assert result.ret == 0, result.stdout.str()
    (kept,) = (project.path / ".chalk/latest/runs").glob("*/artifacts/notes.txt")
    assert kept.read_text() == "kept\n"


def test_the_session_directory_can_be_moved(project: Project):
    project.task("one", ECHO)

    project.run("--chalk-session-dir=elsewhere")

    assert (project.path / "elsewhere/latest/journal.jsonl").is_file()
    assert not (project.path / ".chalk").exists()


def test_records_are_private_and_ignored_by_git(project: Project):
    project.task("one", ECHO)

    project.run()

    assert (project.path / ".chalk").stat().st_mode & 0o777 == 0o700
    assert "*" in (project.path / ".chalk/.gitignore").read_text().splitlines()


def test_only_the_newest_sessions_are_kept(project: Project):
    project.task("one", ECHO)
    project.ini("chalk_keep_sessions = 2")

    for _ in range(3):
        project.run()

    assert len(list((project.path / ".chalk/sessions").iterdir())) == 2


TURNS = """
import pytest
from pytest_chalk.models import ScriptedModel, call

@pytest.fixture
def chalk_model():
    return ScriptedModel([call("bash", command="sleep 0.4")] * 5 + ["done"])
"""


@pytest.mark.parametrize(
    ("option", "limit"),
    [("--chalk-turn-limit=2", "turns"), ("--chalk-step-time-limit=0.6", "step time")],
)
def test_a_limit_ends_the_work_and_the_step_is_judged_as_it_stands(
    project: Project, option: str, limit: str
):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file("conftest.py", TURNS)

    result = project.run(option)

    assert result.ret == 0
    (step,) = project.run_record()["steps"]
    assert step["limit"]["limit"] == limit
    assert step["limit"]["used"] >= step["limit"]["value"]
    assert step["usage"]["turns"] <= 3
    assert [e["type"] for e in project.events()].count("limit_reached") == 1


def test_a_limit_is_an_error_where_that_was_asked(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file("conftest.py", TURNS)

    result = project.run("--chalk-turn-limit=2", "--chalk-on-limit=error")

    assert result.ret == 1
    assert project.run_record()["outcome"] == "error"
    result.stdout.fnmatch_lines(["*turns limit of 2 turns reached after 2*"])


def test_the_student_is_told_the_time_left(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file("conftest.py", TURNS)

    project.run("--chalk-step-time-limit=30")

    told = [
        e["message"]["content"]
        for e in project.events()
        if e["type"] == "message_added" and e["message"]["role"] == "tool"
    ]
    assert told
    assert all("Time remaining: 2" in text for text in told)


def test_an_ini_file_does_not_override_a_config_file_of_the_command_line(project: Project):
    project.task("one", ECHO)
    project.ini("chalk_turn_limit = 3")
    project.file("run.json", '{"turn_limit": 7}')

    assert config_of(project, "--chalk-config=run.json")["turn_limit"] == 7
    assert config_of(project, "--chalk-config=run.json", "--chalk-turn-limit=9")["turn_limit"] == 9


def test_paths_in_an_ini_file_are_relative_to_the_projects_root(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", ECHO)
    project.ini("chalk_session_dir = kept", "chalk_config = run.json")
    project.file("run.json", '{"turn_limit": 7}')
    monkeypatch.chdir(project.path / "tasks")

    result = project.run("--rootdir=..", "-c", "../pytest.ini", "one")

    assert result.ret == 0, result.stdout.str()
    assert (project.path / "kept/latest/journal.jsonl").is_file()


def test_a_model_in_the_environment_troubles_no_project_without_tasks(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.file("test_nothing_of_ours.py", "def test_plain(): pass\n")
    monkeypatch.setenv("CHALK_MODEL", "acme/x")

    assert project.run().ret == 0


def test_an_unknown_model_is_blamed_on_where_it_was_given(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", ECHO)
    monkeypatch.setenv("CHALK_MODEL", "acme/x")

    result = project.run()

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*CHALK_MODEL: 'acme/x' is unknown*"])

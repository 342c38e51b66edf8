"""What surrounds a run: data folders, hardware, and a workdir kept for a look."""

from __future__ import annotations

import json

import pytest
from plugin.conftest import Project

ANSWERS = """
from environment.paths import ROOT_DATA_DIR, SHARED_DATA_DIR, STUDENT_DATA_DIR
from environment.submissions import collect_submission

class Read(Judge):
    def __init__(self, path):
        self.path = path

    def evaluate(self, transcript):
        wanted = (ROOT_DATA_DIR / "answer").read_text()
        right = self.path.exists() and self.path.read_text() == wanted
        return Scoring(float(right), {}, continue_task=right)

def collect(self):
    (self.copy,) = collect_submission(self.config, [STUDENT_DATA_DIR / "out"])

One = task("one", step("copy", property(lambda self: Read(self.copy)), pre_scoring_hook=collect,
                       solution="cat shared/question data/hint > data/out"))
"""


@pytest.fixture
def answers(project: Project) -> Project:
    project.task("one", ANSWERS)
    project.file("shared_data/question", "six by ")
    project.file("tasks/one/student_data/hint", "seven")
    project.file("tasks/one/root_data/answer", "six by seven")
    return project


def test_data_folders_of_project_and_task_are_there_before_the_student(answers: Project):
    result = answers.run("--chalk-model=oracle", "--chalk-model=noop")

    outcomes = {run["model"]: run["outcome"] for run in map(record_of, answers.journal()) if run}
    assert outcomes == {"oracle": "passed", "noop": "failed"}, result.stdout.str()


def record_of(entry: dict) -> dict:
    return entry["record"] if entry["type"] == "run" else {}


def test_the_workdir_of_a_run_that_does_not_pass_is_kept_as_it_was_before_scoring(
    answers: Project,
):
    answers.file("tasks/one/root_data/answer", "something else")

    result = answers.run("--chalk-keep-box")

    assert result.ret == 1
    (kept,) = (answers.path / ".chalk/latest/runs").glob("*/box/step-1/data/out")
    assert kept.read_text() == "six by seven"


def test_no_workdir_is_kept_of_a_run_that_passes_nor_where_nobody_asked(answers: Project):
    assert answers.run("--chalk-keep-box").ret == 0
    assert not list((answers.path / ".chalk/latest/runs").glob("*/box"))

    answers.file("tasks/one/root_data/answer", "something else")
    assert answers.run().ret == 1
    assert not list((answers.path / ".chalk/latest/runs").glob("*/box"))


def test_a_hardware_is_given_to_the_box(project: Project):
    project.task(
        "one",
        """
        One = task("one", step("see", RegexJudge([re.compile("^gpu 1$", re.M)]),
                               solution="echo $GPU $(nproc)"),
                   required_hardware=property(lambda self: "my-gpu"))
        """,
    )
    project.file(
        "conftest.py",
        """
        from pytest_chalk import Hardware

        def pytest_chalk_resolve_hardware(config, name):
            return Hardware(cpus=1, env={"GPU": "gpu"}) if name == "my-gpu" else None
        """,
    )

    assert project.run().ret == 0


MOUNTING = """
from chalk.schemas.data_mount import DataMount

One = task("one", step("see", RegexJudge([re.compile("42")]), solution="cat {path}"),
           data_mounts=[DataMount(name="corpus", version="2", container_path="{path}")])
"""


def test_a_data_set_that_is_not_there_is_an_error_of_the_machine_not_of_the_student(
    project: Project,
):
    project.task("one", MOUNTING.format(path="/data/corpus-of-nobody"))

    result = project.run("--chalk-model=noop")

    assert result.ret == 1
    (record,) = [record_of(entry) for entry in project.journal() if record_of(entry)]
    assert (record["outcome"], record["score"]) == ("error", None)
    assert record["failure"]["blame"] == "machine"
    for part in ("'corpus', version '2'", "'/data/corpus-of-nobody'", "student_data/"):
        assert part in record["failure"]["message"]


def test_a_data_set_that_is_there_is_what_the_student_reads(project: Project):
    project.task("one", MOUNTING.format(path="/usr/share").replace("cat", "echo 42; ls -d"))

    assert project.run().ret == 0


def test_a_data_mount_at_a_relative_path_is_the_authors_error(project: Project):
    project.task("one", MOUNTING.format(path="data"))

    project.run()

    (record,) = [record_of(entry) for entry in project.journal() if record_of(entry)]
    assert (record["outcome"], record["failure"]["blame"]) == ("error", "author")
    assert "relative path 'data'" in record["failure"]["message"]


def test_artifacts_are_kept_unless_the_run_config_says_no_and_submissions_always(
    answers: Project,
):
    answers.file("run.json", json.dumps({"extra_config": {"extra_artifact_paths": "data"}}))
    assert answers.run("--chalk-config=run.json").ret == 0
    kept = {path.name for path in (answers.path / ".chalk/latest/runs").glob("*/artifacts/*")}
    assert kept == {"out", "data"}

    answers.file("run.json", json.dumps({"save_artifacts": False}))
    assert answers.run("--chalk-config=run.json").ret == 0
    assert not list((answers.path / ".chalk/latest/runs").glob("*/artifacts"))
    assert list((answers.path / ".chalk/latest/runs").glob("*/submissions/1/out"))

"""`--chalk-rejudge`: today's judges, yesterday's work."""

from __future__ import annotations

import itertools
import re

import pytest
from plugin.conftest import Project, properties

MODEL = """
from pytest_chalk.models import ScriptedModel, call

def pytest_chalk_make_model(config, name):
    if not name.startswith("m"):
        return None
    assert "--chalk-rejudge" not in " ".join(map(str, config.invocation_params.args))
    return ScriptedModel([call("bash", command="echo 1 > ran-by-model"), "done"], name=name)
"""
PLAIN = """
def count(name):
    with open(Path(__file__).parents[2] / "ran.txt", "a") as opened:
        opened.write(name + "\\n")

class Said(Judge):
    def __init__(self, wanted, score=1.0):
        self.wanted, self.score = wanted, score

    def evaluate(self, transcript):
        count("judge")
        found = any(self.wanted in message.text for message in transcript.messages)
        return Scoring(self.score if found else 0.0, {}, True)

One = task("one", step("say", Said("WANTED"), solution="echo the answer is 42; touch ran-student"))
"""


def plain(project: Project, wanted: str, more: str = "") -> None:
    project.task("one", PLAIN.replace("WANTED", wanted) + more)


def judged(project: Project) -> int:
    file = project.path / "ran.txt"
    return len(file.read_text().split()) if file.exists() else 0


def rejudged(result: pytest.RunResult) -> list[str]:
    lines = result.stdout.lines
    start = next(index for index, line in enumerate(lines) if "chalk rejudge" in line)
    section = itertools.takewhile(lambda line: not line.startswith("==="), lines[start + 1 :])
    return [line for line in section if "runs" in line or " -> " in line]


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_judge_that_changed_judges_again_and_no_student_works(project: Project, workers: str):
    plain(project, "43")
    first = project.run()
    before = project.run_record()
    plain(project, "42")

    result = project.run_with(workers, "--chalk-rejudge")

    assert (first.ret, result.ret) == (1, 0)
    after = project.run_record()
    assert (after["outcome"], after["score"]) == ("passed", 1.0)
    assert after["session_id"] != before["session_id"]
    assert after["transcript"] == before["transcript"]
    assert after["started_at"] == before["started_at"]
    assert after["usage"] == before["usage"]
    assert judged(project) == 2
    changed, summary = rejudged(result)
    assert changed == "0.00 failed -> 1.00 passed  tasks/one/__init__.py::One[oracle]"
    assert "1 of 1 steps judged again, 1 runs changed" in summary
    assert properties(project.junit()["tasks.one::One[oracle]"])["score"] == "1.0"


def test_a_judge_that_did_not_change_is_not_asked(project: Project):
    plain(project, "42")
    project.run()

    result = project.run("--chalk-rejudge")

    assert result.ret == 0
    assert judged(project) == 1
    assert "0 of 1 steps judged again, 0 runs changed" in rejudged(result)[0]


def test_a_failure_names_the_session_that_holds_the_transcript_and_judges_it_again(
    project: Project,
):
    plain(project, "43")
    project.run()
    first = (project.path / ".chalk/latest").readlink().name

    project.run("--chalk-rejudge=all", "tasks")

    record = project.run_record()
    again = f"::One[oracle]' --chalk-rejudge=all --chalk-session={first}"
    assert record["read_with"].split()[:3] == ["pytest-chalk", "show", first]
    assert again in record["run_again_with"]


def test_all_of_them_are_asked_where_that_is_written(project: Project):
    plain(project, "42")
    project.run()

    project.run("--chalk-rejudge=all")

    assert judged(project) == 2


def test_a_bare_flag_does_not_take_the_next_argument_for_its_value(project: Project):
    plain(project, "42")
    project.run()

    result = project.run("--chalk-rejudge", "tasks/one")

    assert result.ret == 0
    assert len(rejudged(result)) == 1


def test_another_word_is_a_usage_error(project: Project):
    plain(project, "42")

    result = project.run("--chalk-rejudge=some")

    assert result.ret == 4
    assert "Give changed or all" in result.stderr.str()


def test_arguments_of_a_judge_count_as_well_as_its_code(project: Project):
    project.file("tasks/one/wanted.txt", "43")
    source = "wanted = Path(__file__).with_name('wanted.txt').read_text()\n"
    project.task("one", source + PLAIN.replace('"WANTED"', "wanted"))
    project.run()
    project.file("tasks/one/wanted.txt", "42")

    result = project.run("--chalk-rejudge")

    assert result.ret == 0
    assert judged(project) == 2


def test_models_and_epochs_are_those_of_the_session_and_no_model_is_made(project: Project):
    project.file("conftest.py", MODEL)
    plain(project, "done")
    project.run("--chalk-model=m1", "--chalk-model=m2", "--chalk-epochs=2")
    plain(project, "nothing")

    result = project.run("--chalk-rejudge")

    assert result.ret == 1
    lines = rejudged(result)
    assert [line.partition("::")[2] for line in lines[:-1]] == [
        "One[m1-e1]",
        "One[m1-e2]",
        "One[m2-e1]",
        "One[m2-e2]",
    ]
    assert all(line.startswith("1.00 passed -> 0.00 failed") for line in lines[:-1])


def test_a_session_is_chosen_by_its_id_and_stays_as_it_was(project: Project):
    plain(project, "43")
    project.run()
    first = (project.path / ".chalk/latest").readlink().name
    journal = project.path / ".chalk/sessions" / first / "journal.jsonl"
    before = journal.read_bytes()
    project.run()
    plain(project, "42")

    result = project.run("--chalk-rejudge", f"--chalk-session={first}")

    assert f"1 runs of session {first}" in rejudged(result)[-1]
    assert journal.read_bytes() == before
    assert (project.path / ".chalk/latest").readlink().name != first


def test_a_task_that_did_not_run_then_is_skipped_with_the_reason(project: Project):
    plain(project, "42")
    project.run()
    plain(project, "42", 'Two = task("two", step("say", Score(1)))')

    result = project.run("--chalk-rejudge", "-rs")

    assert result.ret == 0
    assert re.search(r"SKIPPED .* session \S+ has no work of it to judge", result.stdout.str())


def test_without_a_session_it_is_a_usage_error(project: Project):
    plain(project, "42")

    result = project.run("--chalk-rejudge")

    assert result.ret == 4
    assert "there is no session in" in result.stderr.str()

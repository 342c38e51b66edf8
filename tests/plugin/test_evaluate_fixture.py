"""`chalk_evaluate`: an evaluation is one assertion in a test."""

from __future__ import annotations

import pytest
from plugin.conftest import Project

TEST = """
import pytest
from pytest_chalk.evaluations import function, scorers

ROWS = [
    {{"message": "refund me", "expected": "refund"}},
    {{"message": "the parcel is late", "expected": "delivery"}},
    {{"message": "hello", "expected": "other"}},
    {{"message": "no refund, it is late", "expected": "delivery"}},
]

@function
def triage(message):
    {extra}
    return "refund" if "refund" in message else "delivery" if "late" in message else "other"

def test_triage(chalk_evaluate):
    run = chalk_evaluate(
        "triage", dataset=ROWS, task=triage, scorers=[scorers.exact_match(name="intent-match")]
    )
    assert run.mean("intent-match"{options}) >= {least}
"""


def write(project: Project, least: float, extra: str = "pass", options: str = "") -> None:
    project.file("test_triage.py", TEST.format(least=least, extra=extra, options=options))


def test_a_mean_that_is_reached_passes_and_the_table_shows_it(project: Project):
    write(project, 0.75)

    result = project.run_apart("test_triage.py", "--junitxml=report.xml")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*= chalk evaluations =*",
            "evaluation  scorer         mean * scored *",
            "triage      intent-match  0.750 * 4/4 *",
        ]
    )
    report = (project.path / "report.xml").read_text()
    assert '<property name="chalk.evaluation.triage.intent-match" value="0.75"' in report
    assert (project.path / ".chalk" / "store.db").is_file()


def test_a_mean_that_is_missed_shows_the_worst_rows(project: Project):
    write(project, 0.9)

    result = project.run_apart("test_triage.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*assert 0.75 >= 0.9 (mean of 'intent-match', run *); worst rows:",
            "E*row 3: 0  message='no refund, it is late' expected='delivery' output='refund'*",
            "E*row 0: 1  *",
        ]
    )


def test_rows_that_failed_are_never_left_out_of_a_mean(project: Project):
    write(project, 0.5, extra="assert 'hello' not in message, 'no greeting'")

    result = project.run_apart("test_triage.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E*scorer 'intent-match' *1 of 4 rows failed*; row 2: AssertionError: no *"]
    )


def test_so_many_rows_may_fail_as_the_test_says(project: Project):
    extra = "assert 'hello' not in message"
    write(project, 0.6, extra=extra, options=", min_scored=0.75")

    result = project.run_apart("test_triage.py")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["triage * 3/4 * 1 *"])


def test_with_workers_the_controller_has_the_table_and_all_share_one_store(project: Project):
    write(project, 0.75)
    text = (project.path / "test_triage.py").read_text()
    project.file("test_other.py", text.replace('"triage", dataset', '"other", dataset'))

    result = project.run_apart("-n2", "test_triage.py", "test_other.py", "--junitxml=report.xml")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*= chalk evaluations =*"])
    result.stdout.fnmatch_lines_random(["triage *0.750*", "other *0.750*"])
    report = (project.path / "report.xml").read_text()
    assert report.count('.intent-match" value="0.75"') == 2


def test_the_store_is_where_the_session_directory_is(project: Project):
    write(project, 0.75)

    project.run_apart("test_triage.py", "--chalk-session-dir=kept").assert_outcomes(passed=1)

    assert (project.path / "kept" / "store.db").is_file()
    assert not (project.path / ".chalk" / "store.db").exists()


def test_a_definition_that_cannot_be_is_an_ordinary_failure(project: Project):
    text = TEST.format(least=0, extra="pass", options="").replace('"expected": "refund"', '"x": 1')
    project.file("test_triage.py", text.replace("expected", "wanted"))

    result = project.run_apart("test_triage.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*ValueError: scorer 'intent-match' takes 'expected'*"])


GRADER = """
from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.schemas.chat import Message

class Grader:
    name, trusted = "acme/grader", False

    def reply(self, request):
        assert {answers}, "nobody is to be asked"
        polite = "please" in request.messages[-1].text
        said = "YES\\nso it is" if polite else "NO\\nnot so"
        return ModelReply(Message(content=said), "stop", 100, 7)

def pytest_chalk_make_model(config, name):
    return Grader() if name == "acme/grader" else None
"""
JUDGED = """
from pytest_chalk.evaluations import scorers

def test_polite(chalk_evaluate):
    run = chalk_evaluate(
        "politeness",
        dataset=[{"asked": "a"}, {"asked": "b, please"}],
        task=lambda asked: asked,
        scorers=[scorers.llm("It is polite.", model="acme/grader", name="polite")],
        concurrency=1,
    )
    assert run.mean("polite") == 0.5
"""


def test_a_scorer_asks_a_model_of_the_session_and_its_recording_needs_none(project: Project):
    project.file("test_polite.py", JUDGED)
    project.file("conftest.py", GRADER.format(answers=True))

    recorded = project.run_apart("test_polite.py", "--chalk-cassette=record")
    project.file("conftest.py", GRADER.format(answers=False))
    replayed = project.run_apart("test_polite.py", "--chalk-cassette=replay")
    unrecorded = project.run_apart("test_polite.py")

    recorded.assert_outcomes(passed=1)
    assert [path.suffix for path in (project.path / "cassettes").iterdir()] == [".json"]
    replayed.assert_outcomes(passed=1)
    unrecorded.assert_outcomes(failed=1)
    unrecorded.stdout.fnmatch_lines(["E*EvaluationError: scorer 'polite'*2 of 2 rows failed*"])


def test_what_scorers_ask_is_paid_from_the_sessions_budget(project: Project):
    project.file("test_polite.py", JUDGED)
    project.file("conftest.py", GRADER.format(answers=True))

    result = project.run_apart("test_polite.py", "--chalk-token-limit=50")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*1 of 2 rows failed and have no score*BudgetSpent*"])


def test_a_paid_model_named_in_a_test_is_not_asked(project: Project):
    project.file("test_polite.py", JUDGED.replace("acme/grader", "openai/gpt-5"))

    result = project.run_apart("test_polite.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*scorers.llm(model=...): 'openai/gpt-5' costs money*"])


LATER = """
from pytest_chalk.evaluations import scorers

def test_politeness_by_a_rescore(chalk_evaluate):
    rows = [{"asked": "a"}, {"asked": "b, please"}]
    plain = [scorers.json_valid()]
    task = lambda asked: asked
    run = chalk_evaluate("p", dataset=rows, task=task, scorers=plain, concurrency=1)
    polite = scorers.llm("It is polite.", model="acme/grader", name="polite")
    assert run.rescore(scorers=[polite]).wait(timeout=30).mean("polite") == 0.5
"""


def test_a_rescore_in_a_test_asks_models_of_the_session_by_its_cassette(project: Project):
    project.file("test_later.py", LATER)
    project.file("conftest.py", GRADER.format(answers=True))

    recorded = project.run_apart("test_later.py", "--chalk-cassette=record")
    project.file("conftest.py", GRADER.format(answers=False))
    replayed = project.run_apart("test_later.py", "--chalk-cassette=replay")

    recorded.assert_outcomes(passed=1)
    replayed.assert_outcomes(passed=1)


def test_a_rescore_in_a_test_is_paid_from_the_sessions_budget(project: Project):
    project.file("test_later.py", LATER)
    project.file("conftest.py", GRADER.format(answers=True))

    result = project.run_apart("test_later.py", "--chalk-token-limit=1")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*rows failed and have no score*BudgetSpent*"])


TWICE = """
from pytest_chalk.evaluations import scorers

def judge(chalk_evaluate, rows):
    wanted = [scorers.llm("It is polite.", model="acme/grader", name="polite")]
    run = chalk_evaluate("p", dataset=rows, task=lambda asked: asked, scorers=wanted)
    return run.mean("polite")

def test_first(chalk_evaluate):
    assert judge(chalk_evaluate, [{"asked": "a"}, {"asked": "b, please"}]) == 0.5

def test_second(chalk_evaluate):
    assert judge(chalk_evaluate, [{"asked": "c, please"}, {"asked": "a"}]) == 0.5
"""


@pytest.mark.parametrize("mode", ["record", "auto"])
def test_two_evaluations_of_one_name_share_a_recording(project: Project, mode: str):
    project.file("test_twice.py", TWICE)
    project.file("conftest.py", GRADER.format(answers=True))

    recorded = project.run_apart("test_twice.py", f"--chalk-cassette={mode}")
    project.file("conftest.py", GRADER.format(answers=False))
    replayed = project.run_apart("test_twice.py", "--chalk-cassette=replay")

    recorded.assert_outcomes(passed=2)
    replayed.assert_outcomes(passed=2)


def test_workers_record_into_one_file_and_pay_out_of_one_purse(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CHALK_CASSETTE", "record")  # no flag: the controller has no session
    project.file("test_twice.py", TWICE)
    project.file("conftest.py", GRADER.format(answers=True))

    recorded = project.run_apart("test_twice.py", "-n2", "--dist=each")

    recorded.assert_outcomes(passed=4)
    assert len(list((project.path / ".chalk" / "sessions").iterdir())) == 1
    monkeypatch.setenv("CHALK_CASSETTE", "replay")
    project.file("conftest.py", GRADER.format(answers=False))
    project.run_apart("test_twice.py").assert_outcomes(passed=2)

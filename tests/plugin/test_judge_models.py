"""The models that judges ask: which one, what it costs, and its recordings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plugin.conftest import Project

GRADER = """
    import pytest
    from pytest_chalk.authoring.ports import ModelReply
    from pytest_chalk.schemas.chat import Message

    class Talks:
        trusted = False

        def __init__(self, name, says):
            self.name, self.says = name, says

        def reply(self, request):
            said = self.says(request.messages[-1].text)
            return ModelReply(Message(content=said), "stop", 100, 7, 50, 3)

    def grade(text):
        return "YES\\nso it is" if "true" in text.split("The criterion:")[1] else "NO\\nnot so"

    def pytest_chalk_make_model(config, name):
        both = lambda text: grade(text) if "criterion" in text else "42"
        says = {"acme/grader": grade, "acme/both": both}.get(name)
        return None if says is None else Talks(name, says)
"""
TASK = """
    from chalk.judges import RubricJudge, TranscriptContext

    def rubric(**options):
        criteria = {"it is true": 0.75, "it is false": 0.25}
        return RubricJudge([{"criterion": c, "weight": w} for c, w in criteria.items()], **options)

    One = task("one", step("work", rubric(), solution="echo said"))
"""


@pytest.fixture
def graded(project: Project) -> Project:
    project.file("conftest.py", GRADER)
    project.task("one", TASK)
    return project


def cassettes(project: Project) -> dict[str, dict]:
    folder = project.path / "tasks/one/cassettes"
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def test_the_option_names_the_model_and_its_tokens_are_kept_apart(graded: Project):
    result = graded.run("--chalk-judge-model=acme/grader", "-v")

    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["chalk: models=oracle judge=acme/grader *"])
    record = graded.run_record()
    (step,) = record["steps"]
    assert (record["score"], step["metadata"]["judge model"]) == (0.75, "acme/grader")
    assert (step["usage"]["input_tokens"], record["usage"]["output_tokens"]) == (0, 0)
    assert step["judge_usage"] == {
        "turns": 2,
        "input_tokens": 200,
        "output_tokens": 14,
        "usd": None,
    }
    assert record["judge_usage"] == step["judge_usage"]
    usage = [event for event in graded.events() if event["type"] == "judge_usage"]
    assert [(e["model"], e["cache_read_tokens"]) for e in usage] == [("acme/grader", 50)] * 2


@pytest.mark.parametrize("where", ["environment", "ini"])
def test_the_option_may_stand_elsewhere(graded: Project, monkeypatch, where: str):
    if where == "ini":
        graded.ini("chalk_judge_model = acme/grader")
    else:
        monkeypatch.setenv("CHALK_JUDGE_MODEL", "acme/grader")

    assert graded.run().ret == 0


def test_a_config_file_may_name_the_judges_model_and_the_command_line_another(graded: Project):
    graded.file("run.json", '{"rubric_judge_model": "acme/grader"}')
    graded.ini("chalk_judge_model = acme/both")  # farther away than a file of the command line

    named = {}
    for arguments in ([], ["--chalk-judge-model=acme/both"]):
        assert graded.run("--chalk-config=run.json", *arguments).ret == 0
        named[len(arguments)] = graded.run_record()["steps"][0]["metadata"]["judge model"]

    assert named == {0: "acme/grader", 1: "acme/both"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"rubric_judge_model": 7}', "rubric_judge_model is 7*Name a model"),
        ('{"rubric_judge_model": "nobody"}', "rubric_judge_model*'nobody' is unknown"),
    ],
)
def test_a_judges_model_of_a_config_file_that_cannot_be_used_is_a_usage_error(
    graded: Project, content: str, said: str
):
    graded.file("run.json", content)

    result = graded.run("--chalk-config=run.json")

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{said}*"])


def test_the_runs_own_model_grades_where_no_other_is_named(graded: Project):
    result = graded.run("--chalk-model=acme/both", "--chalk-allow-readable-tasks")

    assert result.ret == 0, result.stdout.str()
    record = graded.run_record()
    assert record["steps"][0]["metadata"]["judge model"] == "acme/both"
    assert (record["usage"]["turns"], record["judge_usage"]["turns"]) == (1, 2)


def test_a_judge_may_name_its_own(graded: Project):
    graded.task("one", TASK + '    Two = task("two", step("work", rubric(model="acme/both")))')

    graded.run("--chalk-judge-model=acme/grader")

    assert graded.runs()["two"]["steps"][0]["metadata"]["judge model"] == "acme/both"
    assert graded.runs()["one"]["steps"][0]["metadata"]["judge model"] == "acme/grader"


@pytest.mark.parametrize("student", ["oracle", "noop"])
def test_without_a_model_the_step_is_an_error_that_names_the_option(graded: Project, student: str):
    result = graded.run(f"--chalk-model={student}")

    assert result.ret == 1
    record = graded.run_record()
    assert (record["outcome"], record["score"]) == ("error", None)
    assert "--chalk-judge-model" in record["reason"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--chalk-judge-model=nobody"],
            "--chalk-judge-model: 'nobody' is unknown*openai/<model id>",
        ),
        (["--chalk-judge-model=oracle"], "'oracle' is unknown"),
        (["-o", "chalk_judge_model=openai/gpt-5"], "costs money*Give --chalk-judge-model"),
    ],
)
def test_a_model_that_may_not_be_asked_is_a_usage_error(graded: Project, arguments, said):
    result = graded.run(*arguments)

    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*{said}*"])


def test_a_model_that_costs_money_and_is_named_in_code_is_not_asked(graded: Project):
    graded.task("one", TASK.replace("rubric()", 'rubric(model="openai/gpt-5")'))

    graded.run()

    record = graded.run_record()
    assert record["outcome"] == "error"
    assert "'openai/gpt-5' costs money" in record["reason"]


def test_a_provider_that_stays_broken_is_no_score_and_the_machines_fault(asking: Project):
    asking.task("one", TASK)

    asking.run("--chalk-judge-model=openai/mock?faults=" + ",".join(["badjson"] * 12))

    record = asking.run_record()
    assert (record["outcome"], record["score"]) == ("error", None)
    assert record["steps"][0]["failure"]["blame"] == "machine"
    assert "criterion 1 of 2 was not judged: model 'openai/mock" in record["reason"]


def test_a_provider_grades_over_http(asking: Project):
    asking.task("one", TASK)

    result = asking.run_apart("--chalk-judge-model=openai/mock?text=YES")

    assert result.ret == 0, result.stdout.str()
    record = asking.run_record()
    assert record["score"] == 1.0
    assert record["judge_usage"]["input_tokens"] > 0


def test_a_recording_of_both_borders_replays_without_any_model(graded: Project):
    both = ("--chalk-model=acme/both", "--chalk-allow-readable-tasks")
    graded.run(*both, "--chalk-cassette=record")
    recorded = graded.run_record()
    ((name, cassette),) = cassettes(graded).items()
    graded.file(
        "conftest.py", GRADER.replace("said = self.says", "raise RuntimeError; said = self.says")
    )

    result = graded.run(*both, "--chalk-cassette=replay")

    assert result.ret == 0, result.stdout.str()
    replayed = graded.run_record()
    assert replayed["steps"][0]["metadata"] == recorded["steps"][0]["metadata"]
    assert replayed["judge_usage"] == recorded["judge_usage"]
    assert name.startswith("one-acme-both-e1")
    assert [turn["border"] for turn in cassette["turns"]] == [
        "student",
        "judge: step 1, criterion 1, vote 1",
        "judge: step 1, criterion 2, vote 1",
    ]
    assert cassette["turns"][1]["reply"]["cache_read_tokens"] == 50


def test_a_recording_beside_the_task_grades_where_there_is_no_model(graded: Project):
    graded.run("--chalk-judge-model=acme/grader", "--chalk-cassette=record")
    assert list(cassettes(graded)) == ["one-oracle-e1.json"]
    (graded.path / "conftest.py").unlink()

    assert graded.run("--chalk-epochs=2").ret == 0
    assert graded.run_apart("-n2", "--chalk-epochs=2").ret == 0
    assert graded.run("--chalk-cassette=auto").ret == 0
    assert graded.run("--chalk-cassette=replay").ret == 0
    assert graded.run("--chalk-cassette=off").ret == 1


def test_a_named_model_is_asked_although_there_is_a_recording(graded: Project):
    graded.run("--chalk-judge-model=acme/grader", "--chalk-cassette=record")
    graded.file("conftest.py", GRADER.replace('"NO\\nnot so"', '"YES\\nnow it is"'))

    graded.run("--chalk-judge-model=acme/grader")

    assert graded.run_record()["score"] == 1.0


def test_other_work_than_was_recorded_is_an_error_that_shows_the_difference(graded: Project):
    graded.run("--chalk-judge-model=acme/grader", "--chalk-cassette=record")
    graded.task("one", TASK.replace("echo said", "echo something else"))

    result = graded.run()

    record = graded.run_record()
    assert (result.ret, record["outcome"], record["score"]) == (1, "error", None)
    text = json.dumps(record["steps"][0]["failure"])
    assert "something else" in text
    assert "asked now" in text
    assert record["steps"][0]["failure"]["blame"] == "author"


def test_recordings_are_the_same_file_whichever_reply_comes_first(graded: Project):
    option = ("--chalk-judge-model=acme/grader", "--chalk-cassette=record")
    slow = GRADER.replace(
        "said = self.says",
        "import random, time; time.sleep(random.random() / 20); said = self.says",
    )
    graded.run(*option)
    path = graded.path / "tasks/one/cassettes/one-oracle-e1.json"
    first = path.read_text()
    graded.file("conftest.py", slow)
    graded.task("one", TASK)
    graded.run(*option)

    assert path.read_text() == first


def test_a_budget_that_is_spent_by_judges_leaves_the_step_not_run(graded: Project):
    graded.task("one", TASK + '    Two = task("two", step("work", rubric(), solution="echo said"))')

    result = graded.run("--chalk-judge-model=acme/grader", "--chalk-token-limit=150")

    assert result.ret == 1
    outcomes = {name: run["outcome"] for name, run in graded.runs().items()}
    assert outcomes["two"] == "not_run"
    assert "budget" in graded.runs()["two"]["reason"]


def test_money_that_is_bounded_needs_the_judges_price(graded: Project):
    result = graded.run("--chalk-judge-model=acme/grader", "--chalk-usd-limit=1")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*no price is known for the model 'acme/grader'*"])


def test_what_judging_costs_is_in_the_record(graded: Project):
    prices = graded.file("prices.json", '{"acme/grader": {"input": 10, "output": 100}}')

    graded.run("--chalk-judge-model=acme/grader", f"--chalk-prices={prices}")

    record = graded.run_record()
    assert record["judge_usage"]["usd"] > 0
    assert record["usage"]["usd"] is None


def test_a_run_within_a_test_asks_the_chosen_model(graded: Project):
    graded.file(
        "test_one.py",
        """
        def test_it(chalk_run):
            from tasks.one import One
            record = chalk_run(One)
            assert record.steps[0].metadata["judge model"] == "acme/grader"
        """,
    )

    result = graded.run("test_one.py", "--chalk-judge-model=acme/grader")

    assert result.ret == 0, result.stdout.str()


def test_the_saved_file_is_named_without_its_place(graded: Project):
    graded.task(
        "one",
        """
        from chalk.judges import FileContext, RubricJudge
        from environment.paths import STUDENT_DATA_DIR
        from environment.submissions import collect_submission

        REPORT = STUDENT_DATA_DIR / "report.md"

        def collect(self):
            self.saved = collect_submission(self.config, [REPORT])

        One = task("one", step(
            "work",
            property(lambda self: RubricJudge(
                [{"criterion": "it is true", "weight": 1}], context=[FileContext(self.saved)])),
            pre_scoring_hook=collect,
            solution="echo text >data/report.md",
        ))
        """,
    )

    graded.run("--chalk-judge-model=acme/grader", "--chalk-cassette=record")

    (cassette,) = cassettes(graded).values()
    asked = cassette["turns"][0]["added"][-1]["content"]
    assert "# File 'report.md':\n| text" in asked
    assert str(Path.home()) not in asked


def test_two_rubrics_in_one_tree_are_recorded_apart(graded: Project):
    graded.task("one", TASK.replace("rubric(), sol", "rubric() & rubric(votes=3), sol"))
    graded.run("--chalk-judge-model=acme/grader", "--chalk-cassette=record")
    recorded = graded.run_record()
    (graded.path / "conftest.py").unlink()

    result = graded.run()

    assert result.ret == 0, result.stdout.str()
    assert graded.run_record()["steps"][0]["score"] == recorded["steps"][0]["score"] == 0.75
    (cassette,) = cassettes(graded).values()
    borders = [turn["border"] for turn in cassette["turns"]]
    assert len(borders) == len(set(borders)) == 2 + 6
    assert "judge: step 1, rubric 2, criterion 2, vote 3" in borders

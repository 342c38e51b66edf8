"""Who works on a task: oracle, noop, scripted models, and those of other plugins."""

from __future__ import annotations

from plugin.conftest import Project, verdicts

ANSWER = """
class Answer(Judge):
    def evaluate(self, transcript):
        said = [m.text for m in transcript.messages if m.role == "assistant"]
        return Scoring(float(said[-1:] == ["42"]), {"said": said}, said[-1:] == ["42"])

"""


def test_the_oracle_runs_the_solution_and_says_its_output(project: Project):
    project.task("one", ANSWER + 'One = task("one", step("work", Answer(), solution="echo 42"))')

    assert project.run().ret == 0


def test_the_oracle_runs_a_script_although_the_task_lists_no_tool(project: Project):
    project.task(
        "one",
        ANSWER
        + 'One = task("one", step("work", Answer(), solution="echo 42"),'
        + " tools=property(lambda self: []))",
    )

    assert project.run().ret == 0


def test_the_oracle_plays_turns_like_a_scripted_model(project: Project):
    project.task(
        "one",
        ANSWER
        + """
from pytest_chalk.models import call
turns = [call("bash", command="echo 40 > n"), call("bash", command="cat n"), "42"]
One = task("one", step("first", Score(1), solution="true"),
           step("work", Answer(), solution=turns), step("again", Answer(), solution=turns))
""",
    )

    result = project.run()

    assert result.ret == 0, result.stdout.str()
    assert project.run_record()["usage"]["turns"] == 7


def test_a_step_without_solution_skips_the_item_from_there_on(project: Project):
    project.task(
        "one",
        'One = task("one", step("first", Score(1)), step("second", Score(1), solution=None))\n'
        'Two = task("two", step("work", Score(1)))',
    )

    result = project.run("-rs")

    assert result.ret == 0
    assert project.runs()["one"]["outcome"] == "skipped"
    result.stdout.fnmatch_lines(
        ["SKIPPED*tasks/one/__init__.py:*the oracle has no solution for MadeStep*"]
    )
    assert verdicts(project.junit()) == {
        "tasks.one::One[oracle]": "skipped",
        "tasks.one.One[oracle]::1-first": "passed",
        "tasks.one.One[oracle]::2-second": "skipped",
        "tasks.one::Two[oracle]": "passed",
        "tasks.one.Two[oracle]::1-work": "passed",
    }
    assert len(project.junit()["tasks.one::One[oracle]"].findall("skipped")) == 1
    result.stdout.fnmatch_lines(["mean 1.000 over 1 scored of 1"])


def test_a_session_of_only_unsolved_tasks_measured_nothing(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1), solution=None))')

    result = project.run()

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*nothing was measured*"])


def test_a_session_of_only_skipped_tasks_passes_as_in_pytest(project: Project):
    project.task(
        "one",
        """
        import pytest

        @pytest.mark.skip(reason="later")
        class One(task("base", step("work", Score(1)))):
            id = "one"
        """,
    )

    assert project.run().ret == 0


def test_noop_fails_a_task_that_measures_something(project: Project):
    project.task("one", ANSWER + 'One = task("one", step("work", Answer(), solution="echo 42"))')

    result = project.run("--chalk-model=noop")

    assert result.ret == 1
    assert project.run_record()["outcome"] == "failed"


def test_models_and_epochs_make_a_matrix(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')

    result = project.run(
        "--chalk-model=oracle", "--chalk-model=noop", "--chalk-epochs=2", "--collect-only", "-q"
    )

    names = [line.partition("::")[2] for line in result.stdout.lines if "::" in line]
    assert names == ["One[oracle-e1]", "One[oracle-e2]", "One[noop-e1]", "One[noop-e2]"]


def test_a_node_id_with_a_model_can_be_typed_back(project: Project):
    project.file(
        "conftest.py",
        """
        from pytest_chalk.models import ScriptedModel

        def pytest_chalk_make_model(name):
            return ScriptedModel(["42"], name=name) if name.startswith("acme/") else None
        """,
    )
    project.task("one", ANSWER + 'One = task("one", step("work", Answer()))')

    result = project.run("--chalk-model=acme/big-1", "tasks/one/__init__.py::One[acme/big-1]")

    assert result.ret == 0
    assert project.run_record()["model"] == "acme/big-1"


def test_an_unknown_model_is_a_usage_error_that_names_the_known(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')

    result = project.run("--chalk-model=gpt-nonsense")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*'gpt-nonsense' is unknown*oracle or noop*"])


def test_a_conftest_replaces_the_model_and_the_matrix_collapses(project: Project):
    project.task("one", ANSWER + 'One = task("one", step("work", Answer()))')
    project.task("two", 'Two = task("two", step("work", Score(1)))')
    project.file(
        "tasks/one/conftest.py",
        """
        import pytest
        from pytest_chalk.models import ScriptedModel, call

        @pytest.fixture
        def chalk_model():
            return ScriptedModel([call("bash", command="echo 42 > answer.txt"), "42"])
        """,
    )

    result = project.run("--chalk-model=oracle", "--chalk-model=noop", "-v")

    assert result.ret == 0, result.stdout.str()
    nodeids = [e["record"]["nodeid"] for e in project.journal() if e["type"] == "run"]
    assert sorted(nodeids) == [
        "tasks/one/__init__.py::One",
        "tasks/two/__init__.py::Two[noop]",
        "tasks/two/__init__.py::Two[oracle]",
    ]
    assert project.runs()["one"]["model"] == "scripted"
    result.stdout.fnmatch_lines(["one * scripted *"])


def test_a_scripted_model_that_runs_out_of_turns_is_an_error_that_says_so(project: Project):
    project.task("one", 'One = task("one", step("a", Score(1)), step("b", Score(1)))')
    project.file(
        "conftest.py",
        """
        import pytest
        from pytest_chalk.models import ScriptedModel

        @pytest.fixture
        def chalk_model():
            return ScriptedModel(["only one"])
        """,
    )

    result = project.run()

    assert project.run_record()["outcome"] == "error"
    result.stdout.fnmatch_lines(["*was asked for turn 2 and has 1*"])


def test_something_that_is_no_model_is_refused(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file(
        "conftest.py", "import pytest\n\n@pytest.fixture\ndef chalk_model():\n    return 42\n"
    )

    result = project.run()

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*model: 42 is unknown*"])


def test_a_model_that_raises_is_an_error_and_no_score(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    project.file(
        "conftest.py",
        """
        import pytest

        class Broken:
            name, trusted = "broken", True

            def reply(self, request):
                raise ConnectionError("provider is down")

        @pytest.fixture
        def chalk_model():
            return Broken()
        """,
    )

    project.run()

    record = project.run_record()
    assert (record["outcome"], record["score"]) == ("error", None)
    assert record["steps"][0]["failure"]["stage"] == "student"

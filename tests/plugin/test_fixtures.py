"""Fixtures: those of tasks, and `chalk_run` for testing a task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plugin.conftest import Project

ONE = 'One = task("one", step("work", Score(1)))\n'


def test_parameters_of_pre_hook_are_fixtures(project: Project):
    project.task(
        "one",
        """
        def pre_hook(self, tmp_path, answer):
            (tmp_path / "x").write_text("x")
            return {"answer": answer}

        One = task("one", step("work", Score(1)), pre_hook=pre_hook)
        """,
    )
    project.file(
        "tasks/one/conftest.py", "import pytest\n\n@pytest.fixture\ndef answer():\n    return 42\n"
    )

    result = project.run()

    assert result.ret == 0, result.stdout.str()
    (event,) = [e for e in project.events() if e["type"] == "task_pre_hook_completed"]
    assert event["metadata"] == {"answer": 42}


def test_a_fixture_that_fails_is_an_error_of_the_run(project: Project):
    project.task(
        "one",
        "One = task('one', step('work', Score(1)), pre_hook=lambda self, broken: {})",
    )
    project.file(
        "conftest.py",
        "import pytest\n\n@pytest.fixture\ndef broken():\n    raise RuntimeError('no database')\n",
    )

    result = project.run()

    assert result.ret == 1
    record = project.run_record()
    assert (record["outcome"], record["failure"]["stage"]) == ("error", "fixtures")
    assert "no database" in record["reason"]


def test_a_conftest_changes_the_run_config_of_its_directory(project: Project):
    project.task("one", ONE)
    project.task("two", 'Two = task("two", step("work", Score(1)))')
    project.file(
        "tasks/one/conftest.py",
        """
        import pytest

        @pytest.fixture
        def chalk_run_config(chalk_run_config):
            return chalk_run_config.model_copy(update={"use_hints": False})
        """,
    )

    project.run()

    hints = {
        name: json.loads(Path(run["transcript"]).read_text().splitlines()[1])["use_hints"]
        for name, run in project.runs().items()
    }
    assert hints == {"one": False, "two": True}


def test_a_conftest_prepares_the_students_workdir(project: Project):
    project.task(
        "one",
        """
        class Said(Judge):
            def evaluate(self, transcript):
                return Scoring(float("prepared" in transcript.messages[-1].text), {}, True)

        One = task("one", step("work", Said(), solution="cat data/input.txt"))
        """,
    )
    project.file(
        "conftest.py",
        """
        import pytest

        @pytest.fixture
        def chalk_student(chalk_student):
            assert chalk_student.uid >= 0 and chalk_student.slot >= 0
            (chalk_student.workdir / "data/input.txt").write_text("prepared")
            return chalk_student
        """,
    )

    result = project.run()

    assert result.ret == 0, result.stdout.str()


def test_a_conftest_sets_where_and_within_which_limits_submissions_are_saved(project: Project):
    project.task(
        "one",
        """
        from environment.paths import STUDENT_DATA_DIR
        from environment.submissions import collect_submission

        def collect(self):
            self.saved = collect_submission(self.config, [STUDENT_DATA_DIR / "big"])

        big = step("work", property(lambda self: Score(1.0, saved=str(self.saved[0]))),
                   solution="head -c 2000 /dev/zero > data/big", pre_scoring_hook=collect)
        One = task("one", big)
        """,
    )
    project.file(
        "conftest.py",
        """
        import os, pytest
        from dataclasses import replace

        @pytest.fixture
        def chalk_submissions(chalk_submissions, tmp_path):
            limits = {"max_file_bytes": int(os.environ.get("LIMIT", "5000"))}
            return replace(
                chalk_submissions, directory=tmp_path, save_submission_kwargs=limits
            )
        """,
    )

    assert project.run_apart().ret == 0
    assert "report" not in project.run_record()["steps"][0]["metadata"]["saved"]

    project.pytester._monkeypatch.setenv("LIMIT", "1000")
    project.run_apart()
    assert project.run_record()["outcome"] == "misbehaved"


def test_chalk_run_runs_a_task_inside_a_test(project: Project):
    project.task(
        "one",
        """
        from pytest_chalk.models import call

        class Answered(Judge):
            def evaluate(self, transcript):
                good = "42" in transcript.messages[-1].text
                return Scoring(float(good), {}, good)

        One = task("one", step("work", Answered(), solution="echo 42"))
        """,
    )
    project.file(
        "test_one.py",
        """
        import pytest
        from tasks.one import One
        from pytest_chalk import RunConfig
        from pytest_chalk.models import ScriptedModel, call

        def test_right(chalk_run):
            model = ScriptedModel([call("bash", command="echo 42 > n; cat n"), "it is 42"])
            record = chalk_run(One, model=model)
            assert (record.outcome, record.score, record.usage.turns) == ("passed", 1.0, 2)

        def test_wrong(chalk_run):
            assert chalk_run(One, model=ScriptedModel(["41"])).outcome == "failed"

        def test_default_is_the_oracle(chalk_run):
            assert chalk_run(One).model == "oracle"

        def test_out_of_turns_is_an_error(chalk_run):
            record = chalk_run(One, model=ScriptedModel([call("bash", command="true")]))
            assert record.outcome == "error"
        """,
    )

    result = project.run_apart("test_one.py")

    assert result.parseoutcomes() == {"passed": 4}, result.stdout.str()


def test_run_task_works_without_pytest(project: Project):
    project.task("one", ONE)
    script = project.file(
        "script.py",
        """
        import sys
        sys.path.insert(0, ".")
        from pytest_chalk import Scoring, Step, Task, run_task
        from pytest_chalk.judges import AlwaysPassJudge
        from pytest_chalk.models import ScriptedModel

        class S(Step):
            instructions = property(lambda self: "work")
            judge = property(lambda self: AlwaysPassJudge())

        class T(Task):
            id = "t"
            system_prompt = None
            tools = []
            steps = property(lambda self: [S(config=self.config)])

        record = run_task(T, model=ScriptedModel(["done"]))
        print(record.outcome, record.score, "pytest" in sys.modules)
        """,
    )

    result = project.pytester.runpython(script)

    result.stdout.fnmatch_lines(["passed 1.0 False"])


def test_hooks_of_a_conftest_hear_of_steps_and_runs_and_change_the_config(project: Project):
    project.task("one", ONE)
    project.file(
        "conftest.py",
        """
        def pytest_chalk_step_scored(item, step):
            open("log.txt", "a").write(f"step {step.name} {step.score}\\n")

        def pytest_chalk_run_finished(item, run):
            open("log.txt", "a").write(f"run {run.outcome} hints={run.task_id}\\n")

        def pytest_chalk_make_run_config(item, run_config):
            return run_config.model_copy(update={"use_hints": False})
        """,
    )

    project.run()

    assert (project.path / "log.txt").read_text() == "step work 1.0\nrun passed hints=one\n"
    assert project.events()[0]["use_hints"] is False


def test_required_hardware_nobody_offers_is_an_error_and_a_hook_resolves_it(project: Project):
    project.task(
        "one",
        "One = task('one', step('work', Score(1)), required_hardware=property(lambda s: 'gpu'))",
    )
    result = project.run()
    assert project.run_record()["outcome"] == "error"
    result.stdout.fnmatch_lines(["*requires the hardware 'gpu'*"])

    project.file(
        "conftest.py",
        "def pytest_chalk_resolve_hardware(hardware):\n    return f'{hardware} of this machine'\n",
    )
    assert project.run().ret == 0


def test_a_run_inside_a_run_is_refused(project: Project):
    project.task(
        "one",
        """
        from pytest_chalk import run_task

        Inner = task("inner", step("work", Score(1)))
        Outer = task("outer", step("work", Does(lambda: run_task(Inner))))
        """,
    )

    project.run()

    failure = project.runs()["outer"]["steps"][0]["failure"]
    assert "already under way" in failure["message"]


OURS = "chalk_model, chalk_run_config, chalk_submissions, chalk_student"
OVERRIDES = {
    "": "",
    "chalk_model": """
def chalk_model():
    return ScriptedModel(["42"])
""",
    "chalk_run_config": """
def chalk_run_config(chalk_run_config):
    return chalk_run_config.model_copy(update={"turn_limit": 7})
""",
    "chalk_submissions": """
def chalk_submissions(chalk_submissions, tmp_path):
    return replace(chalk_submissions, directory=tmp_path)
""",
    "chalk_student": """
def chalk_student(chalk_student):
    return replace(chalk_student, slot=-1)
""",
}


@pytest.mark.parametrize("overridden", OVERRIDES)
def test_a_fixture_of_ours_is_the_same_by_itself_and_through_others(
    project: Project, overridden: str
):
    """Where nobody overrides ours, they are filled in without pytest; pytest makes the same."""
    project.task(
        "one",
        f"""
        def pre_hook(self, through, {OURS}):
            assert repr([{OURS}]) == repr(through)
            assert chalk_run_config == self.config
            return {{"turn_limit": chalk_run_config.turn_limit, "slot": chalk_student.slot}}

        One = task("one", step("work", Score(1)), pre_hook=pre_hook)
        """,
    )
    override = OVERRIDES[overridden] and f"@pytest.fixture{OVERRIDES[overridden]}"
    project.file(
        "conftest.py",
        f"""
from dataclasses import replace

import pytest

from pytest_chalk.models import ScriptedModel

{override}
@pytest.fixture
def through({OURS}):
    return [{OURS}]
""",
    )

    result = project.run()

    assert result.ret == 0, result.stdout.str()
    (event,) = [e for e in project.events() if e["type"] == "task_pre_hook_completed"]
    assert (event["metadata"]["turn_limit"] == 7) == (overridden == "chalk_run_config")
    assert (event["metadata"]["slot"] == -1) == (overridden == "chalk_student")
    assert project.run_record()["model"] == (
        "scripted" if overridden == "chalk_model" else "oracle"
    )


def test_fixtures_of_ours_are_shown_where_pytest_shows_fixtures(project: Project):
    project.task("one", ONE)

    result = project.run("--setup-show")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*SETUP*chalk_model*", "*SETUP*chalk_run_config*"])


def test_the_hook_for_the_run_config_is_asked_once_for_a_run(project: Project):
    project.task("one", ONE)
    project.file(
        "conftest.py",
        """
        import pytest

        def pytest_chalk_make_run_config(run_config):
            print("asked for", run_config.task_id)

        @pytest.fixture(autouse=True)
        def looks(chalk_run_config):
            pass
        """,
    )

    result = project.run("-s")

    assert result.stdout.str().count("asked for one") == 1

"""Each outcome, as a user sees it: exit status, terminal, JUnit, record."""

from __future__ import annotations

import pytest
from plugin.conftest import Project, properties, verdicts

STEP = "tasks.one.One[oracle]::1-work"
ITEM = "tasks.one::One[oracle]"


def test_a_step_whose_judge_continues_with_a_score_above_0_passes(project: Project):
    project.task("one", 'One = task("one", step("work", Score(0.5)))')

    result = project.run()

    assert result.ret == 0
    assert project.run_record()["outcome"] == "passed"
    assert verdicts(project.junit()) == {ITEM: "passed", STEP: "passed"}
    assert properties(project.junit()[STEP])["score"] == "0.5"


def test_a_passing_score_between_0_and_1_is_counted_as_partial(project: Project):
    project.task("one", 'One = task("one", step("work", Score(0.5)))')

    result = project.run("-v")

    result.stdout.fnmatch_lines(["*SUBPASSED?1/1 work? 0.50 partial*", "mean 0.500*1 step partial"])
    assert properties(project.junit()[STEP])["chalk.partial"] == "true"


def test_a_score_of_0_fails_although_the_judge_continues(project: Project):
    project.task("one", 'One = task("one", step("work", Score(0.0)))')

    result = project.run()

    assert result.ret == 1
    assert verdicts(project.junit()) == {ITEM: "failure", STEP: "failure"}
    result.stdout.fnmatch_lines(["*score 0 is not above 0 (no pass score is set)*"])


def test_a_judge_that_does_not_continue_fails_the_step_whatever_the_score(project: Project):
    project.task("one", 'One = task("one", step("work", Score(1.0, continue_task=False)))')

    result = project.run()

    assert result.ret == 1
    assert project.run_record()["outcome"] == "failed"


@pytest.mark.parametrize(
    ("score", "passes"), [("0.1 + 0.2 + 0.7", True), ("0.999", False), ("1.5", True)]
)
def test_a_pass_score_is_reached_with_a_tolerance(project: Project, score: str, passes: bool):
    project.task("one", f'One = task("one", step("work", Score({score})))')

    result = project.run("--chalk-pass-score=1")

    assert result.ret == (0 if passes else 1)
    if not passes:
        result.stdout.fnmatch_lines(["*below the pass score 1 (set by --chalk-pass-score)*"])


def test_a_steps_own_pass_score_beats_the_option(project: Project):
    project.task("one", 'One = task("one", step("work", Score(0.6), pass_score=0.5))')

    result = project.run("--chalk-pass-score=0.9")

    assert result.ret == 0


@pytest.mark.parametrize("pass_score", ["float('nan')", "float('inf')", "10**400", "True", "'0.5'"])
def test_a_pass_score_that_is_no_finite_number_is_the_authors_error(
    project: Project, pass_score: str
):
    project.task(
        "one",
        f"""
        own = property(lambda self: {pass_score})  # as an attribute it is refused at import
        One = task("one", step("work", Score(1), pass_score=own))
        """,
    )

    result = project.run()

    assert result.ret == 1
    record = project.run_record()
    assert (record["outcome"], record["score"]) == ("error", None)
    failure = record["steps"][0]["failure"]
    assert (failure["stage"], failure["blame"]) == ("pass_score", "author")
    assert "no finite number" in failure["message"]


def test_a_pass_score_that_raises_is_the_authors_error(project: Project):
    project.task(
        "one",
        """
        own = property(lambda self: 1 / 0)
        One = task("one", step("work", Score(1), pass_score=own))
        """,
    )

    project.run()

    failure = project.run_record()["steps"][0]["failure"]
    assert (failure["stage"], failure["exception_type"]) == ("pass_score", "ZeroDivisionError")


def test_the_steps_after_one_that_does_not_continue_are_skipped_and_named(project: Project):
    project.task(
        "one",
        'One = task("one", step("work", Score(0, False)), step("more", Score(1)))',
    )

    result = project.run("-v")

    result.stdout.fnmatch_lines(["*SUBSKIPPED?more?*"])
    assert verdicts(project.junit()) == {
        ITEM: "failure",
        STEP: "failure",
        "tasks.one.One[oracle]::2-more": "skipped",
    }
    assert project.run_record()["not_reached"] == ["more"]


def test_the_runs_score_is_that_of_the_last_scored_step(project: Project):
    project.task("one", 'One = task("one", step("work", Score(0.2)), step("more", Score(0.9)))')

    project.run()

    assert project.run_record()["score"] == 0.9


def test_misbehaviour_scores_0_and_is_called_so(project: Project):
    project.task(
        "one", 'One = task("one", step("work", Raises(StudentMisbehaviorError("a symlink"))))'
    )

    result = project.run("-v")

    assert result.ret == 1
    record = project.run_record()
    assert (record["outcome"], record["score"]) == ("misbehaved", 0.0)
    assert record["steps"][0]["metadata"] == {"misbehavior": "a symlink"}
    assert verdicts(project.junit())[STEP] == "failure"
    result.stdout.fnmatch_lines(["*SUBMISBEHAVED?1/1 work? 0.00*", "*MISBEHAVED 0.00*"])


@pytest.mark.parametrize("hook", ["pre_scoring_hook", "judge"])
def test_misbehaviour_counts_wherever_scoring_finds_it(project: Project, hook: str):
    project.task(
        "one",
        f"""
        def found(self):
            raise StudentMisbehaviorError("seen in {hook}")

        members = {{"pre_scoring_hook": found}} if {hook!r} != "judge" else {{}}
        judge = property(found) if {hook!r} == "judge" else Score(1)
        One = task("one", step("work", judge, **members))
        """,
    )

    project.run()

    assert project.run_record()["outcome"] == "misbehaved"


@pytest.mark.parametrize(
    "judge",
    [
        "Raises(RuntimeError('boom'))",
        "Raises(SystemExit(0))",
        "Does(lambda: os._exit(0))",
        "Does(lambda: None)",
        "Does(lambda: Scoring(float('nan'), {}, True))",
        "Does(lambda: Scoring(True, {}, True))",
        "Raises(MachineError('disk'))",
        "ExecutableJudge(['/nonexistent/judge', 'score.json'])",
        "ExecutableJudge([])",
        "'no judge at all'",
    ],
)
def test_a_broken_judge_is_an_error_and_never_a_score(project: Project, judge: str):
    project.task("one", f'One = task("one", step("work", property(lambda self: {judge})))')

    result = project.run()

    assert result.ret == 1
    record = project.run_record()
    assert (record["outcome"], record["score"]) == ("error", None)
    assert record["steps"][0]["score"] is None
    cases = project.junit()
    assert verdicts(cases) == {ITEM: "error", STEP: "error"}
    assert "score" not in properties(cases[STEP])
    assert "score" not in properties(cases[ITEM])
    result.stdout.fnmatch_lines(["*nothing was measured*"])
    assert "failed" not in result.stdout.lines[-1].split("=")[-2].replace("failed in", "")


def test_an_error_is_blamed_on_the_machine_or_on_the_author(project: Project):
    project.task(
        "one",
        """
        One = task("one", step("work", Raises(MachineError("no network"))))
        Two = task("two", step("work", Raises(KeyError("typo"))))
        Three = task("three", step("work", Raises(OSError(28, "No space left on device"))))
        """,
    )

    project.run()

    blames = {name: run["steps"][0]["failure"]["blame"] for name, run in project.runs().items()}
    assert blames == {"one": "machine", "two": "author", "three": "machine"}


def test_a_scoring_script_that_fails_is_the_students_failure_with_its_cause(project: Project):
    project.task(
        "one",
        """
        script = [sys.executable, "-c", "raise SystemExit(3)", "score.json"]
        One = task("one", step("work", ExecutableJudge(script)))
        """,
    )

    result = project.run()

    record = project.run_record()
    assert (record["outcome"], record["score"]) == ("failed", 0.0)
    result.stdout.fnmatch_lines(["*score 0: the scoring script exited 3*"])


def test_a_failing_post_hook_is_an_error_that_keeps_the_steps_score(project: Project):
    project.task(
        "one",
        """
        def broken(self):
            raise RuntimeError("cannot clean up")

        One = task("one", step("work", Score(1.0), post_hook=broken), step("more", Score(1)))
        """,
    )

    project.run()

    record = project.run_record()
    assert record["outcome"] == "error"
    assert record["steps"][0]["score"] == 1.0
    assert record["steps"][0]["failure"]["stage"] == "post_hook"
    assert record["not_reached"] == ["more"]


@pytest.mark.parametrize("stage", ["pre_hook", "configure_tools"])
def test_a_hook_that_breaks_before_the_first_step_is_an_error_of_the_run(
    project: Project, stage: str
):
    project.task(
        "one",
        f"""
        def broken(self):
            raise RuntimeError("cannot prepare")

        One = task("one", step("work", Score(1.0)), {stage}=broken)
        """,
    )

    result = project.run()

    record = project.run_record()
    assert (record["outcome"], record["failure"]["stage"]) == ("error", stage)
    result.stdout.fnmatch_lines(["*cannot prepare*"])


def test_an_empty_steps_is_an_error(project: Project):
    project.task("one", 'One = task("one")')

    result = project.run()

    assert result.ret == 1
    assert project.run_record()["outcome"] == "error"
    result.stdout.fnmatch_lines(["*steps: is empty, so nothing can be measured*"])


def test_steps_is_read_once_per_run(project: Project):
    project.task(
        "one",
        """
        def steps(self):
            with open("reads.txt", "a") as log:
                log.write("read\\n" if self.config.run_id else "")
            return [made(config=self.config) for made in [step("work", Score(1))]]

        One = task("one", steps=property(steps))
        """,
    )

    project.run()

    assert (project.path / "reads.txt").read_text() == "read\n"


def test_equal_step_names_get_their_index(project: Project):
    project.task(
        "one",
        'One = task("one", step("try", Score(1)), step("try", Score(1)), step("last", Score(1)))',
    )

    project.run()

    assert [step["name"] for step in project.run_record()["steps"]] == ["try-1", "try-2", "last"]


def test_a_post_hook_runs_whenever_its_step_began(project: Project):
    project.task(
        "one",
        """
        def note(self):
            Path("hooks.txt").open("a").write(f"{self.name}\\n")

        broken = step("broken", Raises(RuntimeError("x")), post_hook=note)
        One = task("one", step("fine", Score(1), post_hook=note), broken,
                   step("never", Score(1), post_hook=note))
        """,
    )

    project.run()

    assert (project.path / "hooks.txt").read_text() == "fine\nbroken\n"


def test_the_dict_of_pre_hook_is_in_the_transcript(project: Project):
    project.task(
        "one",
        """
        def pre_hook(self):
            return {"seed": 7, "where": Path("/tmp/x")}

        One = task("one", step("work", Score(1)), pre_hook=pre_hook)
        """,
    )

    project.run()

    (event,) = [e for e in project.events() if e["type"] == "task_pre_hook_completed"]
    assert event["metadata"] == {"seed": 7, "where": "/tmp/x"}


def test_events_come_in_the_order_of_the_hooks(project: Project):
    project.task(
        "one",
        """
        order = []

        def note(name):
            return lambda self: Path("order.txt").open("a").write(name + "\\n") and None

        work = step("work", property(lambda self: note("judge")(self) or Score(1)),
                    pre_scoring_hook=note("pre_scoring_hook"), post_hook=note("post_hook"))
        One = task("one", work, configure_tools=note("configure_tools"), pre_hook=note("pre_hook"))
        """,
    )

    project.run()

    assert (project.path / "order.txt").read_text().split() == [
        "configure_tools",
        "pre_hook",
        "pre_scoring_hook",
        "judge",
        "post_hook",
    ]
    assert [event["type"] for event in project.events()] == [
        "task_started",
        "task_pre_hook_completed",
        "step_started",
        "message_added",
        "tool_call_started",
        "tool_call_completed",
        "message_added",
        "scoring",
        "step_completed",
        "task_completed",
    ]


def test_a_process_that_a_judge_started_as_the_student_is_gone_in_the_next_run(project: Project):
    project.task(
        "one",
        """
        import subprocess
        from environment.paths import STUDENT_UID

        def start():
            subprocess.Popen(["sleep", "301"], user=STUDENT_UID, cwd="/")
            return Scoring(1, {}, True)

        class Sees(Judge):
            def evaluate(self, transcript):
                seen = transcript.messages[-1].text
                return Scoring(float(seen == "none"), {"seen": seen}, seen == "none")

        A = task("a", step("work", Does(start)))
        B = task("b", step("look", Sees(), solution="pgrep -r S,R -x sleep || echo none"))
        """,
    )

    result = project.run_apart()

    assert result.ret == 0, result.stdout.str()


def test_a_tool_that_finds_the_student_out_ends_the_step_with_0(project: Project):
    project.file(
        "tools/peek.py",
        """
        from chalk import StudentMisbehaviorError

        def peek() -> str:
            \"\"\"Look.\"\"\"
            raise StudentMisbehaviorError("looked where it must not")
        """,
    )
    project.task(
        "one",
        """
        from pytest_chalk.models import call

        tools = property(lambda self: ["peek"])
        One = task("one", step("work", Score(1), solution=[call("peek")]), tools=tools)
        """,
    )

    project.run()

    record = project.run_record()
    assert (record["outcome"], record["score"]) == ("misbehaved", 0.0)
    assert "looked where it must not" in record["reason"]

"""Budgets of a session: what is asked of providers ends when they are spent, honestly."""

from __future__ import annotations

import json
import urllib.request

import pytest
from plugin.conftest import Project, model, properties, verdicts

PRICES = {
    "openai/mock*": {"input": 10, "output": 1000},
    "anthropic/mock*": {"input": 1, "output": 1},
}
COUNTING = "openai/mock"


def requests_of(server: str) -> int:
    with urllib.request.urlopen(f"{server}/mock/stats") as page:
        return json.load(page).get("requests", 0)


@pytest.fixture
def several(asking: Project, server: str) -> Project:
    """A project of eight tasks, each of which costs its model three turns."""
    urllib.request.urlopen(urllib.request.Request(f"{server}/mock/reset", method="POST")).close()
    for number in range(2, 9):
        asking.task(
            f"n{number}",
            f'N{number} = task("n{number}", step("work", RegexJudge([re.compile("bananas")])))',
        )
    asking.file("prices.json", json.dumps(PRICES))
    return asking


def talker(name: str = COUNTING, **options: object) -> str:
    return model(name, **{"tools": 2, "text": "bananas", **options})


def outcomes(project: Project) -> list[str]:
    return sorted(run["outcome"] for run in project.runs().values())


@pytest.mark.parametrize("workers", ["-n0", "-n3"])
def test_runs_that_the_budget_keeps_from_starting_are_not_run_and_no_error(
    several: Project, server: str, workers: str
):
    result = several.run_with(workers, talker(), "--chalk-token-limit=60")

    runs = several.runs().values()
    assert result.ret == 1
    assert {run["outcome"] for run in runs} <= {"passed", "not_run"}
    kept_out = [run for run in runs if run["outcome"] == "not_run"]
    assert len(kept_out) >= 3
    for run in kept_out:
        assert run["score"] is None
        assert run["failure"] is None
        assert "budget: " in run["reason"]
        assert "of 60 tokens are spent" in run["reason"]
    result.stdout.fnmatch_lines(["budget: * of 60 tokens spent; * runs not run"])
    result.stdout.no_fnmatch_line("* error*")


def test_a_run_in_flight_ends_where_it_is_and_keeps_what_was_scored(several: Project):
    several.task(
        "one",
        """
        One = task("one", step("a", Score(1)), step("b", Score(1)), step("c", Score(1)))
        """,
    )

    result = several.run(talker(tools=1), "--chalk-token-limit=15", "-k", "one")

    record = several.run_record()
    outcomes = [step["outcome"] for step in record["steps"]]
    assert result.ret == 1
    assert (record["outcome"], record["score"]) == ("not_run", None)
    assert outcomes[0] == "passed"
    assert outcomes[-1] == "not_run"
    assert record["not_reached"]
    assert record["reason"].startswith(f"step {len(outcomes)}/3 ")
    assert "budget: " in record["reason"]
    assert several.events()[-1] == {**several.events()[-1], "outcome": "not_run"}


def test_a_judge_that_catches_everything_cannot_make_a_score_of_a_spent_budget(several: Project):
    several.task(
        "one",
        """
        from pytest_chalk.errors import BudgetSpent

        class Careless(Judge):
            def evaluate(self, transcript):
                try:
                    raise BudgetSpent("budget: 9 of 9 tokens are spent")
                except Exception:
                    return Scoring(0.0, {}, False)

        One = task("one", step("work", Careless()))
        """,
    )

    several.run("-k", "one")

    record = several.run_record()
    assert (record["outcome"], record["score"]) == ("not_run", None)


@pytest.mark.parametrize("hook", ["pre_hook", "post_hook"])
def test_a_hook_that_meets_a_spent_budget_ends_the_run_unmeasured(several: Project, hook: str):
    several.task(
        "one",
        f"""
        from pytest_chalk.errors import BudgetSpent

        def spent(self):
            raise BudgetSpent("budget: 9 of 9 tokens are spent")

        hooks = {{"{hook}": spent}}
        if "{hook}" == "pre_hook":
            One = task("one", step("work", Score(1)), **hooks)
        else:
            One = task("one", step("work", Score(1), **hooks))
        """,
    )

    result = several.run("-k", "one")

    record = several.run_record()
    assert (record["outcome"], record["score"]) == ("not_run", None), result.stdout.str()


def test_workers_share_one_budget(several: Project, server: str):
    alone = several.run(talker(), "--chalk-token-limit=1000000", "-n0")
    of_all = requests_of(server)

    shared = several.run_apart(talker(), "--chalk-token-limit=60", "-n4")

    assert alone.ret == 0
    assert of_all == 8 * 3
    # Each worker may be in the middle of a turn when the budget is spent.
    a_turn = 20
    spent = json.loads((several.path / ".chalk/latest/spending.json").read_text())["tokens"]
    assert 60 <= spent <= 60 + 4 * a_turn
    assert shared.ret == 1
    assert requests_of(server) - of_all < of_all


def test_money_is_bounded_by_the_prices_of_the_file(several: Project):
    result = several.run_apart(
        talker(), "--chalk-usd-limit=0.01", "--chalk-prices=prices.json", "-v"
    )

    assert outcomes(several).count("not_run") >= 3
    result.stdout.fnmatch_lines(
        [
            "chalk: models=* budget=$0.0100*",
            "chalk: 8 runs to make: openai/mock* x 8; budget $0.0100",
            "*NOT RUN*",
            "task *tokens *cost *time",
            "*$0.00*",
            "budget: $0.01* of $0.0100 spent; * runs not run",
        ]
    )


def test_the_cost_is_in_records_transcript_and_junit(several: Project):
    result = several.run(talker(), "--chalk-prices=prices.json", "-k", "n2")

    record = several.run_record()
    step_events = [e for e in several.events() if e["type"] == "token_usage"]
    cost = record["usage"]["usd"]
    assert result.ret == 0, result.stdout.str()
    tokens = record["usage"]["input_tokens"] * 10 + record["usage"]["output_tokens"] * 1000
    assert cost > 0
    assert cost == pytest.approx(tokens / 1e6)
    assert sum(event["usd"] for event in step_events) == pytest.approx(cost)
    (case,) = [c for name, c in several.junit().items() if name.endswith("]") and "N2" in name]
    assert float(properties(case)["chalk.usd"]) == cost
    report = (several.path / "report.xml").read_text()
    assert f'name="chalk.usd" value="{cost!r}"' in report
    assert several.journal()[-1]["usage"]["usd"] == cost


@pytest.mark.parametrize(("student", "usd"), [("--chalk-model=oracle", None), (talker(), 0.0)])
def test_where_nothing_costs_anything_the_table_has_no_column_for_it(
    several: Project, student: str, usd: float | None
):
    result = several.run(student, "-k", "one")

    assert several.run_record()["usage"]["usd"] == usd
    result.stdout.fnmatch_lines(["task *tokens  time"])


def test_a_spent_budget_stops_nobody_who_costs_nothing(several: Project):
    result = several.run(
        talker(), "--chalk-model=oracle", "--chalk-token-limit=1", "-k", "n2 or n3"
    )

    by_node = {e["nodeid"]: e["record"] for e in several.journal() if e["type"] == "run"}
    oracles = [r["outcome"] for node, r in by_node.items() if "[oracle]" in node]
    paid = [r["outcome"] for node, r in by_node.items() if "mock" in node]
    assert "not_run" not in oracles
    assert len(oracles) == 2
    assert paid[-1] == "not_run"
    assert result.ret == 1


def test_runs_that_were_not_started_are_errors_of_junit_that_name_the_budget(several: Project):
    several.run(talker(), "--chalk-token-limit=1")

    cases = several.junit()
    told = verdicts(cases)
    kept_out = [c for c in cases.values() if properties(c).get("chalk.outcome") == "not_run"]
    assert len(kept_out) >= 7
    for case in kept_out:
        error = case.find("error")
        assert error is not None
        assert "budget" in error.get("message", "")
        assert error.get("type") == "chalk.not_run"
        assert "score" not in properties(case)
    assert "failure" not in told.values()


def test_a_replay_spends_nothing_and_is_not_stopped(several: Project):
    recorded = several.run(talker(), "--chalk-cassette=record", "-k", "n2 or n3")

    replayed = several.run(
        talker(), "--chalk-cassette=auto", "-k", "n2 or n3",
        "--chalk-token-limit=1", "--chalk-usd-limit=0.000001", "--chalk-prices=prices.json",
    )  # fmt: skip

    assert recorded.ret == replayed.ret == 0, replayed.stdout.str()
    assert {run["usage"]["usd"] for run in several.runs().values()} == {None}
    replayed.stdout.fnmatch_lines(["budget: 0 of 1 tokens, $0.00 of $0.000001 spent"])


def test_an_unknown_price_is_a_usage_error_that_says_how_to_give_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    project.task("one", 'One = task("one", step("work", Score(1)))')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    refused = project.run("--chalk-model=openai/gpt-99", "--chalk-usd-limit=5")
    known = project.run("--chalk-model=openai/gpt-5", "--chalk-usd-limit=5", "--collect-only")
    unbounded = project.run("--chalk-model=openai/gpt-99", "--collect-only")
    project.file("prices.json", '{"openai/gpt-99": {"input": 1.25, "output": 10}}')
    priced = project.run(
        "--chalk-model=openai/gpt-99", "--chalk-usd-limit=5", "--chalk-prices=prices.json",
        "--collect-only",
    )  # fmt: skip

    assert refused.ret == 4
    refused.stderr.fnmatch_lines(
        ["*--chalk-usd-limit: no price is known for *'openai/gpt-99'*--chalk-prices*99\": {*"]
    )
    assert (known.ret, unbounded.ret, priced.ret) == (0, 0, 0)


def test_a_conftests_own_model_of_unknown_price_is_an_error_before_it_is_asked(several: Project):
    several.file(
        "conftest.py",
        """
        import pytest

        class Dear:
            name, trusted = "acme/dear", False

            def reply(self, request):
                raise AssertionError("asked")

        @pytest.fixture
        def chalk_model():
            return Dear()
        """,
    )

    several.run("--chalk-usd-limit=5", "-k", "n2")

    record = several.run_record()
    assert record["outcome"] == "error"
    assert "no price is known for the model 'acme/dear'" in record["failure"]["message"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--chalk-token-limit=0", "*--chalk-token-limit: '0'*at least 1*"),
        ("--chalk-usd-limit=-1", "*--chalk-usd-limit: '-1'*above 0*"),
        ("--chalk-usd-limit=nan", "*above 0*"),
        ("--chalk-prices=none.json", "*--chalk-prices=none.json*none.json*Name a JSON file*"),
        ("--chalk-prices=bad.json", "*--chalk-prices=bad.json*'openai/x'*no price*"),
    ],
)
def test_budgets_that_cannot_be_used_are_usage_errors(several: Project, option: str, message: str):
    several.file("bad.json", '{"openai/x": 5}')

    result = several.run(option)

    assert result.ret == 4
    result.stderr.fnmatch_lines([message])


def test_what_is_to_run_is_said_before_anything_is_sent(several: Project, server: str):
    several.file(
        "conftest.py",
        """
        import json, urllib.request

        def pytest_report_collectionfinish(config, items):
            page = urllib.request.urlopen("SERVER/mock/stats")
            return "sent so far: %s" % json.load(page).get("requests", 0)
        """.replace("SERVER", server),
    )

    result = several.run(talker(), "--chalk-model=noop", "--chalk-epochs=2", "-k", "n2 or n3 or n4")

    result.stdout.fnmatch_lines(["chalk: 12 runs to make: openai/mock* x 6, noop x 6"])
    result.stdout.fnmatch_lines(["sent so far: 0"])


def test_what_is_to_run_in_workers_is_said_once(several: Project):
    result = several.run_apart(
        "--chalk-model=noop", "--chalk-model=oracle", "-n2", "-k", "n2 or n3"
    )

    lines = [line for line in result.outlines if "runs to make" in line]
    assert lines == ["chalk: 4 runs to make: noop x 2, oracle x 2"]


def test_a_session_that_is_gone_on_with_has_spent_what_it_spent_before(several: Project):
    first = several.run(talker(), "-k", "n2 or n3", "--chalk-token-limit=25")
    spent = json.loads((several.path / ".chalk/latest/spending.json").read_text())["tokens"]

    same = several.run(talker(), "-k", "n2 or n3", "--chalk-token-limit=25", "--chalk-resume")
    more = several.run(talker(), "-k", "n2 or n3", "--chalk-token-limit=1000", "--chalk-resume")

    assert (first.ret, same.ret, more.ret) == (1, 1, 0), more.stdout.str()
    assert outcomes(several) == ["passed", "passed"]
    same.stdout.fnmatch_lines(
        [
            "chalk: 1 run to make: *; budget 25 tokens",
            f"budget: {spent} of 25 tokens spent; 1 run not run",
        ]
    )


def test_a_bound_that_comes_on_resuming_counts_what_was_spent_without_one(several: Project):
    several.run(talker(), "-k", "n2")

    result = several.run(talker(), "-k", "n2 or n3", "--chalk-token-limit=5", "--chalk-resume")

    assert outcomes(several) == ["not_run", "passed"]
    result.stdout.fnmatch_lines(["budget: 21 of 5 tokens spent; 1 run not run"])


JUDGED = """
from chalk.judges import RubricJudge

judge = RubricJudge([{"criterion": "It is good.", "weight": 1.0}])
One = task("one", step("work", judge, solution="echo good"))
Two = task("two", step("work", judge, solution="echo good"))
"""


def test_what_judges_ask_is_paid_from_the_same_budget(several: Project):
    several.task("one", JUDGED)
    judge = "--chalk-judge-model=openai/mock?text=YES"

    whole = several.run(judge, "--chalk-prices=prices.json", "-k", "one or two")
    records = several.runs().values()
    bound = several.run(judge, "--chalk-token-limit=5", "-k", "one or two")

    assert whole.ret == 0, whole.stdout.str()
    assert all(r["usage"]["usd"] is None and r["judge_usage"]["usd"] > 0 for r in records)
    whole.stdout.fnmatch_lines(["task *cost *time", "one * $0.00*"])
    assert 'name="chalk.usd"' in whole.stdout.str() + (several.path / "report.xml").read_text()
    assert bound.ret == 1
    assert [run["outcome"] for run in several.runs().values()] == ["passed", "not_run"]
    assert "budget: " in several.runs()["two"]["reason"]


def test_a_run_inside_a_test_pays_from_the_same_budget(several: Project, server: str):
    several.file(
        "test_runs.py",
        f"""
        from pytest_chalk.models.registry import make_model
        from pytest_chalk.models.settings import ModelSettings
        from tasks.n2 import N2

        def test_twice(chalk_run):
            settings = ModelSettings(base_url="{server}/v1", api_key="x")
            model = make_model("openai/mock?text=bananas", settings)
            first, second = chalk_run(N2, model=model), chalk_run(N2, model=model)
            assert (first.outcome, first.usage.usd > 0) == ("passed", True)
            assert (second.outcome, second.score) == ("not_run", None)
            assert "of 5 tokens are spent" in second.reason
            assert chalk_run(N2).outcome == "failed"  # the oracle costs nothing
        """,
    )

    result = several.run(
        "test_runs.py", "--chalk-token-limit=5", "--chalk-prices=prices.json",
        "--chalk-allow-readable-tasks",
    )  # fmt: skip

    assert result.ret == 0, result.stdout.str()


@pytest.mark.parametrize(
    ("bound", "outcome"), [([], "passed"), (["--chalk-token-limit=9"], "error")]
)
def test_a_sum_that_cannot_be_kept_is_an_error_only_where_a_bound_depends_on_it(
    several: Project, bound: list[str], outcome: str
):
    several.file(
        "conftest.py",
        """
        def pytest_runtest_setup(item):
            import pytest_chalk.plugin.state as plugin
            directory = item.config.stash[plugin.STATE].directory
            directory.spending_path().mkdir(exist_ok=True)
        """,
    )

    result = several.run(talker(), *bound, "-k", "n2")

    record = several.run_record()
    assert record["outcome"] == outcome, result.stdout.str()
    assert outcome == "passed" or "cannot be kept" in result.stdout.str()
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["records: *"])

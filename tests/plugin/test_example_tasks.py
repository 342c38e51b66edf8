"""The examples under other students than oracle and noop: half right, wrong, hostile."""

from __future__ import annotations

import importlib

import pytest

from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.models import ScriptedModel, call
from pytest_chalk.schemas.chat import Message


@pytest.fixture
def quarterly_revenue():
    return importlib.import_module("tasks.quarterly_revenue").QuarterlyRevenue


def hand_in(table: str) -> ScriptedModel:
    command = f"cat > data/revenue.csv <<'END'\n{table}\nEND"
    return ScriptedModel([call("bash", command=command), "done"])


def right_rows() -> list[str]:
    cents = importlib.import_module("tasks.quarterly_revenue.orders").revenue_cents()
    assert all(amount > 0 for amount in cents.values())
    return [f"{quarter},{n // 100}.{n % 100:02}" for quarter, n in cents.items()]


def test_one_wrong_quarter_costs_its_share_and_the_pass(chalk_run, quarterly_revenue):
    rows = right_rows()

    record = chalk_run(
        quarterly_revenue, model=hand_in("\n".join(["quarter,revenue", *rows[:-1], "2025-Q4,1.00"]))
    )

    assert record.outcome == "failed"
    assert record.score == pytest.approx((len(rows) - 1) / len(rows))


@pytest.mark.parametrize(
    "table",
    [
        "",
        "quarter,revenue\n2025-Q1,1e999999",
        "quarter,revenue\n2025-Q1," + "9" * 5000,
        "quarter,revenue\n2025-Q1,NaN",
        "\\x00\\xff",
        "quarter\n2025-Q1",
    ],
)
def test_a_table_that_is_none_fails(chalk_run, quarterly_revenue, table: str):
    record = chalk_run(quarterly_revenue, model=hand_in(table))

    assert (record.outcome, record.score) == ("failed", 0.0)


def test_a_link_in_place_of_the_table_is_misbehaviour(chalk_run, quarterly_revenue):
    model = ScriptedModel([call("bash", command="ln -s /etc/passwd data/revenue.csv"), "done"])

    record = chalk_run(quarterly_revenue, model=model)

    assert record.outcome == "misbehaved"
    assert "root:" not in record.model_dump_json()


@pytest.fixture
def fix_ranges():
    return importlib.import_module("tasks.fix_ranges").FixRanges


def test_a_module_that_is_half_fixed_gets_its_share_and_fails(chalk_run, fix_ranges):
    command = "sed -i 's/in ranges:/in sorted(ranges):/' data/ranges.py"
    record = chalk_run(fix_ranges, model=ScriptedModel([call("bash", command=command), "done"]))

    assert record.outcome == "failed"
    assert 0 < record.score < 1
    assert "test_ranges_that_touch_are_one" in record.reason


def test_a_module_that_ends_the_process_of_its_tests_fails(chalk_run, fix_ranges):
    command = "echo 'import os; os._exit(0)' > data/ranges.py"
    record = chalk_run(fix_ranges, model=ScriptedModel([call("bash", command=command), "done"]))

    assert (record.outcome, record.score) == ("failed", 0.0)


@pytest.fixture
def incident_report():
    return importlib.import_module("tasks.incident_report").IncidentReport


def test_a_report_is_judged_by_a_model(chalk_run, incident_report):
    class Grader:
        name, trusted = "grader", False

        def reply(self, request):
            said = "NO\nIt does not." if "bound or expire" in request.messages[-1].text else "YES"
            return ModelReply(Message(content=said))

    record = chalk_run(incident_report, judge_model=Grader())

    assert (record.outcome, record.score) == ("failed", 0.7)
    assert record.judge_usage.turns == 3

"""Every fault of a provider, in both formats, in a whole run: the outcome and what it took."""

from __future__ import annotations

import pytest

from pytest_chalk import RunRecord, Step, Task, run_task
from pytest_chalk.judges import RegexJudge
from pytest_chalk.schemas.run_config import RunConfig

BOTH = pytest.mark.parametrize("prefix", ["openai", "anthropic"])
IDLE_S = 0.2

HTTP = ("429", "500", "503", "529")
BROKEN = ("badjson", "empty", "html", "nochoices", "truncate", "reset", "hang")
STUDENTS_OWN = ("badargs", "badtool")

ATTEMPTS = {
    **dict.fromkeys(HTTP, 10),
    **dict.fromkeys(("truncate", "reset"), 6),
    **dict.fromkeys(("badjson", "empty", "html", "nochoices"), 4),
    "hang": 3,
}
"""How often a provider is asked that has nothing but this fault."""


class Say(Step):
    instructions = "Say it."

    @property
    def judge(self):
        import re  # noqa: PLC0415 - as an author might

        return RegexJudge([re.compile("bananas")])


class Asked(Task):
    id = "asked"
    system_prompt = "You work."
    tools = ("bash",)

    @property
    def steps(self):
        return [Say(self.config)]


class Held:
    """The provider's model as one that may run without a sandbox: its commands are known."""

    trusted = True

    def __init__(self, model):
        self.name, self.reply = model.name, model.reply


def run(loopback, prefix: str, query: str, tmp_path, **config) -> RunRecord:
    model = loopback.model(prefix, f"text=bananas&retry_after=0.05&{query}", idle_limit_s=IDLE_S)
    given = RunConfig(run_id="", task_id="", model="", **config)
    return run_task(Asked, model=Held(model), config=given, directory=tmp_path)


@BOTH
@pytest.mark.parametrize("fault", [*HTTP, *BROKEN])
def test_a_fault_that_passes_costs_one_more_request_and_no_score(loopback, prefix, fault, tmp_path):
    record = run(loopback, prefix, f"tools=2&cmd=true&faults=ok,{fault}", tmp_path)

    stats = loopback.stats()
    assert (record.outcome, record.score, record.usage.turns) == ("passed", 1.0, 3)
    assert (stats["requests"], stats["too_early"]) == (4, 0)


@BOTH
@pytest.mark.parametrize("fault", [*HTTP, *BROKEN])
def test_a_fault_that_stays_is_an_error_of_the_machine_and_never_a_score(
    loopback, prefix, fault, tmp_path
):
    faults = ",".join([fault] * 12)

    record = run(loopback, prefix, f"tools=2&cmd=true&faults=ok,{faults}", tmp_path)

    stats = loopback.stats()
    (step,) = record.steps
    assert (record.outcome, record.score, step.score) == ("error", None, None)
    assert step.failure is not None
    assert (step.failure.blame, step.failure.exception_type) == ("machine", "ProviderError")
    assert (stats["requests"], stats["too_early"]) == (1 + ATTEMPTS[fault], 0)


@BOTH
@pytest.mark.parametrize("fault", STUDENTS_OWN)
def test_a_mistake_of_the_model_itself_is_answered_and_the_run_goes_on(
    loopback, prefix, fault, tmp_path
):
    record = run(loopback, prefix, f"faults={fault}", tmp_path)

    stats = loopback.stats()
    assert (record.outcome, record.usage.turns) == ("passed", 2)
    assert (stats["requests"], stats["too_early"]) == (2, 0)


@BOTH
def test_a_provider_that_trickles_is_heard_to_the_end(loopback, prefix, tmp_path):
    record = run(loopback, prefix, "faults=trickle&trickle_ms=1&chunk=64", tmp_path)

    stats = loopback.stats()
    assert (record.outcome, record.score) == ("passed", 1.0)
    assert (stats["requests"], stats["too_early"]) == (1, 0)


@BOTH
def test_a_provider_that_trickles_past_the_steps_time_is_cut_off_and_the_step_judged(
    loopback, prefix, tmp_path
):
    record = run(
        loopback, prefix, "faults=trickle&trickle_ms=60&pad=4000", tmp_path,
        step_time_limit_seconds=0.5,
    )  # fmt: skip

    stats = loopback.stats()
    (step,) = record.steps
    assert record.outcome in {"passed", "failed"}  # by what had arrived
    assert step.limit is not None
    assert step.limit.limit == "step time"
    assert (stats["requests"], stats["too_early"]) == (1, 0)


def test_no_fault_of_the_mock_is_left_out():
    from models.mock_llm import __doc__ as told  # noqa: PLC0415

    named = told.partition("Faults: ")[2].partition(".\n")[0].split()
    assert set(named) == {"ok", "trickle", *HTTP, *BROKEN, *STUDENTS_OWN}

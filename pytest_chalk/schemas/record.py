"""What was asked of a run, and what came of it. Plain data that knows no pytest."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from pytest_chalk.schemas.frozen import Blame, Frozen, JsonObject, Outcome, Text
from pytest_chalk.schemas.run_config import RunConfig

if TYPE_CHECKING:
    from collections.abc import Iterable


class PassRule(Frozen):
    """When a scored step passes.

    `pass_score` None: the judge continues and the score is above 0. Otherwise: the judge continues
    and the score reaches `pass_score`. `source` says where the rule was set, for the reader.
    """

    pass_score: float | None = None
    source: str = "default"


class RunSpec(Frozen):
    """One run to be made: which task, by which student, under which rules.

    `nodeid`, `session_id` and `epoch` say where the run belongs and change nothing in it. A `local`
    run cannot be made elsewhere: its `pre_hook` takes fixtures of this pytest process.
    """

    config: RunConfig
    module: str
    qualname: str
    session_id: str = ""
    nodeid: str = ""
    epoch: int = 1
    attempt: int = 1
    local: bool = False
    pass_rule: PassRule = PassRule()


class Usage(Frozen):
    """Tokens as providers counted them, model turns, and what they cost.

    `usd` is the sum of the costs that are known; None where none is.
    """

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        if other is NO_USAGE:
            return self
        return Usage(
            turns=self.turns + other.turns,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            usd=sum_usd([self.usd, other.usd]),
        )


NO_USAGE = Usage()
"""Of a judge that asks nobody, for example: one object for all of them."""


def sum_usd(costs: Iterable[float | None]) -> float | None:
    """Return the sum of the costs that are known, to a billionth; None where none is."""
    known = [cost for cost in costs if cost is not None]
    return round(math.fsum(known), 9) if known else None


class Failure(Frozen):
    """Something broke: where, through whom, and what was raised."""

    stage: str
    blame: Blame
    exception_type: str
    message: Text
    traceback: Text | None = None

    @property
    def summary(self) -> str:
        """One line: the stage, the exception and the first line of its message."""
        first = self.message.strip().partition("\n")[0].rstrip()
        return ": ".join(part for part in (self.stage, self.exception_type, first) if part)


class LimitHit(Frozen):
    """A limit that ended the student's work in a step."""

    limit: Literal["turns", "step time", "context"]
    value: float
    used: float
    unit: str

    @property
    def summary(self) -> str:
        """For example `step time limit of 30 s reached after 31.2 s`."""
        value, used = _amount(self.value), _amount(self.used)
        return f"{self.limit} limit of {value} {self.unit} reached after {used} {self.unit}"


def _amount(number: float) -> str:
    return f"{number:.0f}" if number >= 1000 else f"{number:.4g}"


class StepRecord(Frozen):
    """What came of one step.

    Attributes:
        index: From 0.
        of: How many steps the task has.
        score: None when the step was not scored; a void score of a broken judge is None too.
        partial: Passed with a score between 0 and 1 under no pass score.
        reason: Why the outcome is what it is, in a sentence; empty for a plain pass.
        judge: Identity of the judge that scored it: changes with its code and arguments.
        judge_usage: What the judge's own questions to a model used; `usage` is the student's.
        failure: What broke, for `error`; also beside a score when only `post_hook` broke.
        last_turns: What was said and done last, as a person reads it, where it did not pass.
    """

    index: int
    of: int
    name: Text
    outcome: Outcome
    score: float | None = None
    continue_task: bool | None = None
    partial: bool = False
    reason: Text = ""
    metadata: JsonObject = Field(default_factory=dict)
    limit: LimitHit | None = None
    failure: Failure | None = None
    usage: Usage = NO_USAGE
    judge: str = ""
    judge_usage: Usage = NO_USAGE
    duration_s: float = 0.0
    instructions: Text = ""
    last_turns: Text = ""

    @property
    def label(self) -> str:
        """For example `1/2 explore`."""
        return f"{self.index + 1}/{self.of} {self.name}"


VALIDATION = "validation"
"""In place of a model in the records of validated tasks: their time is that of many runs."""


class RunRecord(Frozen):
    """What came of one run: the unit of the journal.

    Attributes:
        score: The score of the last step that was scored; None when the run is not `scored`.
        not_reached: Names of the steps that never began.
        config: What the run was made with; None in records of before it was kept.
        transcript: Path of the transcript file, or empty when none was written.
        submissions: Where what it handed in is saved, whether there is anything or not.
        isolation: The level that held the student, for example `uid`.
        read_with: The command that prints the transcript, of a run under pytest that did not pass.
        run_again_with: The command that makes such a run once more.
    """

    schema_version: Literal[1] = 1
    run_id: str
    task_id: str
    model: str
    outcome: Outcome
    score: float | None = None
    reason: Text = ""
    steps: tuple[StepRecord, ...] = ()
    not_reached: tuple[Text, ...] = ()
    failure: Failure | None = None
    usage: Usage = NO_USAGE
    judge_usage: Usage = NO_USAGE
    session_id: str = ""
    nodeid: str = ""
    module: str = ""
    qualname: str = ""
    epoch: int = 1
    attempt: int = 1
    started_at: datetime | None = None
    duration_s: float = 0.0
    config: RunConfig | None = None
    transcript: str = ""
    submissions: str = ""
    artifacts: str = ""
    isolation: str = ""
    read_with: Text = ""
    run_again_with: Text = ""

    @property
    def usd(self) -> float | None:
        """What the student and the judges cost together; None where no price is known."""
        return sum_usd([self.usage.usd, self.judge_usage.usd])

    @property
    def is_scored(self) -> bool:
        """Whether the score counts: the work was measured, whatever it was worth."""
        return self.outcome in {"passed", "failed", "misbehaved"}


class LeftOut(Frozen):
    """Why an item does not count: pytest skipped it, or it was expected to fail.

    Attributes:
        kind: `pytest.skip` or `pytest.xfail`, as in JUnit files; empty for one that was expected
            to fail and passed.
        text: Reason with place, where there is one.
    """

    kind: str
    reason: Text = ""
    text: Text = ""

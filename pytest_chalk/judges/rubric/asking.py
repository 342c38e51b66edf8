"""Asks a model about the criteria of a rubric, all at once, and adds up what it says."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from pytest_chalk.authoring.judging import Judging, find_judging
from pytest_chalk.errors import RunOptionError
from pytest_chalk.grading.question import Answer, Question
from pytest_chalk.grading.rubric import (
    MAX_CONTENT_CHARS,
    describe,
    majority,
    total,
)
from pytest_chalk.judges.rubric.fan_out import call_all
from pytest_chalk.reports.clean import clean_text
from pytest_chalk.schemas.scoring import Scoring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.judges.rubric import RubricJudge
    from pytest_chalk.schemas.transcript import Transcript

AT_ONCE = 8
"""Questions in flight for one step. A rubric has five to ten, which providers take at once."""


class _GivenModels:
    """Outside of a run: only a model itself can be asked, and nothing is recorded."""

    def find(self, wanted: Model | str | None) -> Model:
        if wanted is None or isinstance(wanted, str):
            raise RunOptionError(
                "RubricJudge",
                f"its model is {wanted!r}, and there is no run that could tell which that is",
                fix="Give it a model itself, for example RubricJudge(model=make_model(...))",
            )
        return wanted

    def converse(self, model: Model, label: str) -> Model:  # noqa: ARG002 - nothing is recorded
        return model


def judge_by_rubric(judge: RubricJudge, transcript: Transcript) -> Scoring:
    """Return the model's verdict: see `RubricJudge.evaluate`."""
    content = _content(judge, transcript)
    if not content:
        cause = "there is nothing to grade: the student handed in and said nothing that is shown"
        return Scoring(0.0, {"error": cause}, continue_task=False)
    judging = find_judging() or Judging(0, _GivenModels(), lambda _name, _reply: None)
    model = judging.models.find(judge.model)
    questions = _questions(judge, content, model, judging)
    try:
        answers = _ask(questions, judge.timeout_s)
    finally:
        for question in questions:
            for reply in tuple(question.replies):
                judging.take_down(model.name, reply)
    return _scoring(judge, answers, model.name)


def _content(judge: RubricJudge, transcript: Transcript) -> str:
    parts = [context.render(transcript) for context in judge.context]
    joined = "\n\n".join(part for part in parts if part.strip())
    return clean_text(joined, max_chars=MAX_CONTENT_CHARS)


def _questions(judge: RubricJudge, content: str, model: Model, judging: Judging) -> list[Question]:
    """Return every question, criterion by criterion and vote by vote."""
    questions = []
    which = next(judging.numbers)
    # Several rubrics in one tree ask under names of their own, or a recording would mix them up.
    asker = f"judge: step {judging.step + 1}" + (f", rubric {which}" if which > 1 else "")
    for number, criterion in enumerate(judge.criteria, 1):
        for vote in range(1, judge.votes + 1):
            label = f"{asker}, criterion {number}, vote {vote}"
            first, again = (
                judging.models.converse(model, name) for name in (label, f"{label}, asked again")
            )
            questions.append(Question(content, criterion.text, (first, again)))
    return questions


def _ask(questions: Sequence[Question], time_limit_s: float) -> list[Answer]:
    """Return the answer to each question."""
    ends_s = time.monotonic() + time_limit_s
    calls = [partial(question.ask, ends_s) for question in questions]
    late = Answer(problem=f"no reply within the time limit of {time_limit_s:g} s")
    answers = call_all(calls, at_once=AT_ONCE, time_limit_s=time_limit_s)
    return [late if answer is None else answer for answer in answers]


def _scoring(judge: RubricJudge, answers: Sequence[Answer], model_name: str) -> Scoring:
    groups = [answers[at : at + judge.votes] for at in range(0, len(answers), judge.votes)]
    verdicts = [majority([one.verdict for one in group], judge.votes) for group in groups]
    metadata = {**describe(judge.criteria, verdicts), "judge model": model_name}
    given = [verdict for verdict in verdicts if verdict is not None]
    if len(given) < len(verdicts):
        number = verdicts.index(None) + 1
        failed = next(one for one in groups[number - 1] if one.problem)
        cause = f"criterion {number} of {len(verdicts)} was not judged: {failed.problem}"
        return Scoring(
            0.0,
            {**metadata, "error": cause},
            continue_task=False,
            void=cause,
            void_blame=failed.blame,
        )
    score = total(judge.criteria, given)
    metadata["passes above"] = f"{judge.continue_threshold:g}"
    return Scoring(score, metadata, continue_task=score > judge.continue_threshold)

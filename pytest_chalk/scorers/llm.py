"""A scorer that asks a model whether a statement about the row is true."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.scorer import (
    BuiltinScorer,
    EvaluationScorerResult,
    Unscored,
    as_text,
    checked_inputs,
    checked_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_chalk.authoring.ports import Model, ModelReply

LLM_TIME_LIMIT_S = 300.0
"""For one row, both questions together. A model that thinks takes a minute for one; a provider in
trouble is asked again for several."""

_GIVEN: dict[str, list[Model]] = {}
"""Models that were given themselves, by name. A definition keeps the name, with a number where
several have it: each process that gives them in the same order finds the same one."""


def llm(
    criterion: str,
    *,
    model: Model | str,
    name: str = "llm",
    inputs: Sequence[str] = ("output",),
) -> BuiltinScorer:
    """Score 1 if a model says that the criterion is met, and 0 if it says that it is not.

    Its reason is in the metadata, with the tokens and the cost of the question. A reply that is
    no verdict is asked again once; then the row has an error and no score. Where all columns are
    empty nobody is asked, and the score is 0.

    Args:
        criterion: A statement that is true or not, such as `The output names the cause.`
        model: `openai/<id>`, `anthropic/<id>`, or a model itself, which other processes lack.
        name: Of the scorer.
        inputs: The columns that the model is shown.

    Raises:
        ValueError: There is no criterion, or the columns are none.
        TypeError: The model is none.
    """
    text = _checked_criterion(criterion)
    columns = checked_inputs(inputs, max(1, len(inputs)))

    def score(
        converse: Callable[[str], Model], *values: object
    ) -> EvaluationScorerResult | Unscored:
        return _judged(text, dict(zip(columns, values, strict=True)), converse)

    params = {"criterion": text, "model": _name_of(model)}
    return BuiltinScorer(checked_name(name), "llm", columns, params, score, model=model)


def given_model(name: str) -> Model | None:
    """Return the model that was given itself in this process and is kept by that name."""
    if name in _GIVEN:
        return _GIVEN[name][0]
    own, _, number = name.rpartition("#")
    models = _GIVEN.get(own, [])
    index = int(number) - 1 if number.isdecimal() else -1
    return models[index] if 0 <= index < len(models) else None


def _checked_criterion(criterion: object) -> str:
    text = criterion.strip() if isinstance(criterion, str) else ""
    if not text:
        message = f"criterion is a statement, such as 'The output is polite.', found {criterion!r}"
        raise ValueError(message)
    return text


def _name_of(model: Model | str) -> str:
    if isinstance(model, str) and model.strip():
        return model.strip()
    if isinstance(model, str) or not callable(getattr(model, "reply", None)):
        message = f"model is a name such as 'openai/gpt-5', or a model, found {model!r:.100}"
        raise TypeError(message)
    known = _GIVEN.setdefault(model.name, [])
    index = next((n for n, one in enumerate(known) if one is model), len(known))
    if index == len(known):
        known.append(model)
    return model.name if not index else f"{model.name}#{index + 1}"


def _judged(
    criterion: str, row: dict[str, object], converse: Callable[[str], Model]
) -> EvaluationScorerResult | Unscored:
    # Not at the top: who scores otherwise needs no pydantic.
    from pytest_chalk.grading.question import Question  # noqa: PLC0415

    content = _content(row)
    if not content:
        return EvaluationScorerResult(0.0, {"reason": "there is nothing to judge"})
    # By content, not by row: a recording fits however the rows are ordered.
    told_apart = hashlib.sha256(f"{criterion}\n{content}".encode("utf-8", "replace"))
    label = f"scorer {told_apart.hexdigest()[:32]}"
    models = converse(label), converse(f"{label}, asked again")
    question = Question(content, criterion, models)
    answer = question.ask(time.monotonic() + LLM_TIME_LIMIT_S)
    told = {"model": models[0].name, **_usage(question.replies)}
    if answer.verdict is None:
        return Unscored(answer.problem, told)
    told["reason"] = answer.verdict.reason or "no reason given"
    return EvaluationScorerResult(float(answer.verdict.met), told)


def _content(row: dict[str, object]) -> str:
    """Return what the model is shown: a column alone as text, several as JSON line by line."""
    from pytest_chalk.grading.rubric import MAX_CONTENT_CHARS  # noqa: PLC0415 - as above
    from pytest_chalk.reports.clean import clean_text  # noqa: PLC0415 - as above

    texts = [as_text(value) for value in row.values()]
    if not any(text.strip() for text in texts):
        return ""
    if len(texts) > 1:
        # An object on each line, so that no text can pass for another column.
        texts = [json.dumps({name: value}, default=str) for name, value in row.items()]
    return clean_text("\n".join(texts), max_chars=MAX_CONTENT_CHARS)


def _usage(replies: Sequence[ModelReply]) -> dict[str, Any]:
    from pytest_chalk.schemas.record import sum_usd  # noqa: PLC0415 - as above

    usd = sum_usd(reply.usd for reply in replies)
    return {
        "input_tokens": sum(reply.input_tokens for reply in replies),
        "output_tokens": sum(reply.output_tokens for reply in replies),
        **({} if usd is None else {"usd": usd}),
    }

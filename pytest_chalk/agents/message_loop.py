"""A model and its tools, turn by turn, until the student stops or a limit ends its work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.ports import ModelReply, ModelRequest
from pytest_chalk.models.estimate import estimated_input_tokens, is_counted
from pytest_chalk.reports.clean import clean_object
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.record import LimitHit
from pytest_chalk.schemas.transcript import (
    AnswersSubmittedEvent,
    RetryEvent,
    TokenUsageEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chalk.authoring.ports import Model, StepWork
    from pytest_chalk.authoring.step import Step
    from pytest_chalk.authoring.tool import ToolAnswer
    from pytest_chalk.schemas.chat import ToolCall
    from pytest_chalk.schemas.run_config import RunConfig
    from pytest_chalk.tools.registry import Toolbox

MAX_NUDGES = 3
"""Empty turns in a row that are answered with a nudge. A model that ran out of tokens while it
thought resumes at the first or not at all."""

NUDGE = (
    "Your last turn had neither a message nor a tool call. Go on from where you were, without a "
    "summary, in smaller steps; answer without a tool call when you are done."
)


class MessageLoop:
    """Drives a model through the steps of one run. The turn limit counts over all of them."""

    def __init__(self, model: Model, toolbox: Toolbox, config: RunConfig) -> None:
        self.name = model.name
        self.trusted = bool(getattr(model, "trusted", False))
        self._model = model
        self._toolbox = toolbox
        self._config = config

    def reason_to_skip(self, step: Step) -> str | None:  # noqa: ARG002 - a model tries any
        """Return None: a model tries every step."""
        return None

    def work(self, work: StepWork) -> LimitHit | None:
        """Take turns until the student stops calling tools; return the limit hit, if any."""
        context_tokens = nudges = 0
        while True:
            hit = self._find_hit(work, context_tokens)
            if hit is not None:
                return hit
            reply, context_tokens = self._take_turn(work)
            if _is_empty(reply) and nudges < MAX_NUDGES:
                nudges += 1
                work.conversation.add(Message(role="user", content=NUDGE))
                continue
            nudges = 0
            calls = reply.message.tool_calls or ()
            if not calls or reply.finish_reason in {"content_filter", "time_limit"}:
                return work.clock.find_hit()
            for tool_call in calls[:-1]:
                self._answer(work, tool_call)
            self._answer(work, calls[-1], context_tokens=context_tokens)

    def _find_hit(self, work: StepWork, context_tokens: int) -> LimitHit | None:
        turns, limit = work.conversation.assistant_turns, self._config.turn_limit
        if limit is not None and turns >= limit:
            return LimitHit(limit="turns", value=limit, used=turns, unit="turns")
        window = self._config.resolve_step_context_window_limit(work.index)
        if window is not None and context_tokens >= window:
            return LimitHit(limit="context", value=window, used=context_tokens, unit="tokens")
        return work.clock.find_hit()

    def _take_turn(self, work: StepWork) -> tuple[ModelReply, int]:
        """Return the model's turn and the tokens of its prompt, estimated where nobody counts."""
        conversation = work.conversation
        request = ModelRequest(
            messages=conversation.messages,
            tools=self._toolbox.schemas,
            time_limit_s=work.clock.seconds_left(),
            on_retry=lambda retry: conversation.emit(RetryEvent(**asdict(retry))),
            step=work.index,
        )
        reply = self._model.reply(request)
        window = self._config.resolve_step_context_window_limit(work.index)
        context_tokens = reply.input_tokens
        if window is not None and not is_counted(reply):
            context_tokens = estimated_input_tokens(request)
        conversation.add(reply.message, finish_reason=reply.finish_reason)
        if is_counted(reply) or reply.usd:
            conversation.emit(
                TokenUsageEvent(
                    input_tokens=reply.input_tokens,
                    output_tokens=reply.output_tokens,
                    cache_read_tokens=reply.cache_read_tokens,
                    cache_write_tokens=reply.cache_write_tokens,
                    usd=reply.usd,
                )
            )
        return reply, context_tokens

    def _answer(
        self, work: StepWork, tool_call: ToolCall, *, context_tokens: int | None = None
    ) -> None:
        """Carry out one call; the last one of a turn also tells what is left."""
        conversation = work.conversation
        conversation.emit(ToolCallStartedEvent(tool_call=tool_call))
        answer = self._toolbox.answer(tool_call, time_limit_s=work.clock.seconds_left())
        conversation.emit(
            ToolCallCompletedEvent(
                tool_call_id=tool_call.id,
                text=answer.text,
                is_error=answer.is_error,
                details=clean_object(answer.details),
            )
        )
        if answer.answers:
            conversation.emit(AnswersSubmittedEvent(answers=dict(answer.answers)))
        counters = [] if context_tokens is None else self._counters(work, context_tokens)
        content = _content_of(answer, counters)
        conversation.add(Message(role="tool", content=content, tool_call_id=tool_call.id))

    def _counters(self, work: StepWork, context_tokens: int) -> list[str]:
        notes = []
        left_s = work.clock.seconds_left()
        if left_s is not None and self._config.inject_time_remaining_counter:
            notes.append(f"Time remaining: {int(left_s)} seconds")
        window = self._config.resolve_step_context_window_limit(work.index)
        if window is not None and self._config.inject_context_remaining_counter:
            notes.append(f"Context remaining: {max(0, window - context_tokens)}")
        return notes


def _content_of(answer: ToolAnswer, counters: Sequence[str]) -> str | list[dict[str, Any]]:
    """Return what the student gets: text, or parts where the answer has some, such as an image."""
    if not answer.parts:
        return "\n\n".join(text for text in (answer.text, *counters) if text)
    before, after = (
        [{"type": "text", "text": t} for t in texts if t] for texts in ([answer.text], counters)
    )
    return [*before, *map(dict, answer.parts), *after]


def _is_empty(reply: ModelReply) -> bool:
    """Tell whether a turn says and does nothing because the model was cut off while it thought.

    A turn that is simply empty is the student's way of saying nothing more.
    """
    message = reply.message
    if message.tool_calls or message.text.strip() or reply.finish_reason == "time_limit":
        return False
    return reply.finish_reason == "length" or bool((message.reasoning_content or "").strip())

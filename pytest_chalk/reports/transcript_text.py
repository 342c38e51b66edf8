"""A transcript as a person reads it: who said what, what tools answered, what the judge said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_chalk.reports.clean import clean, clean_text, shortened
from pytest_chalk.reports.table import one_line
from pytest_chalk.schemas.transcript import (
    AnswersSubmittedEvent,
    ErrorEvent,
    JudgeUsageEvent,
    LimitReachedEvent,
    MessageAddedEvent,
    RetryEvent,
    ScoringEvent,
    StepStartedEvent,
    TaskCompletedEvent,
    TaskStartedEvent,
    TokenUsageEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_chalk.schemas.chat import Message
    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Event

MAX_SHOWN_CHARS = 8_000
"""Of one message or tool result. A student that prints a megabyte would push the rest out of
sight; the file has the whole."""

LAST_TURNS = 3
"""Of the student's, shown in a failure: enough to see what it was at, and the file has the rest."""

MAX_LAST_TURN_CHARS = 800
MAX_LAST_CHARS = 4_000
"""Of one message or tool result in a failure, and of all of them together: a page."""

_WIDTH = 78


def render_transcript(events: Sequence[Event]) -> list[str]:
    """Return the lines of a transcript, its longest texts cut visibly in the middle."""
    return [line for event in events for line in _render(event)]


def render_last_turns(events: Sequence[Event]) -> str:
    """Return what was said and done last in the step that the events end with, cut to a page.

    Without the instructions and the judge's word, which a reader of a failure has beside it.
    """
    blocks: list[str] = []
    turns = 0
    for event, earlier in _last_first(events):
        if turns == LAST_TURNS:
            blocks.append("[... earlier turns are in the transcript ...]")
            break
        if not _repeats(event, earlier):
            text = "\n".join(_render(event))
            blocks.append(shortened(text, MAX_LAST_TURN_CHARS))
        turns += isinstance(event, MessageAddedEvent) and event.message.role == "assistant"
    return shortened("\n".join(filter(None, reversed(blocks))), MAX_LAST_CHARS)


def _last_first(events: Sequence[Event]) -> Iterator[tuple[Event, Event | None]]:
    """Yield what was said and done in the last step, backwards, each with the one before it."""
    said: Event | None = None
    for event in reversed(events):
        if isinstance(event, StepStartedEvent):
            break
        if isinstance(event, _SAID):
            if said is not None:
                yield said, event
            said = event
    if said is not None and not _is_instructions(said):
        yield said, None


_SAID = (
    *(MessageAddedEvent, ToolCallStartedEvent, ToolCallCompletedEvent),
    *(AnswersSubmittedEvent, RetryEvent),
)


def _is_instructions(first: Event) -> bool:
    return isinstance(first, MessageAddedEvent) and first.message.role == "user"


def _repeats(event: Event, earlier: Event | None) -> bool:
    """Tell whether a message says what the tool just answered, as that of a solution does."""
    return (
        isinstance(event, MessageAddedEvent)
        and isinstance(earlier, ToolCallCompletedEvent)
        and event.message.role == "assistant"
        and event.message.text == earlier.text.rstrip("\n")
    )


def _render(event: Event) -> Iterator[str]:
    """Render what is said and done."""
    match event:
        case MessageAddedEvent():
            yield from _message(event.message)
        case ToolCallStartedEvent():
            function = event.tool_call.function
            yield from _block(f"-> {function.name}", function.arguments)
        case ToolCallCompletedEvent():
            yield from _block("<- ERROR" if event.is_error else "<-", event.text)
        case AnswersSubmittedEvent():
            for name, answer in event.answers.items():
                yield from _block(f"answer {name}:", answer)
        case ScoringEvent():
            yield from _scoring(event.scoring)
        case _:
            yield from _render_frame(event)


def _render_frame(event: Event) -> Iterator[str]:
    """Render what stands around it."""
    match event:
        case TaskStartedEvent():
            yield f"{event.task_id} by {event.model or '?'}, isolation {event.isolation or '?'}"
        case StepStartedEvent():
            of = f"/{event.of}" if event.of else ""
            yield from ("", f"== step {event.step + 1}{of} ".ljust(_WIDTH, "="))
        case TaskCompletedEvent():
            yield from ("", event.outcome.replace("_", " "))
        case _:
            yield from _render_rare(event)


def _render_rare(event: Event) -> Iterator[str]:
    """Render what a plain run does not have; nothing for what only marks a place."""
    match event:
        case TokenUsageEvent():
            yield f"   ({event.input_tokens:,} tokens in, {event.output_tokens:,} out)"
        case JudgeUsageEvent():
            used = f"{event.input_tokens:,} tokens in, {event.output_tokens:,} out"
            yield f"   (asked by the judge: {one_line(event.model)}, {used})"
        case RetryEvent():
            yield f"   (asked again in {event.wait_s:.1f} s: {one_line(event.reason)})"
        case LimitReachedEvent():
            yield f"LIMIT {event.limit}: {event.value:g} {event.unit}, used {event.used:g}"
        case ErrorEvent():
            head = f"ERROR at {event.stage} ({event.blame}): {event.exception_type}"
            yield from _block(head, event.traceback or event.message)
        case _:
            return


def _message(message: Message) -> Iterator[str]:
    if message.reasoning_content:
        yield from _block(f"[{message.role}, thinking]", message.reasoning_content)
    if message.role != "tool" and (message.text or not message.tool_calls):
        yield from _block(f"[{message.role}]", message.text)


def _scoring(scoring: Scoring) -> Iterator[str]:
    word = "no score" if scoring.void is not None else f"score {scoring.score:g}"
    yield f"{word}, {'continues' if scoring.continue_task else 'ends the task'}"
    for key, value in scoring.metadata.items():
        text = value if isinstance(value, str) else json.dumps(clean(value), ensure_ascii=False)
        yield from _block(f"  {key}:", text, indent="      ")


def _block(head: str, text: str, *, indent: str = "    ") -> Iterator[str]:
    """Yield a heading and its text: on the same line if it is short, else indented below."""
    lines = clean_text(text.rstrip(), max_chars=MAX_SHOWN_CHARS).splitlines()
    head = _one_line_within(head)
    if len(lines) == 1 and len(head) + len(lines[0]) < _WIDTH:
        yield f"{head} {lines[0]}"
        return
    yield head
    yield from (f"{indent}{line}" for line in lines)


def _one_line_within(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip())]
    return indent + one_line(text)

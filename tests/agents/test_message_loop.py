"""The loop of a model and its tools: turns, limits, notes, nudges, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_chalk.agents.message_loop import MAX_NUDGES, NUDGE, MessageLoop
from pytest_chalk.authoring.conversation import Conversation
from pytest_chalk.authoring.ports import ModelReply, ModelRequest, Retry, StepWork, ToolSchema
from pytest_chalk.authoring.step import Step
from pytest_chalk.authoring.step_clock import StepClock
from pytest_chalk.authoring.tool import ToolAnswer
from pytest_chalk.judges import AlwaysPassJudge
from pytest_chalk.schemas.chat import Function, Message, ToolCall
from pytest_chalk.schemas.record import LimitHit
from pytest_chalk.schemas.run_config import RunConfig
from pytest_chalk.schemas.transcript import (
    Event,
    MessageAddedEvent,
    RetryEvent,
    TokenUsageEvent,
    ToolCallCompletedEvent,
    ToolCallStartedEvent,
)


class AnyStep(Step):
    """The loop reads the conversation only."""

    instructions = "Work."
    judge = AlwaysPassJudge()


@dataclass
class Plays:
    """A model that gives these replies in turn; the last one for ever."""

    replies: list[ModelReply]
    requests: list[ModelRequest] = field(default_factory=list)
    name: str = "acme/m"
    trusted: bool = True
    retry: Retry | None = None

    def reply(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        if self.retry is not None and request.on_retry is not None:
            request.on_retry(self.retry)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@dataclass
class Tools:
    """A toolbox that echoes; `answers` by the call's name are given instead."""

    answers: dict[str, ToolAnswer] = field(default_factory=dict)
    calls: list[tuple[str, float | None]] = field(default_factory=list)
    schemas: tuple[ToolSchema, ...] = (ToolSchema("bash", "Run.", {"type": "object"}),)

    def answer(self, tool_call: ToolCall, *, time_limit_s: float | None) -> ToolAnswer:
        name = tool_call.function.name or ""
        self.calls.append((tool_call.id, time_limit_s))
        return self.answers.get(name, ToolAnswer(f"did {tool_call.id}"))


@dataclass
class Played:
    """What came of a step."""

    hit: LimitHit | None
    events: list[Event]
    model: Plays
    tools: Tools

    @property
    def told(self) -> list[tuple[str, Any]]:
        added = (e.message for e in self.events if isinstance(e, MessageAddedEvent))
        return [(m.role, m.content) for m in added if m.role != "assistant"][1:]

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def says(text: str = "done", finish: str = "stop", **counts: Any) -> ModelReply:
    return ModelReply(Message(content=text), finish, **counts)


def calls(*ids: str, name: str = "bash", finish: str = "tool_calls", **counts: Any) -> ModelReply:
    made = tuple(ToolCall(id=i, function=Function(name=name, arguments="{}")) for i in ids)
    return ModelReply(Message(tool_calls=made), finish, **counts)


def play(
    *replies: ModelReply,
    limit_s: float | None = None,
    tools: Tools | None = None,
    retry: Retry | None = None,
    **config: Any,
) -> Played:
    """Let a model work on one step."""
    model, toolbox, events = Plays(list(replies), retry=retry), tools or Tools(), []
    conversation = Conversation(events.append)
    conversation.add(Message(role="user", content="Work."))
    loop = MessageLoop(model, toolbox, RunConfig(run_id="", task_id="", model="", **config))
    hit = loop.work(StepWork(AnyStep(RunConfig.placeholder()), 0, conversation, StepClock(limit_s)))
    return Played(hit, events, model, toolbox)


def test_a_turn_without_calls_ends_the_step():
    played = play(says("42"))

    assert (played.hit, played.told, len(played.model.requests)) == (None, [], 1)


def test_calls_are_carried_out_in_their_order_and_all_answered_before_the_next_turn():
    played = play(calls("a", "b"), calls("c"), says())

    assert [call_id for call_id, _ in played.tools.calls] == ["a", "b", "c"]
    assert played.told == [("tool", "did a"), ("tool", "did b"), ("tool", "did c")]
    work = (ToolCallStartedEvent, ToolCallCompletedEvent)
    assert [type(event) for event in played.events if isinstance(event, work)] == [*work] * 3


@pytest.mark.parametrize(("limit", "turns"), [(1, 1), (2, 2), (5, 5)])
def test_the_turn_limit_ends_the_step_after_so_many_turns_with_their_calls_answered(
    limit: int, turns: int
):
    played = play(calls("a"), turn_limit=limit)

    assert len(played.model.requests) == turns
    assert len(played.tools.calls) == turns
    assert played.hit == LimitHit(limit="turns", value=limit, used=turns, unit="turns")


def test_a_student_that_stops_at_its_last_turn_hits_no_limit():
    assert play(calls("a"), says(), turn_limit=2).hit is None


def test_the_context_limit_ends_the_step_when_a_prompt_reaches_it():
    played = play(
        calls("a", input_tokens=600), calls("b", input_tokens=1100), step_context_window_limit=1000
    )

    assert played.hit == LimitHit(limit="context", value=1000, used=1100, unit="tokens")
    assert len(played.model.requests) == 2


@pytest.mark.parametrize(("tokens", "requests"), [(1000, 1), (999, 2)])
def test_a_prompt_of_just_the_limit_has_reached_it(tokens: int, requests: int):
    played = play(calls("a", input_tokens=tokens), says(), step_context_window_limit=1000)

    assert len(played.model.requests) == requests


def test_the_context_limit_holds_where_the_provider_does_not_count():
    long = Tools({"bash": ToolAnswer("x" * 3_000)})

    played = play(calls("a"), tools=long, step_context_window_limit=2_000)

    assert played.hit is not None
    assert played.hit.limit == "context"
    assert len(played.model.requests) == 3
    assert played.of(TokenUsageEvent) == []  # nobody's count is made up


def test_what_is_left_is_told_with_the_last_answer_of_a_turn():
    played = play(
        calls("a", "b", input_tokens=400), says(), limit_s=60.0, step_context_window_limit=1000
    )

    assert played.told[0] == ("tool", "did a")
    _, last = played.told[1]
    assert last.startswith("did b\n\nTime remaining: 59 seconds\n\nContext remaining: 600")


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({"inject_time_remaining_counter": False}, "did a\n\nContext remaining: 600"),
        ({"inject_context_remaining_counter": False}, "did a\n\nTime remaining: 59 seconds"),
    ],
)
def test_a_note_can_be_switched_off(config: dict[str, bool], kept: str):
    played = play(
        calls("a", input_tokens=400),
        says(),
        limit_s=60.0,
        step_context_window_limit=1000,
        **config,
    )

    assert played.told == [("tool", kept)]


def test_without_limits_there_are_no_notes():
    assert play(calls("a", input_tokens=400), says()).told == [("tool", "did a")]


def test_a_step_whose_time_is_over_asks_nothing_more():
    played = play(says(), limit_s=0.0)

    assert played.model.requests == []
    assert played.hit is not None
    assert played.hit.limit == "step time"


def test_model_and_tools_are_told_the_time_that_is_left():
    played = play(calls("a"), says(), limit_s=60.0)

    (_, for_tool), *_ = played.tools.calls
    assert played.model.requests[0].time_limit_s == pytest.approx(60, abs=1)
    assert for_tool == pytest.approx(60, abs=1)


EMPTY = [
    says("", "length"),
    says("  \n", "length"),
    ModelReply(Message(content="", reasoning_content="I think"), "stop"),
]


@pytest.mark.parametrize("empty", EMPTY)
def test_a_turn_that_was_cut_off_while_thinking_is_nudged(empty: ModelReply):
    played = play(empty, says("42"))

    assert played.told == [("user", NUDGE)]
    assert len(played.model.requests) == 2


def test_nudges_come_to_an_end():
    played = play(says("", "length"))

    assert played.told == [("user", NUDGE)] * MAX_NUDGES
    assert len(played.model.requests) == MAX_NUDGES + 1


def test_a_turn_that_does_something_makes_the_nudges_count_anew():
    empty = says("", "length")

    played = play(*[empty] * MAX_NUDGES, calls("a"), *[empty] * MAX_NUDGES, says("42"))

    assert len(played.model.requests) == 2 * MAX_NUDGES + 2


def test_a_turn_that_says_nothing_on_purpose_is_the_end():
    assert play(says("", "stop")).told == []


@pytest.mark.parametrize("finish", ["content_filter", "time_limit"])
def test_a_turn_that_was_cut_off_from_outside_ends_the_step_and_its_calls_are_not_made(
    finish: str,
):
    played = play(calls("a", finish=finish))

    assert played.tools.calls == []
    assert len(played.model.requests) == 1
    (turn,) = [e for e in played.of(MessageAddedEvent) if e.message.role == "assistant"]
    assert turn.finish_reason == finish


def test_parts_of_an_answer_follow_its_text_and_the_notes_follow_them():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    tools = Tools({"bash": ToolAnswer("p.png", parts=[image])})

    played = play(calls("a", input_tokens=1), says(), tools=tools, step_context_window_limit=9)

    (role, content), *_ = played.told
    assert role == "tool"
    assert content == [
        {"type": "text", "text": "p.png"},
        image,
        {"type": "text", "text": "Context remaining: 8"},
    ]


def test_a_retry_and_what_a_turn_used_are_events():
    played = play(
        says(input_tokens=5, output_tokens=2, cache_read_tokens=3, usd=0.25),
        retry=Retry(1, 0.5, "HTTP 429"),
    )

    (retry,), (usage,) = played.of(RetryEvent), played.of(TokenUsageEvent)
    assert (retry.attempt, retry.wait_s, retry.reason) == (1, 0.5, "HTTP 429")
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.usd) == (
        5, 2, 3, 0.25,
    )  # fmt: skip

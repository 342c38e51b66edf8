"""Models behind the chat completions format: OpenAI's own and every server that speaks it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.errors import ProviderError
from pytest_chalk.models.draft import (
    NOT_CARRIED_OUT,
    Drafts,
    usable_arguments,
    usable_ids,
    usable_name,
)
from pytest_chalk.models.estimate import token_count
from pytest_chalk.models.provider import OPENAI, Provider
from pytest_chalk.models.settings import ModelSettings
from pytest_chalk.schemas.chat import Function, Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_chalk.authoring.ports import ModelRequest, ToolSchema
    from pytest_chalk.models.http import Door

FINISH_REASONS = {"function_call": "tool_calls", "max_tokens": "length", "eos": "stop"}
"""What some servers call the reasons that OpenAI calls stop, length, tool_calls, content_filter."""

OTHER_SPELLINGS = {
    "max_completion_tokens": "max_tokens",
    "max_tokens": "max_completion_tokens",
    "stream_options": None,
}
"""Fields that some servers refuse, and what is sent then."""


class OpenAIChatModel:
    """A model by its id at a base URL. Keeps no state of a run: one instance serves any number."""

    trusted = False

    def __init__(
        self, model_id: str, settings: ModelSettings | None = None, *, door: Door | None = None
    ) -> None:
        """Read the environment for the base URL.

        Raises:
            RunOptionError: The base URL cannot be used.
        """
        settings = settings or ModelSettings()
        self._provider = Provider(OPENAI, model_id, settings, door)
        self.name = self._provider.name
        self._fields = _fixed_fields(model_id, settings, self._provider.base_url)
        self._drafts = Drafts(_ChatDraft)

    def check_access(self) -> None:
        """Raise RunOptionError if there is no key, naming the variable to set."""
        self._provider.key()

    def reply(self, request: ModelRequest) -> ModelReply:
        """Return the next turn.

        Raises:
            ProviderError: It could not be had.
            RunOptionError: There is no key.
        """
        draft = self._drafts.take(request.messages)
        try:
            return self._ask(draft, request)
        except ProviderError as refusal:
            other = self._other_spelling(refusal)
            if other is None:
                raise
            self._fields = other
            return self._ask(draft, request)
        finally:
            self._drafts.keep(draft)

    def _ask(self, draft: _ChatDraft, request: ModelRequest) -> ModelReply:
        body = _body(self._fields, request.tools, draft)
        post = self._provider.post("/chat/completions", body)
        turn = len(request.messages)
        return self._provider.ask(post, lambda: _ChatAssembly(turn), request)

    def _other_spelling(self, refusal: ProviderError) -> Mapping[str, object] | None:
        """Return the fields without the one that the server says it does not know, if one is."""
        if refusal.kind != "refused":
            return None
        named = [n for n in OTHER_SPELLINGS if n in self._fields and n in refusal.problem]
        if not named:
            return None
        fields = dict(self._fields)
        value, other = fields.pop(named[0]), OTHER_SPELLINGS[named[0]]
        return fields if other is None else {**fields, other: value}


def _fixed_fields(model_id: str, settings: ModelSettings, base_url: str) -> Mapping[str, object]:
    """Return the fields that are the same in every request."""
    # OpenAI's newer models refuse max_tokens; most other servers know nothing else.
    own = (urlsplit(base_url).hostname or "").endswith("api.openai.com")
    fields: dict[str, object] = {
        "model": model_id,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": settings.temperature,
        "max_completion_tokens" if own else "max_tokens": settings.max_tokens,
        "seed": settings.seed,
        "reasoning_effort": settings.effort_level(),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _body(fields: Mapping[str, object], tools: Sequence[ToolSchema], draft: _ChatDraft) -> str:
    """Return the request: the fixed fields, the tools, and the conversation already in words."""
    if tools:
        fields = {**fields, "tools": [_tool(tool) for tool in tools]}
    return f'{json.dumps(fields)[:-1]}, "messages": [{draft.text()}]}}'


def _tool(tool: ToolSchema) -> dict[str, object]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        },
    }


class _ChatDraft:
    """Messages as JSON objects, in the order the format wants."""

    def __init__(self) -> None:
        self.seen: list[Message] = []
        self._texts: list[str] = []
        self._open_calls: list[str] = []
        self._images: list[dict[str, Any]] = []

    def add(self, message: Message) -> None:
        """Write down a message. Images of tools follow the answers: a tool's message holds text."""
        if message.role == "tool":
            self._add_answer(message)
            return
        self._texts += self._closing()
        self._open_calls, self._images = [], []
        written: dict[str, Any] = {"role": message.role, "content": message.content or ""}
        if message.tool_calls:
            written["tool_calls"] = [_call(made) for made in message.tool_calls]
            self._open_calls = [made.id for made in message.tool_calls]
        self._texts.append(json.dumps(written))

    def text(self) -> str:
        """Return the messages, what is still open closed."""
        return ", ".join([*self._texts, *self._closing()])

    def _add_answer(self, message: Message) -> None:
        if message.tool_call_id in self._open_calls:
            self._open_calls.remove(message.tool_call_id)
        if isinstance(message.content, list):
            self._images += [part for part in message.content if part.get("type") != "text"]
        self._texts.append(_answer(message.tool_call_id, message.text))

    def _closing(self) -> list[str]:
        closing = [_answer(call_id, NOT_CARRIED_OUT) for call_id in self._open_calls]
        if self._images:
            closing.append(json.dumps({"role": "user", "content": self._images}))
        return closing


def _answer(call_id: str | None, text: str) -> str:
    return json.dumps({"role": "tool", "tool_call_id": call_id or "", "content": text})


def _call(made: ToolCall) -> dict[str, Any]:
    arguments = made.function.arguments
    usable = usable_arguments(arguments)
    kept = arguments if arguments and "_malformed" not in usable else json.dumps(usable)
    function = {"name": usable_name(made.function.name), "arguments": kept}
    return {"id": made.id, "type": "function", "function": function}


@dataclass
class _CallParts:
    """A call as it arrives."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class _ChatAssembly:
    """A reply, from its chunks or from one object."""

    def __init__(self, turn: int) -> None:
        self.begun = self.complete = False
        self._turn = turn
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _CallParts] = {}
        self._finish: str | None = None
        self._usage: Mapping[str, Any] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in a chunk."""
        self._usage = dict(event.get("usage") or self._usage)
        for choice in event.get("choices") or ():
            if choice.get("index") in (None, 0):
                self._add_choice(choice, choice.get("delta") or choice.get("message") or {})

    def add_whole(self, body: Mapping[str, Any]) -> None:
        """Take in the reply of a server that does not stream: its message is one large delta."""
        self.add(body)
        self.complete = self.begun

    def _add_choice(self, choice: Mapping[str, Any], delta: Mapping[str, Any]) -> None:
        self.begun = True
        for kind, parts in (
            ("content", self._text),
            ("refusal", self._text),
            ("reasoning_content", self._reasoning),
        ):
            if delta.get(kind):
                parts.append(_string(delta[kind]))
        if delta.get("reasoning") and not delta.get("reasoning_content"):
            self._reasoning.append(_string(delta["reasoning"]))
        for position, piece in enumerate(delta.get("tool_calls") or ()):
            self._add_call_piece(piece, position)
        if choice.get("finish_reason"):
            self._finish, self.complete = str(choice["finish_reason"]), True

    def _add_call_piece(self, piece: Mapping[str, Any], position: int) -> None:
        function = piece.get("function") or {}
        slot = self._slot(piece, position, starts=bool(function.get("name")))
        call = self._calls.setdefault(slot, _CallParts())
        call.id = _string(piece.get("id") or call.id)
        # Assigned, not appended: llama-cpp-python repeats the name in every chunk.
        call.name = _string(function.get("name") or call.name)
        arguments = function.get("arguments") or ""
        call.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _slot(self, piece: Mapping[str, Any], position: int, *, starts: bool) -> int:
        """Return which call a piece belongs to. Some servers leave out the index, or give all 0."""
        index = piece.get("index")
        last = len(self._calls) - 1
        if index is None:
            given = piece.get("id")
            known = [slot for slot, call in self._calls.items() if given and call.id == given]
            return known[0] if known else max(last, position) + (starts and last >= position)
        old = self._calls.get(int(index))
        is_another = old is not None and starts and piece.get("id") not in (None, "", old.id)
        return last + 1 if is_another else int(index)

    def reply(self, *, is_cut: bool = False) -> ModelReply:
        """Return the reply; cut off, it is what arrived, without tool calls."""
        calls = () if is_cut else self._tool_calls()
        finish = FINISH_REASONS.get(self._finish or "stop", self._finish or "stop")
        if is_cut:
            finish = "time_limit"
        elif calls and finish == "stop":
            finish = "tool_calls"
        details = self._usage.get("prompt_tokens_details")
        return ModelReply(
            Message(
                content="".join(self._text) or (None if calls else ""),
                tool_calls=calls or None,
                reasoning_content="".join(self._reasoning) or None,
            ),
            finish_reason=finish,
            input_tokens=token_count(self._usage.get("prompt_tokens")) or 0,
            output_tokens=token_count(self._usage.get("completion_tokens")) or 0,
            cache_read_tokens=(
                token_count(details.get("cached_tokens")) if isinstance(details, dict) else None
            ),
        )

    def _tool_calls(self) -> tuple[ToolCall, ...]:
        parts = [self._calls[slot] for slot in sorted(self._calls)]
        ids = usable_ids([call.id for call in parts], self._turn)
        return tuple(
            ToolCall(
                id=call_id, function=Function(name=call.name, arguments="".join(call.arguments))
            )
            for call_id, call in zip(ids, parts, strict=True)
        )


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value

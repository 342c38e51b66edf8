"""Models behind Anthropic's Messages format."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.errors import RunOptionError
from pytest_chalk.models.draft import (
    NOT_CARRIED_OUT,
    Drafts,
    usable_arguments,
    usable_ids,
    usable_name,
)
from pytest_chalk.models.estimate import token_count
from pytest_chalk.models.provider import ANTHROPIC, Provider
from pytest_chalk.models.settings import ModelSettings
from pytest_chalk.schemas.chat import Function, Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_chalk.authoring.ports import ModelRequest, ToolSchema
    from pytest_chalk.models.http import Door
    from pytest_chalk.schemas.frozen import JsonObject

VERSION = "2023-06-01"
MAX_TOKENS = 8_192
"""Of one reply where the settings have none; the format wants a number. All current models allow
it, and a turn of an agent that writes a whole file stays below."""

FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}

_CACHE_UP_TO_HERE = ', "cache_control": {"type": "ephemeral"}}'
_DATA_URL = re.compile(r"data:(?P<media>[\w/+.-]+);base64,(?P<data>.*)", re.DOTALL)


class AnthropicMessagesModel:
    """A model by its id at a base URL. Keeps no state of a run: one instance serves any number."""

    trusted = False

    def __init__(
        self, model_id: str, settings: ModelSettings | None = None, *, door: Door | None = None
    ) -> None:
        """Read the environment for the base URL.

        Raises:
            RunOptionError: The base URL cannot be used, or a setting that the format does not have.
        """
        settings = settings or ModelSettings()
        self._provider = Provider(ANTHROPIC, model_id, settings, door)
        self.name = self._provider.name
        self._fields = _fixed_fields(model_id, settings, f"model {self.name!r}")
        self._path = "/messages" if self._provider.base_url.endswith("/v1") else "/v1/messages"
        self._drafts = Drafts(_MessagesDraft)

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
            body = _body(self._fields, request.tools, draft)
            post = self._provider.post(self._path, body, {"anthropic-version": VERSION})
            turn = len(request.messages)
            return self._provider.ask(post, lambda: _MessagesAssembly(turn), request)
        finally:
            self._drafts.keep(draft)


def _fixed_fields(model_id: str, settings: ModelSettings, where: str) -> Mapping[str, object]:
    """Return the fields that are the same in every request.

    Raises:
        RunOptionError: The format has no such setting.
    """
    budget = settings.thinking_budget(where)
    if settings.seed is not None:
        raise RunOptionError(
            where, "the Messages API has no seed", fix="Leave the seed out for this model"
        )
    if budget and settings.temperature not in (None, 1):
        raise RunOptionError(
            where,
            f"it cannot think (reasoning effort {settings.reasoning_effort!r}) at a temperature "
            f"of {settings.temperature:g}",
            fix="Leave out one of the two",
        )
    fields: dict[str, object] = {
        "model": model_id,
        "stream": True,
        "max_tokens": (settings.max_tokens or MAX_TOKENS) + budget,
    }
    if budget:
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif settings.temperature is not None:
        fields["temperature"] = settings.temperature
    return fields


def _body(fields: Mapping[str, object], tools: Sequence[ToolSchema], draft: _MessagesDraft) -> str:
    """Return the request: fixed fields, tools, system prompt, and the conversation."""
    if tools:
        fields = {**fields, "tools": [_tool(tool) for tool in tools]}
    if draft.system:
        cached = {"type": "text", "text": draft.system, "cache_control": {"type": "ephemeral"}}
        fields = {**fields, "system": [cached]}
    return f'{json.dumps(fields)[:-1]}, "messages": [{draft.text()}]}}'


def _tool(tool: ToolSchema) -> dict[str, object]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


class _MessagesDraft:
    """Messages as the format wants them: user and assistant in turn, each a list of blocks."""

    def __init__(self) -> None:
        self.seen: list[Message] = []
        self._system: list[str] = []
        self._closed: list[str] = []
        self._role = "user"
        self._blocks: list[str] = []
        self._open_calls: list[str] = []

    @property
    def system(self) -> str:
        """The system prompt, which is no message here."""
        return "\n\n".join(self._system)

    def add(self, message: Message) -> None:
        """Write down a message. Messages of one role in a row, as answers are, become one."""
        if message.role == "system":
            self._system += [message.text] if message.text.strip() else []
        elif message.role == "assistant":
            self._append("user", self._closing())
            self._append("assistant", _said(message))
            self._open_calls = [made.id for made in message.tool_calls or ()]
        elif message.role == "tool":
            call_id = message.tool_call_id or ""
            if call_id in self._open_calls:
                self._open_calls.remove(call_id)
            self._append("user", [_answer(call_id, list(_blocks(message)))])
        else:
            self._append("user", self._closing())
            self._open_calls = []
            self._append("user", [json.dumps(block) for block in _blocks(message)])

    def _append(self, role: str, blocks: list[str]) -> None:
        if not blocks:
            return
        if role != self._role:
            # The first message keeps its mark: it is the same in every turn, byte for byte, and is
            # read from the cache though the mark at the end moves on.
            done = self._blocks if self._closed else _marked(self._blocks)
            self._closed += self._turn(done)
            self._role, self._blocks = role, []
        self._blocks += blocks

    def _turn(self, blocks: list[str]) -> list[str]:
        content = ", ".join(blocks)
        return [f'{{"role": "{self._role}", "content": [{content}]}}'] if blocks else []

    def text(self) -> str:
        """Return the messages, what is still open closed, the last block a mark for the cache.

        With the mark the provider reads the conversation so far at a tenth of the price next turn.
        """
        closing = self._closing()
        if self._role == "assistant" and closing:
            content = ", ".join(closing)
            last = f'{{"role": "user", "content": [{content}]}}'
            return ", ".join([*self._closed, *self._turn(self._blocks), last])
        blocks = [*self._blocks, *closing]
        if self._role == "user":
            blocks = _marked(blocks)
        return ", ".join([*self._closed, *self._turn(blocks)])

    def _closing(self) -> list[str]:
        block = {"type": "text", "text": NOT_CARRIED_OUT}
        return [_answer(call_id, [block]) for call_id in self._open_calls]


def _marked(blocks: Sequence[str]) -> list[str]:
    """Return the blocks with a mark for the cache on the last one."""
    return [*blocks[:-1], *(last[:-1] + _CACHE_UP_TO_HERE for last in blocks[-1:])]


def _said(message: Message) -> list[str]:
    """Return an assistant message's blocks: thoughts first and unchanged, then text, then calls."""
    blocks: list[dict[str, Any]] = list(message.thinking_blocks or ())
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    elif not message.tool_calls:
        return []  # empty text and thoughts alone are refused
    blocks += [_used(made) for made in message.tool_calls or ()]
    return [json.dumps(block) for block in blocks]


def _used(made: ToolCall) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": made.id,
        "name": usable_name(made.function.name),
        "input": usable_arguments(made.function.arguments),
    }


def _blocks(message: Message) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a user's or tool's message. Empty text is refused by the format."""
    if isinstance(message.content, str) and message.content.strip():
        yield {"type": "text", "text": message.content}
    elif isinstance(message.content, list):
        yield from (_block(part) for part in message.content if part.get("text") != "")
    elif message.role != "tool":
        yield {"type": "text", "text": "(empty message)"}


def _block(part: JsonObject) -> dict[str, Any]:
    """Return a part of a message in this format; images are data URLs in ours."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str):
        return dict(part)
    found = _DATA_URL.fullmatch(url)
    source = (
        {"type": "base64", "media_type": found["media"], "data": found["data"]}
        if found
        else {"type": "url", "url": url}
    )
    return {"type": "image", "source": source}


def _answer(call_id: str, blocks: list[dict[str, Any]]) -> str:
    answer: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id}
    return json.dumps({**answer, "content": blocks} if blocks else answer)


class _MessagesAssembly:
    """A reply, from its events or from one object."""

    def __init__(self, turn: int) -> None:
        self.begun = self.complete = False
        self._turn = turn
        self._blocks: dict[int, dict[str, Any]] = {}
        self._stop_reason: str | None = None
        self._usage: dict[str, Any] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in an event."""
        match event.get("type"):
            case "message_start":
                self._usage.update(event["message"].get("usage") or {})
                self.begun = True
            case "content_block_start":
                self._blocks[event["index"]] = _begun(event["content_block"])
            case "content_block_delta":
                self._add_delta(self._blocks[event["index"]], event["delta"])
            case "message_delta":
                self._stop_reason = event["delta"].get("stop_reason") or self._stop_reason
                self._usage.update(_told(event.get("usage")))
            case "message_stop":
                self.complete = self.begun
            case _:
                pass  # ping, and what is yet to be invented

    def _add_delta(self, block: dict[str, Any], delta: Mapping[str, Any]) -> None:
        """Add to a block; the kinds of text it grows by."""
        for field, target in (
            ("text", "text"),
            ("thinking", "thinking"),
            ("signature", "signature"),
            ("partial_json", "json"),
        ):
            if field in delta:
                block[target] = block.get(target, "") + delta[field]

    def add_whole(self, body: Mapping[str, Any]) -> None:
        """Take in the reply of a server that does not stream."""
        self._blocks = {n: _begun(block) for n, block in enumerate(body["content"])}
        self._stop_reason = body.get("stop_reason")
        self._usage.update(_told(body.get("usage")))
        self.begun = self.complete = True

    def reply(self, *, is_cut: bool = False) -> ModelReply:
        """Return the reply; cut off, it is what arrived, without calls or unsigned thoughts."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = () if is_cut else self._tool_calls([b for b in blocks if b["type"] == "tool_use"])
        text = "".join(b["text"] for b in blocks if b["type"] == "text")
        thoughts = [b for b in blocks if b["type"] in ("thinking", "redacted_thinking")]
        kept = [_bare(b) for b in thoughts if b.get("signature") or b.get("data")]
        finish = FINISH_REASONS.get(self._stop_reason or "end_turn", self._stop_reason or "stop")
        read, written = (self._count(f"cache_{kind}_input_tokens") for kind in ("read", "creation"))
        return ModelReply(
            Message(
                content=text or (None if calls else ""),
                tool_calls=calls or None,
                reasoning_content="".join(b.get("thinking") or "" for b in thoughts) or None,
                thinking_blocks=kept or None,
            ),
            finish_reason="time_limit" if is_cut else finish,
            input_tokens=(self._count("input_tokens") or 0) + (read or 0) + (written or 0),
            output_tokens=self._count("output_tokens") or 0,
            cache_read_tokens=read,
            cache_write_tokens=written,
        )

    def _tool_calls(self, blocks: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
        ids = usable_ids([block.get("id") or "" for block in blocks], self._turn)
        return tuple(map(_call, ids, blocks))

    def _count(self, name: str) -> int | None:
        return token_count(self._usage.get(name))


def _told(usage: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the counts that are given: later events repeat some and leave others null."""
    return {name: count for name, count in (usage or {}).items() if count is not None}


def _begun(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block to which deltas are added; `json` gathers the input of a call."""
    if not isinstance(block["type"], str) or not isinstance(block.get("text", ""), str):
        raise TypeError(block["type"])
    return {"json": "", **block}


def _bare(block: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "json"}


def _call(call_id: str, block: Mapping[str, Any]) -> ToolCall:
    """Return a call; its input came in pieces of JSON, or whole in the block's first event."""
    whole = block.get("input")
    arguments = block["json"] or (whole if isinstance(whole, str) else json.dumps(whole or {}))
    return ToolCall(id=call_id, function=Function(name=block["name"], arguments=arguments))

"""Cassettes: a model's replies on file, so that a run replays offline and free of charge.

One readable JSON file per task and epoch. An entry is one model turn: what was added to the
conversation since the turn before, and the reply. What differs from machine to machine (paths,
seconds left) is normalised, so that a recording made elsewhere fits; secrets never get in.
"""

from __future__ import annotations

import bisect
import difflib
import json
import math
import os
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pytest_chalk.authoring.ports import ModelReply
from pytest_chalk.errors import CassetteMissError
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.secret_text import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_chalk.authoring.ports import Model, ModelRequest

STUDENT = "student"
"""The border between a run and its own model."""

CassetteMode = Literal["replay", "record", "auto"]
VERSION = 1
_VARYING = (
    (re.compile(r"Time remaining: \d+ seconds"), "Time remaining: {SECONDS} seconds"),
    (re.compile(r"DATA-[0-9a-f]{32}"), "DATA-{NONCE}"),  # what a rubric's judge fences with
)


@dataclass
class Cassette:
    """One file. `record` writes it anew, `replay` only reads it, `auto` does what is possible.

    Attributes:
        path: The file.
        paths: Directories that differ from run to run, each with the name to write instead.
        secrets: Texts that must never be written, each with what to write instead.
        write_every_s: How long what was added may wait to be written, for the file is written as a
            whole. Whoever lets it wait calls `flush` in the end.
    """

    path: Path
    mode: CassetteMode
    paths: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    write_every_s: float = 0.0

    def __post_init__(self) -> None:
        exists = self.path.is_file()
        if self.mode == "replay" and not exists:
            raise CassetteMissError(self.path, "there is no such recording")
        self.replays = self.mode == "replay" or (self.mode == "auto" and exists)
        self._keep(self._read() if self._is_loaded(exists=exists) else [])
        self._adding = threading.Lock()
        self._written_s, self._is_written = -math.inf, True

    def wrap(self, model: Model, border: str = STUDENT) -> Model:
        """Return a model that answers from this cassette, or asks `model` and records."""
        return _CassetteModel(self, model, border)

    def plays(self, border: str) -> bool:  # noqa: ARG002 - some tell borders apart
        """Tell whether a conversation is played back; else it is had, and recorded."""
        return self.replays

    def find(self, border: str, turn: int) -> dict[str, Any] | None:
        """Return the entry of a turn, counted from 0 within its border."""
        entries = self._by_border.get(border, ())
        return entries[turn] if turn < len(entries) else None

    def conversation(self, border: str, turn: int) -> list[Any]:
        """Return all messages that the recorded request of that turn held."""
        entries = self._by_border.get(border, [])
        return [message for entry in entries[: turn + 1] for message in entry["added"]]

    def add(self, entry: dict[str, Any]) -> None:
        """Record a turn; the file is whole at all times. Several threads ask at once."""
        with self._adding:
            # The student's turns, then the judges' by step and criterion: the same file each time,
            # whichever reply was the first.
            self._insert(self.normalised(entry))
            self._is_written = False
            if time.monotonic() - self._written_s >= self.write_every_s:
                self._write()

    def _is_loaded(self, *, exists: bool) -> bool:  # noqa: ARG002 - some read what they add to
        return self.replays

    def _keep(self, entries: list[dict[str, Any]]) -> None:
        self._entries = entries
        self._by_border: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            self._by_border.setdefault(entry["border"], []).append(entry)

    def _insert(self, entry: dict[str, Any]) -> None:
        bisect.insort(self._entries, entry, key=place_of)
        bisect.insort(self._by_border.setdefault(entry["border"], []), entry, key=place_of)

    def flush(self) -> None:
        """Write what was added and not written yet."""
        with self._adding:
            if not self._is_written:
                self._write()

    def _write(self) -> None:
        text = json.dumps({"version": VERSION, "turns": self._entries}, indent=1)
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(text + "\n", encoding="utf-8")
        fresh.replace(self.path)
        # After it: what takes long to write is written seldom.
        self._written_s, self._is_written = time.monotonic(), True

    def normalised(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return a value without secrets and without what varies."""
        return _mapped(value, self._normalised_text)

    def restored(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return a recorded value with this run's paths in it."""
        return _mapped(value, self._restored_text)

    def _normalised_text(self, text: str) -> str:
        text = without_secrets(text, self.secrets)
        for path, name in self.paths.items():
            text = text.replace(path, name)
        for pattern, instead in _VARYING:
            text = pattern.sub(instead, text)
        return text

    def _restored_text(self, text: str) -> str:
        for path, name in self.paths.items():
            text = text.replace(name, path)
        return text

    def _read(self) -> list[dict[str, Any]]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            turns: list[dict[str, Any]] = found["turns"]
        except (ValueError, KeyError, TypeError) as error:
            problem = f"the recording cannot be read: {error}"
            raise CassetteMissError(self.path, problem) from None
        if found.get("version") != VERSION:
            problem = f"the recording has version {found.get('version')!r}, not {VERSION}"
            raise CassetteMissError(self.path, problem)
        return turns


class _CassetteModel:
    """Stands where a model stands."""

    def __init__(self, cassette: Cassette, model: Model, border: str) -> None:
        self.name = model.name
        # Not more than the recorded model: on replay its commands run again.
        self.trusted = bool(getattr(model, "trusted", False))
        self._cassette, self._model, self._border = cassette, model, border
        self._plays = cassette.plays(border)
        self._turn = 0
        self._told = 0

    def reply(self, request: ModelRequest) -> ModelReply:
        """Return the recorded reply, or ask the model and record its reply.

        Raises:
            CassetteMissError: The request is not the recorded one; the message shows the
                difference.
        """
        cassette, turn = self._cassette, self._turn
        self._turn += 1
        added = _as_json(request.messages[self._told :])
        self._told = len(request.messages)
        if self._plays:
            return self._replay(turn, request)
        reply = self._model.reply(request)
        cassette.add(
            {
                "border": self._border,
                "step": request.step,
                "turn": turn,
                "tools": [tool.name for tool in request.tools],
                "added": added,
                "reply": {
                    "message": reply.message.model_dump(mode="json", exclude_defaults=True),
                    "finish_reason": reply.finish_reason,
                    "input_tokens": reply.input_tokens,
                    "output_tokens": reply.output_tokens,
                    **_cache_tokens(reply),
                },
            }
        )
        return reply

    def _replay(self, turn: int, request: ModelRequest) -> ModelReply:
        cassette = self._cassette
        entry = cassette.find(self._border, turn)
        at = f"step {request.step + 1}, turn {turn + 1}"
        if entry is None:
            raise CassetteMissError(cassette.path, f"{at}: it has no turn {turn + 1}")
        if entry.get("step", request.step) != request.step:
            problem = f"{at}: in the recording this turn belongs to step {entry['step'] + 1}"
            raise CassetteMissError(cassette.path, problem)
        wanted = cassette.normalised(_as_json(request.messages))
        recorded = cassette.conversation(self._border, turn)
        if wanted != recorded:
            raise CassetteMissError(cassette.path, f"{at}:\n{_diff(recorded, wanted)}")
        reply = cassette.restored(entry["reply"])
        return ModelReply(
            Message.model_validate(reply["message"]),
            reply["finish_reason"],
            reply["input_tokens"],
            reply["output_tokens"],
            reply.get("cache_read_tokens"),
            reply.get("cache_write_tokens"),
        )


def _cache_tokens(reply: ModelReply) -> dict[str, int]:
    """Return what went through the provider's cache, where it said so."""
    counts = {
        "cache_read_tokens": reply.cache_read_tokens,
        "cache_write_tokens": reply.cache_write_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def place_of(entry: Mapping[str, Any]) -> tuple[bool, list[int], str, int]:
    """Return where a turn stands in the file: the numbers in its border count as numbers."""
    border = str(entry["border"])
    numbers = [int(number) for number in re.findall(r"\d+", border)]
    return border != STUDENT, numbers, border, int(entry["turn"])


def _as_json(messages: Sequence[Message]) -> list[Any]:
    return [message.model_dump(mode="json", exclude_defaults=True) for message in messages]


def _mapped(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [_mapped(member, change) for member in value]
    return value


def _diff(recorded: list[Any], wanted: list[Any]) -> str:
    """Return a unified diff of two requests, message by message."""
    before, now = (json.dumps(side, indent=1).splitlines() for side in (recorded, wanted))
    return "\n".join(difflib.unified_diff(before, now, "recorded", "asked now", lineterm="", n=2))

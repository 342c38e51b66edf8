"""A transcript that grows: how far its run is, from what came since the last look."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_chalk.schemas.progress import RunProgress
from pytest_chalk.schemas.record import sum_usd

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_READ_BYTES = 4_194_304
"""At one look. Turns are slow, and what a student printed meanwhile is of no interest here."""

_TELLING = (b'"step_started"', b'"assistant"', b'"token_usage"', b'"judge_usage"')


class TranscriptTail:
    """Reads each line of a transcript once."""

    def __init__(self, path: Path, nodeid: str) -> None:
        self._path = path
        self._read_bytes = 0
        self._progress = RunProgress(nodeid, 0.0)

    def progress(self, elapsed_s: float) -> RunProgress:
        """Return how far the run is by now."""
        for line in self._new_lines():
            if any(word in line for word in _TELLING):
                self._take(line)
        return replace(self._progress, elapsed_s=elapsed_s)

    def _new_lines(self) -> list[bytes]:
        try:
            with self._path.open("rb") as opened:
                opened.seek(self._read_bytes)
                text = opened.read(MAX_READ_BYTES)
        except OSError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        # A line longer than all that is read at once is a tool's output: its rest is skipped too.
        self._read_bytes += len(whole or (text if len(text) == MAX_READ_BYTES else b""))
        return whole.split(b"\n")

    def _take(self, line: bytes) -> None:
        try:
            event: Mapping[str, Any] = json.loads(line)
            self._progress = _after(self._progress, event)
        except (ValueError, LookupError, TypeError):  # the rest of a line, or no event of ours
            return


def _after(progress: RunProgress, event: Mapping[str, Any]) -> RunProgress:
    match event["type"]:
        case "step_started":
            return replace(progress, step=event["step"] + 1, of=event["of"] or 0)
        case "message_added" if event["message"]["role"] == "assistant":
            return replace(progress, turns=progress.turns + 1)
        case "token_usage" | "judge_usage":
            tokens = event["input_tokens"] + event["output_tokens"]
            usd = sum_usd([progress.usd, event["usd"]])
            return replace(progress, tokens=progress.tokens + tokens, usd=usd)
        case _:
            return progress

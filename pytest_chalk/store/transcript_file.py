"""A run's transcript on disk: one event a line, each written as it happens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError
from pytest_chalk.reports.clean import encodable
from pytest_chalk.schemas.transcript import EVENT_ADAPTER, SCHEMA_VERSION, Event, Transcript

if TYPE_CHECKING:
    from io import BufferedWriter


class TranscriptFile:
    """Takes events and appends them to the file, and keeps them for the judge.

    The first line is `{"schema_version": 1, "run_id": ...}`. Each line is in the kernel's hands
    when `add` returns, so a killed process loses none.
    """

    def __init__(self, path: Path, run_id: str) -> None:
        self.path = path
        self._run_id = run_id
        self._events: list[Event] = []
        try:
            self._file: BufferedWriter = path.open("wb")
        except OSError as error:
            raise self._failed(error) from error
        self._write(json.dumps({"schema_version": SCHEMA_VERSION, "run_id": run_id}).encode())

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event so far."""
        return tuple(self._events)

    def transcript(self) -> Transcript:
        """Return the transcript so far."""
        return Transcript.model_construct(
            schema_version=SCHEMA_VERSION, run_id=self._run_id, events=tuple(self._events)
        )

    def add(self, event: Event) -> None:
        """Append an event.

        Raises:
            MachineError: The disk is full or gone.
        """
        try:
            line = event.model_dump_json().encode()
        except (ValueError, UnicodeError):
            # A lone surrogate (bytes that were no UTF-8) has no JSON: keep it as an escape.
            event = _encodable_event(event)
            line = event.model_dump_json().encode()
        self._events.append(event)
        self._write(line)

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: bytes) -> None:
        try:
            self._file.write(line + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> MachineError:
        return MachineError(f"transcript {str(self.path)!r} cannot be written: {error}")


def read_transcript(path: Path) -> Transcript:
    """Return a transcript from its file; a torn last line is left out.

    Raises:
        ValueError: The file is no transcript, or of a newer schema.
    """
    lines = path.read_bytes().splitlines(keepends=True)
    head = json.loads(lines[0]) if lines else {}
    if head.get("schema_version") != SCHEMA_VERSION:
        message = (
            f"{path}: schema version {head.get('schema_version')!r}, this release reads "
            f"{SCHEMA_VERSION}"
        )
        raise ValueError(message)
    whole = [line for line in lines[1:] if line.endswith(b"\n")]
    events = tuple(EVENT_ADAPTER.validate_json(line) for line in whole)
    return Transcript(run_id=head["run_id"], events=events)


def _encodable_event(event: Event) -> Event:
    return EVENT_ADAPTER.validate_python(_encodable(event.model_dump(mode="python")))


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(member) for member in value]
    return value

"""A run's transcript on disk: one event a line, each written as it happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_chalk.schemas.transcript import EVENT_ADAPTER, SCHEMA_VERSION, Transcript
from pytest_chalk.store.line_file import LineFile, whole_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_chalk.schemas.transcript import Event


class TranscriptFile:
    """Takes events and appends them to the file, and keeps them for the judge.

    The first line is `{"schema_version": 1, "run_id": ...}`. Each line is in the kernel's hands
    when `add` returns, so a killed process loses none.
    """

    def __init__(self, path: Path, run_id: str) -> None:
        self.path = path
        self._run_id = run_id
        self._events: list[Event] = []
        self._file = LineFile(path, "transcript", fresh=True)
        head = {"schema_version": SCHEMA_VERSION, "run_id": run_id}
        self._file.append(json.dumps(head).encode())

    @property
    def events(self) -> Sequence[Event]:
        """Every event so far; grows with the run."""
        return self._events

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
        line = event.json_bytes()
        self._events.append(event)
        self._file.append(line)

    def sync(self) -> None:
        """Make what was written survive a power cut.

        Raises:
            MachineError: The disk refuses.
        """
        self._file.sync()

    def close(self) -> None:
        """Close the file; calling it again does nothing."""
        self._file.close()


def read_transcript(path: Path) -> Transcript:
    """Return a transcript from its file; a torn last line is left out.

    Raises:
        ValueError: The file is no transcript, or of another schema version.
    """
    lines = whole_lines(path)
    head = json.loads(lines[0]) if lines else None
    version = head.get("schema_version") if isinstance(head, dict) else None
    if not isinstance(head, dict) or version != SCHEMA_VERSION:
        message = f"{path}: schema version {version!r}, this release reads {SCHEMA_VERSION}"
        raise ValueError(message)
    events = tuple(EVENT_ADAPTER.validate_json(line) for line in lines[1:])
    return Transcript(run_id=head.get("run_id", ""), events=events)

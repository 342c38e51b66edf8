"""What the fixtures `chalk_student` and `chalk_submissions` give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_chalk.sandbox import Box


@dataclass(frozen=True)
class StudentSeat:
    """Where the student of this process sits.

    Attributes:
        slot: Number of the slot, unique on this host while the process lives.
        uid: The UID of the student's processes and files.
        workdir: Its working directory, empty when a run begins.
        box: Launches and kills its processes.
    """

    slot: int
    uid: int
    workdir: Path
    box: Box


@dataclass(frozen=True)
class Submissions:
    """How a run's submissions are kept.

    Attributes:
        directory: Where saved submissions go.
        save_submission_kwargs: Limits for `save_submission`, for example `max_total_bytes`.
    """

    directory: Path
    save_submission_kwargs: Mapping[str, Any] = field(default_factory=dict)

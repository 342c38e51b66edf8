"""The student's place: taken early, and what the fixtures for it give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pytest_chalk.plugin.options import find_given
from pytest_chalk.sandbox.isolation import SATISFIES, ask
from pytest_chalk.sandbox.slots import claim_on_use

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from pytest_chalk.sandbox import Box
    from pytest_chalk.sandbox.isolation import Asked


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


def claim_slot(early_config: pytest.Config) -> None:
    """Let the first look at the student's paths take a slot of the level that was asked for.

    Before the options are checked: what is no level is refused later, where all options are.
    """
    given = find_given(early_config, "isolation", early_config.known_args_namespace)
    if given is None or given.text in SATISFIES:
        asked = ("auto", "default") if given is None else (given.text, given.source)
        ask(cast("Asked", asked[0]), asked[1])
    claim_on_use()

"""The models that judges ask in a session: chosen, the run's own, or recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.errors import CassetteMissError, RunOptionError
from pytest_chalk.models.cassette import STUDENT
from pytest_chalk.plugin.budget import metered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_chalk.authoring.ports import Model, ModelReply, ModelRequest
    from pytest_chalk.plugin.cassettes import Recordings
    from pytest_chalk.plugin.state import ChalkState


def wrap_student(state: ChalkState, recordings: Recordings) -> Callable[[Model], Model]:
    """Return what stands before a run's model: what it pays from, and before that its recording."""

    def wrap(model: Model) -> Model:
        if not recordings.replays:
            model = metered(model, state.settings, state.purse)
        recorded = recordings.replays or recordings.records
        return recordings.wrap(model, STUDENT) if recorded else model

    return wrap


class RecordedModel:
    """Stands for a model that is not there: only its recording is."""

    name, trusted = "recorded", True

    def __init__(self, file: Path) -> None:
        self._file = file

    def reply(self, request: ModelRequest) -> ModelReply:  # noqa: ARG002 - nobody is asked
        """Raise, for the recording has nothing for this."""
        raise CassetteMissError(self._file, "there is no model to ask instead")


class SessionJudgeModels:
    """See `JudgeModels`; one for each run."""

    def __init__(
        self, state: ChalkState, recordings: Recordings, run_model: Model | None = None
    ) -> None:
        self._state, self._recordings, self._run_model = state, recordings, run_model

    def find(self, wanted: Model | str | None) -> Model:
        """Return the model to ask: see `JudgeModels.find`.

        Raises:
            RunOptionError: There is none, or it may not be asked.
        """
        chosen = wanted or self._state.settings.judge.name or self._run_model_that_grades()
        if isinstance(chosen, str):
            return self._state.judge(chosen)
        if chosen is not None:
            return chosen
        recording = self._recordings.judges_file
        if recording is not None and self._may_play():
            return RecordedModel(recording)
        raise RunOptionError(
            "RubricJudge",
            "there is no model that could grade",
            fix="Name one with --chalk-judge-model or RubricJudge(model=...)",
        )

    def converse(self, model: Model, label: str) -> Model:
        """Return the model as it is asked in one conversation, recorded or played.

        Raises:
            CassetteMissError: There is no recording to play.
            RunOptionError: Money is bounded and its price is unknown.
        """
        if isinstance(model, RecordedModel) or self._recordings.replays:
            return self._recordings.play_judge(model, label)
        priced = metered(model, self._state.settings, self._state.purse)
        return self._recordings.wrap(priced, label) if self._recordings.records else priced

    def _run_model_that_grades(self) -> Model | None:
        model = self._run_model
        return None if model is None or model.trusted else model

    def _may_play(self) -> bool:
        """Tell whether a recording may answer: unless recordings were switched off by name."""
        settings = self._state.settings
        return settings.cassette in {"replay", "auto"} or not settings.cassette_is_given

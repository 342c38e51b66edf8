"""The models that scorers ask: found, recorded or replayed, and paid."""

from __future__ import annotations

import os
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from pytest_chalk.discovery.settings import find_root, read_ini
from pytest_chalk.errors import MachineError, RunOptionError
from pytest_chalk.schemas.secret_text import secrets_of
from pytest_chalk.scorers.llm import given_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.models.cassette import CassetteMode
    from pytest_chalk.models.scorer_cassette import ScorerCassette
    from pytest_chalk.schemas.spending import Spent

WRITE_EVERY_S = 1.0
"""Of recordings, which are written as a whole. A killed process loses what it was told since."""

CASSETTE_MODES = ("off", "replay", "record", "auto")
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")


@dataclass
class ScorerModels:
    """What stands between scorers and the models they name.

    Attributes:
        find: Returns the model of a name, or raises RunOptionError.
        pay: Returns a model that pays for what it is asked.
        cassette_dir: Where recordings are: one for each scorer of an evaluation.
    """

    find: Callable[[str], Model]
    pay: Callable[[Model], Model]
    cassette: CassetteMode | Literal["off"]
    cassette_dir: Path
    _cassettes: dict[Path, ScorerCassette] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def conversations(self, wanted: str, asker: str) -> Callable[[str], Model]:
        """Return what gives the model for one conversation by its label.

        Rows of equal content have the same label: the second one's is numbered, and so on, anew
        with each call of this.

        Args:
            wanted: The model's name.
            asker: The scorer and its evaluation, for the recording's name.

        Raises:
            RunOptionError: There is no such model, or it may not be asked.
            CassetteMissError: There is no recording to play.
        """
        model = given_model(wanted) or self.find(wanted)
        if self.cassette == "off":
            paid = self.pay(model)
            return lambda _: paid
        cassette = self._cassette(f"{asker}-{model.name}")
        asked = model if self.cassette == "replay" else self.pay(model)
        return _Labels(cassette, asked).converse

    def flush(self) -> None:
        """Write recordings that are not written yet.

        Raises:
            MachineError: The disk refuses.
        """
        with self._lock:
            cassettes = tuple(self._cassettes.values())
        try:
            for cassette in cassettes:
                cassette.flush()
        except OSError as error:
            message = f"recordings in {str(self.cassette_dir)!r} cannot be written: {error}. "
            raise MachineError(message + "Free the disk, or set chalk_cassette_dir.") from error

    def _cassette(self, name: str) -> ScorerCassette:
        from pytest_chalk.models.scorer_cassette import ScorerCassette  # noqa: PLC0415 - pydantic
        from pytest_chalk.store.session_directory import file_name  # noqa: PLC0415 - as above

        path = self.cassette_dir / f"{file_name(name)}.json"
        with self._lock:  # runs are advanced by a thread each
            if path not in self._cassettes:
                # One for the process, for each would write the whole file.
                mode = cast("CassetteMode", self.cassette)
                self._cassettes[path] = ScorerCassette(
                    path, mode, secrets=secrets_of(os.environ), write_every_s=WRITE_EVERY_S
                )
            return self._cassettes[path]


class _Labels:
    """Numbers the repeats of a label. Threads share it."""

    def __init__(self, cassette: ScorerCassette, model: Model) -> None:
        self._cassette, self._model = cassette, model
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def converse(self, label: str) -> Model:
        with self._lock:
            self._seen[label] += 1
            number = self._seen[label]
        return self._cassette.wrap(self._model, label if number == 1 else f"{label} #{number}")


_CHOSEN: list[ScorerModels] = []
_LENDERS: list[Callable[[], ScorerModels]] = []
_CHOICE = threading.RLock()


def use_scorer_models(models: ScorerModels | None) -> None:
    """Ask through `models` from now on in this process; None for what the project says."""
    with _CHOICE:
        _CHOSEN[:] = [] if models is None else [models]
        _LENDERS.clear()


def lend_scorer_models(lend: Callable[[], ScorerModels]) -> None:
    """Have `lend` called when the first scorer of this process is to ask a model."""
    with _CHOICE:
        _CHOSEN.clear()
        _LENDERS[:] = [lend]


def flush_recordings() -> None:
    """Write what scorers were told and what is not written yet.

    Raises:
        MachineError: The disk refuses.
    """
    with _CHOICE:
        chosen = tuple(_CHOSEN)
    for models in chosen:
        models.flush()


def scorer_models() -> ScorerModels:
    """Return the chosen ones, else those that are lent, or that environment and ini file say.

    Raises:
        RunOptionError: A setting cannot be used.
    """
    with _CHOICE:
        if not _CHOSEN:
            _CHOSEN.append(_LENDERS[0]() if _LENDERS else _projects_models())
        return _CHOSEN[0]


def _projects_models() -> ScorerModels:
    root = find_root(Path.cwd())
    mode = _said(root, "chalk_cassette").lower() or "off"
    if mode not in CASSETTE_MODES:
        fix = f"Give {' or '.join(CASSETTE_MODES)}"
        raise RunOptionError("chalk_cassette", f"{mode!r} cannot be used", fix=fix)
    allows = _said(root, "chalk_allow_paid").lower()
    if allows not in (*_TRUE, *_FALSE):
        fix = "Give true or false"
        raise RunOptionError("chalk_allow_paid", f"{allows!r} cannot be used", fix=fix)
    directory = _said(root, "chalk_cassette_dir") or "cassettes"
    return ScorerModels(
        find=lambda name: _find(name, asks=mode != "replay", allows_paid=allows in _TRUE),
        pay=_priced,
        cassette=cast("CassetteMode", mode),
        cassette_dir=root / directory,
    )


def _said(root: Path, key: str) -> str:
    return str(os.environ.get(key.upper()) or read_ini(root).get(key) or "").strip()


def _find(name: str, *, asks: bool, allows_paid: bool) -> Model:
    from pytest_chalk.models.registry import (  # noqa: PLC0415 - speaks HTTP
        accepted_names,
        is_paid,
        make_model,
    )

    where = f"scorers.llm(model={name!r})"
    model = make_model(name)
    if model is None:
        fix = f"Use {' or '.join(accepted_names())}, or give the model itself where the run goes on"
        raise RunOptionError(where, "this process knows no such model", fix=fix)
    if asks and is_paid(name) and not allows_paid:
        fix = "Set CHALK_ALLOW_PAID=true, or chalk_allow_paid = true in the ini file"
        raise RunOptionError(where, "it costs money", fix=fix)
    if asks:
        model.check_access()
    return model


def _priced(model: Model) -> Model:
    from pytest_chalk.models.metered import MeteredModel  # noqa: PLC0415 - needs pydantic
    from pytest_chalk.models.registry import list_price  # noqa: PLC0415 - speaks HTTP

    return MeteredModel(model, list_price(model.name), _Unbounded())


class _Unbounded:
    """A purse without a bound, outside of a session."""

    def check(self) -> None:
        """Let anything be asked."""

    def pay(self, spent: Spent) -> None:
        """Pay."""

"""The session's budget: what its models may use together, and what they have used so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.errors import BudgetSpent, MachineError, RunOptionError
from pytest_chalk.store.spending import SpendingFile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.authoring.ports import Model
    from pytest_chalk.models.pricing import Price
    from pytest_chalk.plugin.settings import SessionSettings
    from pytest_chalk.runner.students import Student
    from pytest_chalk.schemas.spending import Budget, Spent
    from pytest_chalk.store.session_directory import SessionDirectory


class SessionPurse:
    """Pays for turns, one for all processes of the session, and for those that resume it."""

    def __init__(self, budget: Budget, directory: SessionDirectory) -> None:
        self.budget = budget
        self._directory = directory
        self._file: SpendingFile | None = None

    def why_spent(self) -> str:
        """Return which bound was reached, in a sentence; else ""."""
        return self.budget.why_spent(self.total()) if self.budget.is_bound else ""

    def check(self) -> None:
        """Raise BudgetSpent if nothing more may be asked."""
        why = self.why_spent()
        if why:
            raise BudgetSpent(why)

    def pay(self, spent: Spent) -> None:
        """Take away what a turn used; also without a bound, for one may come on resuming.

        Raises:
            MachineError: It cannot be written down, and there is a bound that depends on it.
        """
        try:
            self._opened().add(spent)
        except MachineError:
            if self.budget.is_bound:
                raise  # elsewhere nobody asked for the sum: a file system may have no locks

    def total(self) -> Spent:
        """Return what the session has spent."""
        return self._opened().total()

    def _opened(self) -> SpendingFile:
        if self._file is None:
            self._file = SpendingFile(self._directory.spending_path())
        return self._file


def metered(model: Model, settings: SessionSettings, purse: SessionPurse) -> Model:
    """Return a model that pays for its turns; a trusted one does not think and is free.

    Raises:
        RunOptionError: Money is bounded and its price is unknown.
    """
    if model.trusted:
        return model
    from pytest_chalk.models.metered import MeteredModel

    return MeteredModel(model, _checked_price(model, settings), purse)


def check_prices(students: Mapping[str, Student], settings: SessionSettings) -> None:
    """Raise RunOptionError if money is bounded and what a student costs is unknown."""
    if settings.cassette == "replay":
        return
    for student in students.values():
        if not isinstance(student, str):
            _checked_price(student, settings)


def _checked_price(model: Model, settings: SessionSettings) -> Price | None:
    price = _find_price(model, settings)
    if price is None and settings.budget.usd_limit is not None:
        example = f'{{"{model.name}": {{"input": 1.25, "output": 10}}}}'
        raise RunOptionError(
            "--chalk-usd-limit",
            f"no price is known for the model {model.name!r} where it is asked",
            fix="Give it in a JSON file named with --chalk-prices, in US dollars per million "
            f"tokens, for example {example}",
        )
    return price


def _find_price(model: Model, settings: SessionSettings) -> Price | None:
    from pytest_chalk.models.pricing import FREE
    from pytest_chalk.models.registry import list_price

    own = settings.prices.find(model.name) if settings.prices is not None else None
    if own is not None:
        return own
    return FREE if model.trusted else list_price(model.name, settings.model_settings)

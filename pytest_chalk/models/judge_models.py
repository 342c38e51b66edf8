"""The models that judges ask where no pytest session provides them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.errors import RunOptionError

if TYPE_CHECKING:
    from pytest_chalk.authoring.ports import Model


class PlainJudgeModels:
    """Models by name, and the run's own where it can grade. Nothing is recorded."""

    def __init__(
        self, run_model: Model | None = None, *, chosen: Model | str | None = None
    ) -> None:
        """Take what is asked where a judge names no model.

        Args:
            run_model: The model that works on the task; None where that is no model.
            chosen: Instead of it.
        """
        self._run_model, self._chosen = run_model, chosen

    def find(self, wanted: Model | str | None) -> Model:
        """Return a model: see `JudgeModels.find`."""
        found = wanted or self._chosen
        if isinstance(found, str):
            return self._named(found)
        return found if found is not None else self._run_model_that_grades()

    def converse(self, model: Model, label: str) -> Model:  # noqa: ARG002 - nothing is recorded
        """Return the model itself."""
        return model

    def _run_model_that_grades(self) -> Model:
        if self._run_model is not None and not self._run_model.trusted:
            return self._run_model
        raise RunOptionError(
            "RubricJudge",
            "there is no model that could grade",
            fix="Name one with --chalk-judge-model or RubricJudge(model=...)",
        )

    def _named(self, name: str) -> Model:
        from pytest_chalk.models.registry import (  # noqa: PLC0415 - speaks HTTP
            accepted_names,
            make_model,
        )

        model = make_model(name)
        if model is None:
            raise RunOptionError(
                "RubricJudge",
                f"the model {name!r} is unknown",
                fix=f"Use {' or '.join(accepted_names())}, or give a model itself",
            )
        model.check_access()
        return model

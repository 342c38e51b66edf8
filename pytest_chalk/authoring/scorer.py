"""What scorers are and return."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_chalk.schemas.evaluation import ScorerSpec
from pytest_chalk.schemas.metadata import checked_metadata
from pytest_chalk.schemas.plain import as_finite, parse_finite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_chalk.authoring.ports import Model


@dataclass(frozen=True)
class EvaluationScorerResult:
    """A score between 0 and 1, and what explains it.

    Attributes:
        metadata: A JSON mapping with names for keys, or None.
    """

    score: float
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _score_between_0_and_1(self.score))
        if self.metadata is not None:
            object.__setattr__(self, "metadata", checked_metadata(self.metadata))


@dataclass(frozen=True)
class Unscored:
    """Why a row got no score; unlike an exception it keeps what is known besides."""

    error: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class BuiltinScorer:
    """A scorer that comes with the package.

    Attributes:
        kind: The function of `scorers` that makes it.
        version: Raised when it scores something differently than before.
        params: Keywords of that function, besides name and inputs; JSON.
        score: Called with the values of `inputs` by position; where a model is asked, after what
            gives the model for one conversation by its label.
        model: The model that it asks, or the name of it; None where it asks none.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    params: Mapping[str, Any]
    score: Callable[..., EvaluationScorerResult | Unscored]
    version: int = 1
    model: Model | str | None = None

    def __call__(self, *values: object) -> EvaluationScorerResult | Unscored:
        """Score values given in the order of `inputs`.

        Raises:
            TypeError: It asks a model of which only the name is known, outside of a run.
        """
        if self.model is None:
            return self.score(*values)
        if isinstance(self.model, str):
            message = f"{self.name!r} asks {self.model!r}, which only an evaluation can: run one"
            raise TypeError(message)
        return self.score(lambda _: self.model, *values)

    @property
    def builtin_id(self) -> str:
        """What it is: kind, version, and a hash of inputs and parameters."""
        told = json.dumps([self.inputs, self.params], sort_keys=True)
        digest = hashlib.sha256(told.encode()).hexdigest()[:12]
        return f"{self.kind}@{self.version}-{digest}"

    def pin(self) -> ScorerSpec:
        """Return it as a definition keeps it."""
        params = {"kind": self.kind, **self.params}
        return ScorerSpec(self.name, "builtin", self.builtin_id, self.inputs, params=params)


@dataclass(frozen=True)
class SqlScorer:
    """One select item over the dataset's columns and `output`; a number for each row."""

    name: str
    expression: str

    def pin(self) -> ScorerSpec:
        """Return it as a definition keeps it."""
        return ScorerSpec(self.name, "sql", self.expression)


def _score_between_0_and_1(score: object) -> float:
    number = parse_finite(score) if isinstance(score, str) else as_finite(score)
    if number is None or not 0 <= number <= 1:
        message = f"a score is a number from 0 to 1, found {score!r:.100} ({type(score).__name__})"
        raise ValueError(message)
    return number


def checked_name(name: object) -> str:
    """Return a scorer's name.

    Raises:
        ValueError: It has no letter or digit, which column names need.
    """
    text = str(name).strip()
    if not any(character.isalnum() for character in text):
        message = f"a scorer's name has a letter or digit, found {name!r}"
        raise ValueError(message)
    return text


def checked_inputs(inputs: object, count: int) -> tuple[str, ...]:
    """Return the columns a scorer reads.

    Raises:
        TypeError: They are one text, or no sequence.
        ValueError: There are not `count`, one is empty, or one is named twice.
    """
    if isinstance(inputs, str) or not isinstance(inputs, (list, tuple)):
        message = f"inputs is a tuple of {count} column names, found {inputs!r}"
        raise TypeError(message)
    names = tuple(str(name).strip() for name in inputs)
    if len(names) != count or len(set(names)) != count or not all(names):
        message = f"inputs names {count} different column{'s' * (count > 1)}, found {inputs!r}"
        raise ValueError(message)
    return names


def as_text(value: object) -> str:
    """Return a column's value as text; a missing one is empty."""
    return "" if value is None else str(value)

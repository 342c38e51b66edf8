"""Pins a definition: dataset revision, task version and scorer versions, all checked."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.function import as_function
from pytest_chalk.authoring.scorer import BuiltinScorer, SqlScorer, checked_name
from pytest_chalk.evaluations.place import created_by
from pytest_chalk.evaluations.telemetry import check_installed
from pytest_chalk.schemas.evaluation import (
    OUTPUT,
    TRACE,
    DatasetRevisionRef,
    Definition,
    ScorerSpec,
)
from pytest_chalk.schemas.metadata import checked_metadata
from pytest_chalk.store.result_file import SCORER_FIELDS
from pytest_chalk.store.sql_expression import check_item
from pytest_chalk.store.stamps import new_id, now

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_chalk.evaluations.place import Place
    from pytest_chalk.schemas.evaluation import CodeRef, Revision


def checked_text(what: str, text: object) -> str:
    """Return a name without blanks around it.

    Raises:
        ValueError: Nothing is left.
    """
    stripped = text.strip() if isinstance(text, str) else ""
    if not stripped:
        message = f"{what} is a text that is not empty, found {text!r}"
        raise ValueError(message)
    return stripped


def as_revision_ref(dataset: object) -> DatasetRevisionRef:
    """Return what names a revision: a reference, or any object with its ids or its name.

    Raises:
        TypeError: It is none.
    """
    if isinstance(dataset, DatasetRevisionRef):
        return dataset
    names = ("dataset_id", "revision_id", "dataset_name")
    values = [getattr(dataset, name, None) for name in names]
    if not any(values):
        message = f"dataset is what DatasetClient().upload returned, found {dataset!r:.100}"
        raise TypeError(message)
    return DatasetRevisionRef(*values)


def define(  # noqa: PLR0913 - as `Evaluation.create`, which the seeds prescribe
    place: Place,
    name: str,
    *,
    dataset: object,
    task: object,
    scorers: object,
    metadata: object = None,
    suite_id: str | None = None,
) -> Definition:
    """Return a definition that is not stored yet.

    Raises:
        ValueError: A name is empty, no scorer is given, or a function takes what is no column.
        TypeError: The task or a scorer is none, or the metadata is no JSON mapping.
        EvaluationError: An SQL scorer cannot be used.
        EvaluationNotFoundError: There is no such revision.
    """
    name = checked_text("name", name)
    revision = place.store.datasets.get_revision(as_revision_ref(dataset))
    pinned_task = as_function(task, "task").pin()
    _check_inputs("task", pinned_task.required, revision.names)
    suite_id = "" if suite_id is None else checked_text("suite_id", suite_id)
    return Definition(
        id=new_id(),
        name=name,
        dataset=revision.ref,
        task=pinned_task,
        scorers=pin_scorers(place, revision, scorers),
        metadata={} if metadata is None else checked_metadata(metadata),
        suite_id=suite_id,
        created_by=created_by(),
        created_at=now(),
    )


def pin_scorers(place: Place, revision: Revision, scorers: object) -> tuple[ScorerSpec, ...]:
    """Return the scorers as a definition keeps them, checked against the dataset's columns.

    Raises:
        As `define`.
    """
    if not isinstance(scorers, (list, tuple)):
        message = f"scorers is a list of scorers, found {scorers!r:.100}"
        raise TypeError(message)
    if not scorers:
        message = "scorers is a list of at least one scorer, found an empty one"
        raise ValueError(message)
    pinned = tuple(_pin(scorer, number) for number, scorer in enumerate(scorers, 1))
    _check_columns(revision.names, pinned)
    for spec in pinned:
        if spec.kind == "sql":
            path = place.store.datasets.files.path(revision.digest)
            check_item(spec.name, spec.identity, path, revision.names)
        else:
            required = spec.code.required if spec.code else spec.inputs
            allowed = (*revision.names, OUTPUT, TRACE)
            _check_inputs(f"scorer {spec.name!r}", required, allowed)
        if TRACE in spec.inputs and TRACE not in revision.names:
            check_installed(spec.name)
    return pinned


def _pin(scorer: Any, number: int) -> ScorerSpec:  # noqa: ANN401 - what a user gave
    if isinstance(scorer, (BuiltinScorer, SqlScorer)):
        return scorer.pin()
    code = as_function(scorer, f"scorer {number}").pin()
    return ScorerSpec(
        name=checked_name(code.name),
        kind="function",
        identity=code.version_id,
        inputs=code.inputs,
        takes_all=code.takes_all,
        code=code,
    )


def check_policy(policy: object, columns: Sequence[str]) -> CodeRef:
    """Return a policy, pinned.

    Raises:
        TypeError: It cannot be called.
        ValueError: It takes what is no column.
    """
    pinned = as_function(policy, "policy").pin()
    _check_inputs("policy", pinned.required, columns)
    return pinned


def _check_inputs(what: str, required: Iterable[str], columns: Sequence[str]) -> None:
    missing = [name for name in required if name not in columns]
    if missing:
        close = difflib.get_close_matches(missing[0], columns, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        message = (
            f"{what} takes {', '.join(map(repr, missing))}{hint}, and the columns are "
            f"{', '.join(columns)}"
        )
        raise ValueError(message)


def _check_columns(columns: Sequence[str], scorers: Sequence[ScorerSpec]) -> None:
    """Refuse names that would give a result two columns of the same name."""
    seen = {name.casefold(): f"the dataset's column {name!r}" for name in columns}
    wanted = [(OUTPUT, "the task's output"), (f"{OUTPUT}_error", "the task's errors")]
    wanted += [
        (f"{scorer.column}_{field}", f"scorer {scorer.name!r}")
        for scorer in scorers
        for field in SCORER_FIELDS
    ]
    for column, owner in wanted:
        other = seen.setdefault(column.casefold(), owner)
        if other is not owner:
            message = (
                f"{owner} and {other} clash: both would be column {column!r} of the results. "
                "Rename one of them"
            )
            raise ValueError(message)

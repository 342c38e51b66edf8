"""What evaluations are made of: datasets, definitions, runs and their cells, as frozen values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

ScorerKind: TypeAlias = Literal["function", "builtin", "sql"]

OUTPUT, TRACE = "output", "trace"
"""Names that a scorer binds to the task's output and to what was recorded while it ran."""

OUTPUT_ERROR = "output_error"
"""The column of a result that says why the task's call failed."""


class EvaluationRunStatus(StrEnum):
    """Where a run is. The last three but UNSPECIFIED end it."""

    UNSPECIFIED = "unspecified"
    PENDING = "pending"
    RUNNING = "running"
    FINALIZING = "finalizing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def is_terminal(self) -> bool:
        """Whether the run has ended."""
        return self in {self.SUCCEEDED, self.FAILED, self.CANCELED}


class EvaluationRunExecutionMode(StrEnum):
    """Who carries a run to its end: a worker process, or whoever reads it."""

    UNSPECIFIED = "unspecified"
    ON_READ = "on_read"
    WORKFLOW = "workflow"


@dataclass(frozen=True)
class DatasetRevisionRef:
    """Names a revision of a dataset: by both ids, or by the dataset's name for its latest one."""

    dataset_id: str | None = None
    revision_id: str | None = None
    dataset_name: str | None = None

    def __post_init__(self) -> None:
        for name in ("dataset_id", "revision_id", "dataset_name"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, value.strip())
        ids = bool(self.dataset_id) and bool(self.revision_id)
        half = bool(self.dataset_id) != bool(self.revision_id)
        if half or not (ids or self.dataset_name):
            message = (
                "a revision is named by dataset_id and revision_id, or by dataset_name for the "
                f"latest one, found {self!r}"
            )
            raise ValueError(message)


@dataclass(frozen=True)
class Column:
    """A column of a revision.

    Attributes:
        is_json: Whether the file holds each value as JSON text: lists, objects, and values of
            several types, which come back as they were.
    """

    name: str
    is_json: bool = False


@dataclass(frozen=True)
class Revision:
    """An immutable revision as the store knows it.

    Attributes:
        digest: SHA-256 of its file, which is named by it.
    """

    ref: DatasetRevisionRef
    digest: str
    columns: tuple[Column, ...]
    n_rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def columns_named(self, names: Iterable[str]) -> tuple[Column, ...]:
        """Return the columns of these names, which it has, in their order."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[name] for name in names)


@dataclass(frozen=True)
class CodeRef:
    """A function, pinned: what it is (`version_id`) and where another process finds it.

    Attributes:
        inputs: Its parameters; those without a default must be columns.
        required: The parameters without a default.
        takes_all: Whether it takes any column (`**columns`).
        path: The file of its module, for scripts, whose module name is `__main__`.
    """

    version_id: str
    name: str
    module: str
    qualname: str
    path: str
    inputs: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    takes_all: bool = False


@dataclass(frozen=True)
class ScorerSpec:
    """A scorer, pinned in a definition.

    Attributes:
        identity: Of its code: a function's version, a built-in's id, an SQL expression. Two
            scorers of one kind and identity are the same scorer, whatever their names.
        inputs: The columns it reads; empty for SQL, which may read any.
        code: A function's.
        params: What makes a built-in again.
    """

    name: str
    kind: ScorerKind
    identity: str
    inputs: tuple[str, ...] = ()
    takes_all: bool = False
    code: CodeRef | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def column(self) -> str:
        """What its result columns begin with: `intent-match` is `intent_match`."""
        return column_name(self.name)

    @property
    def reads_the_call(self) -> bool:
        """Whether its score depends on the task's call: output, or what was recorded of it."""
        return self.kind == "sql" or self.takes_all or bool({OUTPUT, TRACE} & set(self.inputs))

    def same_as(self, other: ScorerSpec) -> bool:
        """Tell whether both score alike; names are not compared."""
        return (self.kind, self.identity) == (other.kind, other.identity)


@dataclass(frozen=True)
class EvaluationScorer:
    """A scorer as a definition shows it: its local id, and one of three ways it was defined."""

    id: str
    function_version_id: str | None = None
    builtin_id: str | None = None
    sql_name: str | None = None
    sql_expression: str | None = None


@dataclass(frozen=True)
class Suite:
    """A named collection of evaluations."""

    id: str
    name: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True)
class Definition:
    """An evaluation, pinned: dataset revision, task version, scorer versions."""

    id: str
    name: str
    dataset: DatasetRevisionRef
    task: CodeRef
    scorers: tuple[ScorerSpec, ...]
    metadata: Mapping[str, Any]
    suite_id: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True)
class RunState:
    """A run as the store has it.

    Attributes:
        plan: What is copied and what is called (see `evaluations.rescoring`), as JSON.
        policy: The code called in place of the task, if any.
        source_run_id: The run that was rescored; None for a run that is none of a rescore.
        result: The revision of results; None until there is one.
        summary: Figures per scorer; empty until the run has succeeded.
    """

    id: str
    evaluation_id: str
    status: EvaluationRunStatus
    execution_mode: EvaluationRunExecutionMode
    metadata: Mapping[str, Any]
    created_by: str
    created_at: datetime
    n_rows: int
    plan: Mapping[str, Any]
    options: Mapping[str, Any]
    policy: CodeRef | None = None
    source_run_id: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    result: DatasetRevisionRef | None = None
    error_message: str | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)


class Cell(NamedTuple):
    """What one call gave: the task's (position 0) or the scorer's at position 1, 2, … of one row.

    A tuple, for there are many. A cell that exists is done. `error` says that the call failed; a
    scorer's cell with neither `value` nor `error` was not scored.

    Attributes:
        value: The output (any JSON), or the score.
        metadata: A scorer's, as JSON text.
    """

    row: int
    position: int
    value: Any = None
    error: str | None = None
    metadata: str | None = None


@dataclass
class CellColumn:
    """Cells of one position: rows in no order, and what each gave in lists of the same length.

    A run has as many cells as rows times calls; as objects they would cost more than the calls.
    """

    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    errors: list[str | None] = field(default_factory=list)
    metadata: list[str | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def add(
        self, row: int, value: object = None, error: str | None = None, metadata: str | None = None
    ) -> None:
        """Add what one call gave."""
        self.rows.append(row)
        self.values.append(value)
        self.errors.append(error)
        self.metadata.append(metadata)

    def extend(self, other: CellColumn) -> None:
        """Add the cells of another one."""
        self.rows += other.rows
        self.values += other.values
        self.errors += other.errors
        self.metadata += other.metadata

    def without(self, rows: Collection[int]) -> CellColumn:
        """Return the cells of other rows."""
        kept = [n for n, row in enumerate(self.rows) if row not in rows]
        return CellColumn(
            [self.rows[n] for n in kept],
            [self.values[n] for n in kept],
            [self.errors[n] for n in kept],
            [self.metadata[n] for n in kept],
        )


def column_name(name: str) -> str:
    """Return a scorer's name as the beginning of column names."""
    return re.sub(r"\W", "_", name.strip())

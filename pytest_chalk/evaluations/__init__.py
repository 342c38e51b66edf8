"""Dataset evaluations: a dataset, a task function and scorers make runs, which can be rescored.

Also importable as `chalkcompute` in what pytest collects and under `pytest-chalk run`.
"""

from __future__ import annotations

from pytest_chalk import scorers
from pytest_chalk.authoring.call_context import get_call_context
from pytest_chalk.authoring.function import function
from pytest_chalk.authoring.scorer import EvaluationScorerResult
from pytest_chalk.authoring.trace import Span, Trace
from pytest_chalk.errors import (
    DatasetError,
    EvaluationError,
    EvaluationNotFoundError,
    EvaluationRunFailedError,
)
from pytest_chalk.evaluations.comparison import Comparison, compare
from pytest_chalk.evaluations.dataset_client import DatasetClient
from pytest_chalk.evaluations.handles import Evaluation, EvaluationSuite
from pytest_chalk.evaluations.place import use_store
from pytest_chalk.evaluations.run_handle import EvaluationRun
from pytest_chalk.schemas.evaluation import (
    DatasetRevisionRef,
    EvaluationRunExecutionMode,
    EvaluationRunStatus,
    EvaluationScorer,
)

__all__ = [
    "Comparison",
    "DatasetClient",
    "DatasetError",
    "DatasetRevisionRef",
    "Evaluation",
    "EvaluationError",
    "EvaluationNotFoundError",
    "EvaluationRun",
    "EvaluationRunExecutionMode",
    "EvaluationRunFailedError",
    "EvaluationRunStatus",
    "EvaluationScorer",
    "EvaluationScorerResult",
    "EvaluationSuite",
    "Span",
    "Trace",
    "compare",
    "function",
    "get_call_context",
    "scorers",
    "use_store",
]

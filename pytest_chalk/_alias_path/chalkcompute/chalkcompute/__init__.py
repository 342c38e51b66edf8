"""`chalkcompute`: alias of `pytest_chalk.evaluations`, for code written against that name."""

from __future__ import annotations

from pytest_chalk.evaluations import (
    Comparison,
    DatasetClient,
    DatasetError,
    DatasetRevisionRef,
    Evaluation,
    EvaluationError,
    EvaluationNotFoundError,
    EvaluationRun,
    EvaluationRunExecutionMode,
    EvaluationRunFailedError,
    EvaluationRunStatus,
    EvaluationScorer,
    EvaluationScorerResult,
    EvaluationSuite,
    compare,
    function,
    get_call_context,
    scorers,
    use_store,
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
    "compare",
    "function",
    "get_call_context",
    "scorers",
    "use_store",
]

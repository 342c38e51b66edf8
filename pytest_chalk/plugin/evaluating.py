"""Evaluations inside tests: the fixture `chalk_evaluate`, and what becomes of their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.errors import RunOptionError
from pytest_chalk.evaluations import DatasetClient, DatasetRevisionRef, Evaluation, EvaluationSuite
from pytest_chalk.evaluations.place import use_store
from pytest_chalk.evaluations.run_scores import MeanScore, worst_rows
from pytest_chalk.evaluations.scorer_models import (
    ScorerModels,
    lend_scorer_models,
    use_scorer_models,
)
from pytest_chalk.plugin.option_reader import OptionReader
from pytest_chalk.reports.clean import clean, clean_text
from pytest_chalk.reports.evaluation_table import render_worst_rows

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_chalk.evaluations import EvaluationRun

EVALUATIONS_ATTRIBUTE = "chalk_evaluations"
"""On the report of a test's call: the summary of each evaluation that it made."""

_MADE = pytest.StashKey[list[dict[str, Any]]]()
_NAME = "chalk-evaluations"

WORST_ROWS = 5
"""In a failed assertion. pytest cuts an explanation after eight lines."""


def evaluate_within_test(
    request: pytest.FixtureRequest,
    name: str,
    parts: tuple[object, object, Any],
    *,
    timeout: float | None = None,
    suite: str | None = None,
    **options: Any,  # noqa: ANN401 - those of `Evaluation.run`
) -> EvaluationRun:
    """Evaluate for the fixture `chalk_evaluate`.

    Args:
        request: Of the fixture.
        name: Of the evaluation, and of its dataset if rows are given.
        parts: Dataset (rows, a file, or the reference of a revision), task and scorers.
        timeout: Seconds the run may take; None for as long as the test may.
        suite: Name of the suite it is filed under.
        options: Of `Evaluation.run`: metadata, policy, concurrency.

    Raises:
        As `Evaluation.create`, `Evaluation.run` and `EvaluationRun.wait`.
    """
    config = request.config
    if not config.pluginmanager.has_plugin(_NAME):
        use_store(OptionReader(config).path("session-dir") or config.rootpath / ".chalk")
        lend_scorer_models(lambda: _session_models(config))
        config.pluginmanager.register(EvaluationReports(), _NAME)
    dataset, task, scorers = parts
    is_ref = isinstance(dataset, DatasetRevisionRef) or hasattr(dataset, "revision_id")
    evaluation = Evaluation.create(
        name,
        dataset=dataset if is_ref else DatasetClient().upload(name, dataset),
        task=task,
        scorers=scorers,
        suite_id=EvaluationSuite.get_or_create(suite).id if suite else None,
        metadata={"nodeid": request.node.nodeid},
    )
    run = evaluation.run(execution_mode="on_read", **options).wait(timeout=timeout)
    _note(request.node, name, run)
    return run


def _session_models(config: pytest.Config) -> ScorerModels:
    """Return what scorers ask as judges do: by the session's options, and out of its budget.

    Raises:
        RunOptionError: An option cannot be used.
    """
    from pytest_chalk.plugin.activation import activate
    from pytest_chalk.plugin.budget import metered

    try:
        state = activate(config)
    except pytest.UsageError as error:  # too late to end the session, and in a thread of a run
        where, fix = "scorers.llm(model=...)", "Correct the option"
        raise RunOptionError(where, f"the session cannot ask: {error}", fix=fix) from error
    settings = state.settings
    return ScorerModels(
        find=lambda name: state.judge(name, "scorers.llm(model=...)"),
        pay=lambda model: metered(model, settings, state.purse),
        cassette=settings.cassette,
        cassette_dir=settings.cassette_dir or config.rootpath / "cassettes",
    )


class EvaluationReports:
    """Registered with the first evaluation of a process."""

    def pytest_unconfigure(self) -> None:
        """Take back what was lent: in this process another session may follow."""
        use_scorer_models(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach what the test has evaluated to the report of its call."""
        report = yield
        if call.when == "call" and _MADE in item.stash:
            setattr(report, EVALUATIONS_ATTRIBUTE, item.stash[_MADE])
            del item.stash[_MADE]
        return report

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Show the worst rows where a mean is not what it was to be."""
        mean = next((side for side in (left, right) if isinstance(side, MeanScore)), None)
        if mean is None:
            return None
        head = f"{left!r} {op} {right!r} (mean of {mean.scorer!r}, run {mean.run.id}); worst rows:"
        worst = worst_rows(mean.run, mean.scorer, WORST_ROWS)
        return [head, *render_worst_rows(worst, mean.scorer)]


def _note(item: pytest.Item, name: str, run: EvaluationRun) -> None:
    """Put an evaluation's scores into the test's properties, and its summary onto its report."""
    made = {"name": clean_text(name), "run": run.id, "summary": clean(run.summary)}
    item.stash.setdefault(_MADE, []).append(made)
    prefix = f"chalk.evaluation.{clean_text(name)}"
    item.user_properties.append((f"{prefix}.run", run.id))
    for scorer, figures in run.summary["scorers"].items():
        label = f"{prefix}.{clean_text(scorer)}"
        if figures["mean"] is not None:
            item.user_properties.append((label, figures["mean"]))
        item.user_properties.append((f"{label}.scored", figures["scored"]))
        if figures["failed"]:
            item.user_properties.append((f"{label}.failed", figures["failed"]))

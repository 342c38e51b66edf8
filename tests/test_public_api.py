"""The names others build on, and what it costs to have the package installed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

NAMES = {
    "pytest_chalk": [
        "ChalkError",
        "Contract",
        "EvaluationRunConfig",
        "FileLimit",
        "Hardware",
        "Judge",
        "MachineError",
        "ProtectedStore",
        "ReclaimError",
        "ResourceLimits",
        "RunConfig",
        "RunRecord",
        "Scoring",
        "Step",
        "StepConfig",
        "StudentMisbehaviorError",
        "Task",
        "TaskDefinitionError",
        "ToolAnswer",
        "ToolBase",
        "ToolConfigWriter",
        "ToolRefusalError",
        "Transcript",
        "UnreapableCohortError",
        "__version__",
        "collect_submission",
        "create_task",
        "delete_files",
        "get_resource_limits",
        "judge_record",
        "kill_processes",
        "limit_resources",
        "run_task",
        "save_artifact",
        "save_submission",
    ],
    "pytest_chalk.judges": [
        "AlwaysPassJudge",
        "AnswersContext",
        "ExecutableJudge",
        "FileContext",
        "FileJudge",
        "HiddenTestsJudge",
        "Judge",
        "RegexJudge",
        "RubricContext",
        "RubricCriterion",
        "RubricJudge",
        "TranscriptContext",
    ],
    "pytest_chalk.evaluations": [
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
    ],
    "pytest_chalk.scorers": [
        "EvaluationScorerResult",
        "contains",
        "exact_match",
        "json_match",
        "json_schema",
        "json_valid",
        "levenshtein",
        "llm",
        "numeric_close",
        "regex_match",
        "sql",
        "string_similarity",
    ],
    "pytest_chalk.models": ["Call", "NoopModel", "ScriptedModel", "Turn", "call"],
    "pytest_chalk.sandbox": [
        "BoundedOutput",
        "Box",
        "BoxPaths",
        "Command",
        "Completed",
        "Contract",
        "CurrentRun",
        "DataFolder",
        "FileLimit",
        "GUARANTEES",
        "LEVELS",
        "Level",
        "PermissionCheckError",
        "ProtectedStore",
        "ResourceLimits",
        "SavedSubmission",
        "SecretNotFoundError",
        "SelfTest",
        "Slot",
        "StudentPath",
        "StudentProcess",
        "StudentUidError",
        "Trial",
        "acquire_slot",
        "ask",
        "asked_level",
        "claim_on_use",
        "clock_s",
        "collect_submission",
        "delete_files",
        "describe_level",
        "enforced",
        "enter_run",
        "find_data_folders",
        "find_level",
        "find_run",
        "get_resource_limits",
        "hide",
        "keep_workdir",
        "kill_processes",
        "lay_out",
        "limit_resources",
        "not_enforced",
        "open_trial",
        "peek_slot",
        "release_slot",
        "run_as_student",
        "run_command",
        "run_trusted",
        "safe_search_path",
        "save_artifact",
        "save_student_artifact",
        "save_submission",
        "separates_uids",
        "student_can_write",
        "try_box",
    ],
}
HEAVY = ("httpx", "pydantic", "psutil", "pytest", "_pytest", "xdist", "sqlite3", "asyncio")


def loaded_by(code):
    """Return which heavy modules a fresh interpreter has loaded after running `code`."""
    report = f"import sys; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


@pytest.mark.parametrize(("module", "names"), NAMES.items())
def test_the_exported_names_are_exactly_these_and_exist(module, names):
    found = import_module(module)

    assert sorted(found.__all__) == names
    for name in names:
        assert getattr(found, name) is not None


@pytest.mark.parametrize("module", NAMES)
def test_a_name_that_is_not_exported_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = import_module(module).Nonsense


def test_the_package_lists_its_names_before_they_are_loaded():
    assert dir(import_module("pytest_chalk")) == NAMES["pytest_chalk"]


def test_having_the_package_installed_loads_nothing_heavy():
    assert loaded_by("import pytest_chalk") == []


@pytest.mark.parametrize(
    "code",
    [
        "from pytest_chalk import Step, Task, StepConfig, create_task, StudentMisbehaviorError",
        "from pytest_chalk.judges import AlwaysPassJudge, ExecutableJudge, Judge, RegexJudge",
    ],
)
def test_a_scoring_script_that_imports_its_task_pays_for_nothing_heavy(code):
    assert loaded_by(code) == []


def test_building_and_combining_judges_needs_nothing_heavy():
    code = """
import re
from pytest_chalk.judges import AlwaysPassJudge, ExecutableJudge, RegexJudge
RegexJudge([re.compile("x")]) & ExecutableJudge(["python", "out"]) | AlwaysPassJudge()
"""
    assert loaded_by(code) == []

"""Processes and files of a hostile student, behind one door.

A `Slot` is a uid and a directory, a `Box` runs and ends the student's commands in it, and
`save_submission`, `delete_files` and `collect_submission` take in what it made.
"""

from __future__ import annotations

from pytest_chalk.sandbox.artifacts import keep_workdir, save_artifact, save_student_artifact
from pytest_chalk.sandbox.box import Box
from pytest_chalk.sandbox.capture import run_as_student, run_command
from pytest_chalk.sandbox.collect import collect_submission, kill_processes
from pytest_chalk.sandbox.command import Command, StudentProcess
from pytest_chalk.sandbox.current import CurrentRun, enter_run, find_run
from pytest_chalk.sandbox.data_folders import DataFolder, find_data_folders, lay_out
from pytest_chalk.sandbox.guarantees import GUARANTEES, describe_level, enforced, not_enforced
from pytest_chalk.sandbox.isolation import LEVELS, ask, asked_level, find_level
from pytest_chalk.sandbox.layout import BoxPaths, Level, Slot
from pytest_chalk.sandbox.limits import (
    Contract,
    FileLimit,
    ResourceLimits,
    get_resource_limits,
    limit_resources,
)
from pytest_chalk.sandbox.output import BoundedOutput, Completed
from pytest_chalk.sandbox.process_table import clock_s
from pytest_chalk.sandbox.protected_store import (
    PermissionCheckError,
    ProtectedStore,
    SecretNotFoundError,
)
from pytest_chalk.sandbox.reach import safe_search_path, student_can_write
from pytest_chalk.sandbox.scoring_process import run_trusted
from pytest_chalk.sandbox.self_test import SelfTest, try_box
from pytest_chalk.sandbox.slots import (
    acquire_slot,
    claim_on_use,
    peek_slot,
    release_slot,
    separates_uids,
)
from pytest_chalk.sandbox.student import StudentUidError
from pytest_chalk.sandbox.submissions import save_submission
from pytest_chalk.sandbox.sweep import delete_files
from pytest_chalk.sandbox.trial import Trial, open_trial
from pytest_chalk.sandbox.untrusted_fs import SavedSubmission, StudentPath
from pytest_chalk.sandbox.view import hide

__all__ = [
    "GUARANTEES",
    "LEVELS",
    "BoundedOutput",
    "Box",
    "BoxPaths",
    "Command",
    "Completed",
    "Contract",
    "CurrentRun",
    "DataFolder",
    "FileLimit",
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
]

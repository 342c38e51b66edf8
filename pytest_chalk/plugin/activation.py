"""Switches the plugin on: in projects that have task packages, and where a test asks for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_chalk.discovery.classes import TaskRegistry
from pytest_chalk.errors import MachineError, RunOptionError
from pytest_chalk.plugin.baseline import read_baseline
from pytest_chalk.plugin.budget import SessionPurse, check_prices
from pytest_chalk.plugin.estimating import check_estimate
from pytest_chalk.plugin.option_reader import OptionReader
from pytest_chalk.plugin.project import discovery_settings
from pytest_chalk.plugin.rejudged import find_rejudged
from pytest_chalk.plugin.resuming import find_resumed
from pytest_chalk.plugin.settings import as_then, read_settings
from pytest_chalk.plugin.state import STATE, ChalkState, is_worker, session_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pytest_chalk.discovery.packages import TaskPackage
    from pytest_chalk.plugin.baseline import Baseline


def activate(config: pytest.Config) -> ChalkState:
    """Return the session's state, made at the first call: options read, hooks registered.

    Raises:
        pytest.UsageError: An option cannot be used, a model is unknown, or the isolation that was
            asked for cannot be had.
    """
    found = config.stash.get(STATE, None)
    if found is not None:
        return found
    try:
        settings = read_settings(config)
        check_estimate(config, settings.results)
        discovery = discovery_settings(config)
        directory, resumed = find_resumed(
            config, settings.results, session_directory(config, settings)
        )
        rejudged = find_rejudged(config, settings.results, directory)
        settings = as_then(settings, rejudged)
        state = ChalkState(
            config=config,
            settings=settings,
            discovery=discovery,
            registry=TaskRegistry(discovery),
            directory=directory,
            purse=SessionPurse(settings.budget, directory),
            resumed=resumed,
            rejudged=rejudged,
        )
        config.stash[STATE] = state
        baseline = None if is_worker(config) else read_baseline(settings.results)
        _prepare_isolation(config, state)
        for name in settings.models if not is_worker(config) else ():
            state.student(name)
        if settings.judge.name and not is_worker(config):
            state.judge(settings.judge.name)
        check_prices({**state.students, **state.judges}, settings)
    except (RunOptionError, MachineError) as error:
        raise pytest.UsageError(str(error)) from None
    _register(config, state, baseline)
    return state


def _prepare_isolation(config: pytest.Config, state: ChalkState) -> None:
    """Say what the box must be at least, and what no student may see."""
    from pytest_chalk.sandbox import ask, find_level, hide

    settings = state.settings
    ask(settings.isolation, OptionReader(config).source("isolation"))
    if settings.isolation != "auto":
        find_level()
    hide(state.discovery.root, state.discovery.tasks_dir, settings.session_base)


def _register(config: pytest.Config, state: ChalkState, baseline: Baseline | None) -> None:
    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.plugin.collect import Collection
    from pytest_chalk.plugin.controller import Controller
    from pytest_chalk.plugin.html_table import HtmlTable
    from pytest_chalk.plugin.junit_file import JunitFile
    from pytest_chalk.plugin.matrix import Matrix
    from pytest_chalk.plugin.report_data import ReportWriter
    from pytest_chalk.plugin.result_plugins import register_everywhere, register_in_controller
    from pytest_chalk.plugin.step_summary import StepSummary
    from pytest_chalk.plugin.terminal import Terminal
    from pytest_chalk.sandbox.own_process import interrupt_on_sigterm

    register = config.pluginmanager.register
    register(Collection(config), "chalk-collection")
    register(Matrix(config), "chalk-matrix")
    register_everywhere(config, state)
    register(ReportWriter(), "chalk-report-writer")
    if not is_worker(config):
        arguments = tuple(str(argument) for argument in config.invocation_params.args)
        account = SessionAccount(state, arguments)
        is_task_nodeid = task_nodeids(state.registry.packages, state.discovery.root)
        register(Controller(config, account, is_task_nodeid), "chalk-controller")
        register(JunitFile(config, account), "chalk-junit")
        register(HtmlTable(), "chalk-html-table")
        register(Terminal(config, account), "chalk-terminal")
        register_in_controller(config, account, baseline, is_task_nodeid)
        register(StepSummary(config, account), "chalk-step-summary")
    interrupt_on_sigterm()


def task_nodeids(packages: Iterable[TaskPackage], root: Path) -> Callable[[str], bool]:
    """Return a test for node ids of task items: the controller of xdist has no items."""
    files = set()
    for package in packages:
        relative = os.path.relpath(package.path, root).replace(os.sep, "/")
        files.add(f"{relative}/__init__.py")
    return lambda nodeid: nodeid.partition("::")[0] in files

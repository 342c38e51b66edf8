"""The pytest plugin. This module is loaded in every pytest run, so it imports next to nothing.

Only projects with task packages get the rest: see `activation`.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _OwnModules:
    """Finds our own modules as Python does.

    pytest would look in them for assertions to rewrite, as in all modules of a plugin. There are
    none, and it reads a compiled module several times as slowly.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, _: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Return where a module of this package is; None for any other."""
        return PathFinder.find_spec(name, path) if name.startswith("pytest_chalk.") else None


sys.meta_path.insert(0, _OwnModules)

from pytest_chalk.plugin.fixtures import (  # noqa: E402 - found by the finder above
    chalk_epoch,
    chalk_evaluate,
    chalk_model,
    chalk_run,
    chalk_run_config,
    chalk_student,
    chalk_submissions,
)
from pytest_chalk.plugin.options import add_options, any_flag, write_out  # noqa: E402 - as above
from pytest_chalk.plugin.project import (  # noqa: E402 - as above
    SESSION_KEY,
    discovery_settings,
    has_tasks,
    shared_session_id,
    will_run_tasks,
)

__all__ = [
    "chalk_epoch",
    "chalk_evaluate",
    "chalk_model",
    "chalk_run",
    "chalk_run_config",
    "chalk_student",
    "chalk_submissions",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hooks."""
    from pytest_chalk.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Make the import names of task code work before the first conftest may use them."""
    write_out(args)
    settings = discovery_settings(early_config)
    from pytest_chalk.discovery.alias_path import install_aliases

    install_aliases(settings.aliases)
    if has_tasks(settings):
        from pytest_chalk.discovery.module_names import install_finder

        install_finder(settings)
        if will_run_tasks(early_config):
            from pytest_chalk.plugin.seat import claim_slot

            claim_slot(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Switch on where there are task packages; refuse options that cannot be used."""
    if not has_tasks(discovery_settings(config)) and not any_flag(config):
        return
    if sys.platform == "win32":
        raise pytest.UsageError("pytest-chalk: tasks need Linux or macOS")
    from pytest_chalk.plugin.activation import activate

    activate(config)


@pytest.hookimpl(optionalhook=True, trylast=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401 - xdist exports no type
    """Give xdist's workers one session, so one budget, also where the controller has none."""
    node.workerinput.setdefault(SESSION_KEY, shared_session_id(node.config))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say who is to run, how often, in what isolation, and where names come from."""
    if not config.pluginmanager.has_plugin("chalk-controller"):
        return []
    from pytest_chalk.plugin.header import render_header

    return render_header(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of evaluations, if tests have made any."""
    found = [
        evaluation
        for category, reports in terminalreporter.stats.items()
        if category != "rerun"
        for report in reports
        for evaluation in getattr(report, "chalk_evaluations", ())
    ]
    if found:
        from pytest_chalk.reports.evaluation_table import render_evaluation_table

        terminalreporter.section("chalk evaluations")
        for line in render_evaluation_table(found):
            terminalreporter.line(line)

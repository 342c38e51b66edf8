"""The lines of pytest's header."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_chalk.discovery.alias_path import report_aliases
from pytest_chalk.plugin.resuming import header_lines
from pytest_chalk.plugin.state import STATE, is_distributing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from pytest_chalk.plugin.settings import SessionSettings


def render_header(config: pytest.Config) -> list[str]:
    """Return the header's lines, warnings last."""
    state = config.stash[STATE]
    settings = state.settings
    parts = [
        f"chalk: models={','.join(settings.models)}",
        *([f"judge={settings.judge.name}"] if settings.judge.name else []),
        f"epochs={settings.epochs}",
        *([f"budget={settings.budget.describe()}"] if settings.budget.is_bound else []),
        f"isolation={_isolation()}",
        f"session={state.directory.session_id}",
    ]
    lines = [" ".join(parts), *header_lines(config), f"chalk names: {report_aliases().text}"]
    if _kills_the_session(config):
        lines.append(
            "chalk: WARNING timeout_method=thread ends the whole session without a report when a "
            "task runs into its time-out; use timeout_method=signal, or xdist (-n)"
        )
    return lines


def render_plan(settings: SessionSettings, models: Sequence[str]) -> str:
    """Return how many runs each model is to make, to be read before anything is sent.

    `models` names the one of each run; empty where a conftest brings its own.
    """
    counts = [f"{name or 'of a conftest'} x {count}" for name, count in Counter(models).items()]
    most = "at most " if settings.epochs.auto else ""
    runs = f"{most}{len(models)} run{'' if len(models) == 1 else 's'}"
    budget = f"; budget {settings.budget.describe()}" if settings.budget.is_bound else ""
    return f"chalk: {runs} to make: {', '.join(counts)}{budget}"


def _isolation() -> str:
    from pytest_chalk.sandbox import describe_level, find_level

    return describe_level(find_level())


def _kills_the_session(config: pytest.Config) -> bool:
    if is_distributing(config) or not config.pluginmanager.has_plugin("timeout"):
        return False
    method = config.getoption("timeout_method", None) or config.getini("timeout_method")
    limit = config.getoption("timeout", None) or config.getini("timeout")
    return method == "thread" and bool(limit or method)

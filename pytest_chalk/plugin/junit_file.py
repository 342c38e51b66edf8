"""Rewrites the JUnit file that pytest wrote, so that it tells of tasks and steps."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_chalk.plugin.isolation_facts import isolation_facts
from pytest_chalk.plugin.state import only_looks
from pytest_chalk.reports.junit import JunitCase, JunitStyle, rewrite_junit
from pytest_chalk.reports.junit_suite import suite_properties

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.plugin.ledger import ItemAccount


class JunitFile:
    """Needs nothing of pytest's own JUnit plugin but the file and the option that names it."""

    def __init__(self, config: pytest.Config, account: SessionAccount) -> None:
        self._config, self._account = config, account

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Rewrite the file once pytest has written it, also after an interrupt."""
        verdict = None if only_looks(self._config) else self._account.judge()
        yield
        xml_path = self._config.getoption("xmlpath", None)
        if verdict is None or not self._account.ledger.accounts or not xml_path:
            return
        path = Path(xml_path)
        if path.is_file():
            self._rewrite(path)

    def _rewrite(self, path: Path) -> None:
        settings = self._account.state.settings
        tree = ET.parse(path)  # noqa: S314 - pytest wrote it a moment ago
        rewrite_junit(
            tree.getroot(),
            [_junit_case(account) for account in self._account.ledger.accounts],
            self._suite_properties(),
            JunitStyle(steps=settings.junit_steps, properties=settings.junit_properties),
        )
        fresh = path.with_name(f"{path.name}.chalk")
        try:
            tree.write(fresh, encoding="utf-8", xml_declaration=True)
            fresh.replace(path)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            message = (
                f"{str(path)!r} is as pytest wrote it, without steps and scores: {error}. "
                "Make it anew from the journal with `pytest-chalk junit`."
            )
            self._config.issue_config_time_warning(pytest.PytestWarning(message), stacklevel=2)

    def _suite_properties(self) -> dict[str, str]:
        ledger = self._account.ledger
        session_id = self._account.state.directory.session_id
        passed = not self._account.judge().problems
        properties = suite_properties(session_id, ledger.runs, ledger.planned_runs, gate=passed)
        return properties | isolation_facts(ledger.runs)


def _junit_case(account: ItemAccount) -> JunitCase:
    run = account.run if account.expected else None
    return JunitCase(
        account.nodeid,
        run,
        account.output,
        account.teardown_error,
        left_out=account.left_out,
        properties=account.properties,
        duration_s=account.duration_s,
    )

"""`--chalk-baseline`: the session is compared with a file, and fails on a significant drop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_chalk.errors import MachineError, RunOptionError
from pytest_chalk.reports.baseline_text import (
    find_drops,
    parse_baseline,
    render_baseline,
    render_comparison,
)
from pytest_chalk.reports.comparison import compare, deterministic_groups, entries_of
from pytest_chalk.store.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_chalk.plugin.result_settings import ResultSettings
    from pytest_chalk.reports.comparison import Comparison, Entry
    from pytest_chalk.schemas.record import RunRecord


class Baseline:
    """Reads the file before anything runs; compares, or writes it anew, when all has."""

    def __init__(self, path: Path, *, update: bool) -> None:
        """Read the file.

        Raises:
            RunOptionError: It is none, or not there and not to be written.
        """
        self._path, self._update = path, update
        self._before = _read(path, must_exist=not update)
        self._lines: list[str] = []

    def problems(self, planned: Sequence[RunRecord]) -> list[str]:
        """Return the significant drops; none where the file is written anew."""
        comparison = self._compared(planned)
        self._lines = render_comparison(comparison)
        if not self._update:
            return find_drops(comparison)
        fresh = entries_of(planned, complete=True)
        missing = len(entries_of(planned)) - len(fresh)
        try:
            write_whole(self._path, render_baseline({**self._before, **fresh}))
        except MachineError as error:
            return [str(error)]
        left = f", {missing} left as they were: not every run was measured" if missing else ""
        self._lines.append(f"written: {self._path} with {len(fresh)} entries of this session{left}")
        return []

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what changed."""
        if self._lines:
            terminalreporter.section("chalk baseline")
        for line in self._lines:
            terminalreporter.line(line, red=line.startswith("DROPPED"))

    def _compared(self, planned: Sequence[RunRecord]) -> Comparison:
        return compare(
            self._before, entries_of(planned), deterministic=deterministic_groups(planned)
        )


def read_baseline(settings: ResultSettings) -> Baseline | None:
    """Return the baseline that was asked for.

    Raises:
        RunOptionError: It cannot be used.
    """
    if settings.baseline is not None:
        return Baseline(settings.baseline, update=settings.update_baseline)
    if settings.update_baseline:
        problem, fix = "no file is named", "Give --chalk-baseline=FILE too"
        raise RunOptionError("--chalk-update-baseline", problem, fix=fix)
    return None


def _read(path: Path, *, must_exist: bool) -> dict[str, Entry]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not must_exist:
            return {}
        raise RunOptionError(
            where=f"--chalk-baseline {path}",
            problem="there is no such file",
            fix="Write it with --chalk-update-baseline, once a session is as it should be",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        where, problem = f"--chalk-baseline {path}", f"cannot be read: {error}"
        raise RunOptionError(where, problem, fix="Name a text file") from error
    return parse_baseline(text, f"--chalk-baseline {path}")

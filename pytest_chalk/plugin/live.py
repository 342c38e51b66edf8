"""Shows which tasks run: their step, turn, tokens and cost; with and without workers.

Each process writes into a small file what it runs. A thread of the controller looks into those
files and the transcripts that they name: every second on a terminal, seldom elsewhere, and never
where there are no tasks.
"""

from __future__ import annotations

import shutil
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from pytest_chalk.plugin.live_screen import Screen, kind_of_screen
from pytest_chalk.plugin.state import is_distributing, only_looks
from pytest_chalk.reports.live_text import render_run, render_running
from pytest_chalk.schemas.progress import RunProgress
from pytest_chalk.store.running_file import RunningFile, Unwatched, read_running
from pytest_chalk.store.transcript_tail import TranscriptTail

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from pytest_chalk.plugin.account import SessionAccount
    from pytest_chalk.plugin.state import ChalkState
    from pytest_chalk.store.running_file import Running

WATCHED_KEY = "chalk_watched"
"""In xdist's `workerinput`: the name of the worker's file; missing where nobody looks."""

REPAINT_S = 1.0
"""Between two looks on a terminal. A turn takes seconds."""

LOOK_S = 5.0
"""Between two looks elsewhere, at most: a line may come so much late."""

JOIN_S = 2.0
"""For a last look that is under way. A terminal that is stopped (Ctrl-S) must not stop the end."""


def register_live(config: pytest.Config, account: SessionAccount) -> None:
    """Watch the session's runs where there is somebody to show them to."""
    interval_s = account.state.settings.progress_s
    kind = None if interval_s is None or only_looks(config) else kind_of_screen(config)
    if kind is None or interval_s is None:
        return
    live = _Painted(config, account) if kind == "line" else _Printed(config, account, interval_s)
    config.pluginmanager.register(live, "chalk-live")
    # A controller that hands its tests to workers runs nothing, and never makes the file.
    account.state.running = RunningFile(_directory(account.state) / "main")


def watched_file(state: ChalkState) -> RunningFile | Unwatched:
    """Return the file of this worker, if somebody looks into it."""
    name = getattr(state.config, "workerinput", {}).get(WATCHED_KEY)
    return RunningFile(_directory(state) / name) if name else Unwatched()


def _directory(state: ChalkState) -> Path:
    return state.directory.path / "running"


class Live(ABC):
    """Looks what runs, in a thread of its own, as long as tests run."""

    def __init__(self, config: pytest.Config, account: SessionAccount, tick_s: float) -> None:
        self._config, self._account, self._tick_s = config, account, tick_s
        self._over = threading.Event()
        self._writing = threading.RLock()
        self._thread: threading.Thread | None = None
        self._screen: Screen | None = None
        self._tails: dict[Running, TranscriptTail] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist exports no type
        """Tell a worker that somebody looks."""
        node.workerinput[WATCHED_KEY] = node.gateway.id

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Begin to look, if workers have tasks."""
        self._begin()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Look as long as tests run."""
        if not is_distributing(self._config):
            self._begin()
        try:
            return (yield)
        finally:
            self._end()

    def _begin(self) -> None:
        if self._thread is None and len(self._account.ledger):
            self._screen = Screen(self._config)
            self._thread = threading.Thread(target=self._watch, name="chalk-live", daemon=True)
            self._thread.start()

    def _end(self) -> None:
        self._over.set()
        self._account.state.running.close()
        if self._thread is not None and self._screen is not None:
            self._thread.join(JOIN_S)
            if not self._thread.is_alive():
                self._screen.close()
            shutil.rmtree(_directory(self._account.state), ignore_errors=True)

    def _watch(self) -> None:
        directory = _directory(self._account.state)
        while not self._over.wait(self._tick_s):
            running = read_running(directory)
            self._tails = {run: self._tails[run] for run in running if run in self._tails}
            with self._writing:
                if self._screen is not None:
                    self._show(running, self._screen)

    @abstractmethod
    def _show(self, running: Sequence[Running], screen: Screen) -> None:
        """Show what runs now."""

    def _progress(self, run: Running) -> RunProgress:
        elapsed_s = time.monotonic() - run.since_s
        if run.transcript is None:
            return RunProgress(run.nodeid, elapsed_s)
        tail = self._tails.setdefault(run, TranscriptTail(run.transcript, run.nodeid))
        return tail.progress(elapsed_s)


class _Printed(Live):
    """Prints a line of each run from time to time: in a log, silence looks like a hang."""

    def __init__(self, config: pytest.Config, account: SessionAccount, interval_s: float) -> None:
        super().__init__(config, account, min(LOOK_S, interval_s))
        self._interval_s = interval_s
        self._shown_s: dict[Running, float] = {}

    @override
    def _show(self, running: Sequence[Running], screen: Screen) -> None:
        now_s = time.monotonic()
        due = [
            run
            for run in running
            if now_s - self._shown_s.get(run, run.since_s) >= self._interval_s
        ]
        if due:
            self._shown_s = {run: self._shown_s.get(run, run.since_s) for run in running}
            self._shown_s |= dict.fromkeys(due, now_s)
            screen.print_lines([render_run(self._progress(run)) for run in due])


class _Painted(Live):
    """Keeps one line about all runs below pytest's own, and takes it away before pytest writes."""

    def __init__(self, config: pytest.Config, account: SessionAccount) -> None:
        super().__init__(config, account, REPAINT_S)
        self._is_in_debugger = False

    @override
    def _show(self, running: Sequence[Running], screen: Screen) -> None:
        columns = screen.columns
        if columns > 0 and not self._is_in_debugger:
            screen.paint(render_running([self._progress(run) for run in running], columns))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, None, None]:
        """Make room."""
        with self._writing:
            self._make_room()
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, None, None]:
        """Make room."""
        with self._writing:
            self._make_room()
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, None, None]:
        """Make room."""
        with self._writing:
            self._make_room()
            yield

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> None:
        """Make room for what xdist says of a worker that is gone."""
        with self._writing:
            self._make_room()

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Leave the terminal to the debugger."""
        with self._writing:
            self._is_in_debugger = True
            self._make_room()

    @pytest.hookimpl(tryfirst=True)
    def pytest_leave_pdb(self) -> None:
        """Go on after it."""
        self._is_in_debugger = False

    def _make_room(self) -> None:
        if self._screen is not None:
            self._screen.erase()

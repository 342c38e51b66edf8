"""Goes on with an earlier session: what was measured there is not run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.items import TaskItem, deselect
from pytest_chalk.plugin.ledger import ItemAccount
from pytest_chalk.plugin.resumed import Resumed
from pytest_chalk.plugin.state import STATE, is_worker
from pytest_chalk.store.journal import is_in_use
from pytest_chalk.store.session_directory import SessionDirectory, find_session, session_ids
from pytest_chalk.store.session_log import read_session

if TYPE_CHECKING:
    from pytest_chalk.plugin.ledger import Ledger
    from pytest_chalk.plugin.result_settings import ResultSettings
    from pytest_chalk.store.session_log import ItemLog, SessionLog

RESUMED_KEY = "chalk_resumed"
"""In xdist's `workerinput`: the part and the finished node ids, as the controller read them. A
worker that replaces a dead one must collect the same items, whatever the journal says by then."""

NOT_SELECTED = "it was planned, and not selected when the session was resumed"


def find_resumed(
    config: pytest.Config, settings: ResultSettings, directory: SessionDirectory
) -> tuple[SessionDirectory, Resumed | None]:
    """Return the directory to write to, and what it holds already if it is an earlier session's.

    Where `--chalk-resume` finds no session at all it begins one.

    Raises:
        RunOptionError: There is no such session, or it still runs.
        MachineError: Its journal cannot be read.
    """
    if is_worker(config):
        part, finished = getattr(config, "workerinput", {}).get(RESUMED_KEY) or (0, ())
        return directory, Resumed(part, frozenset(finished)) if part else None
    if not settings.resume or not (settings.session_id or session_ids(directory.base)):
        return directory, None
    found = find_session(directory.base, settings.session_id)
    if is_in_use(found.journal):
        raise RunOptionError(
            where="--chalk-resume",
            problem=f"session {found.session_id} is still running",
            fix="Wait for its end, or stop it, and resume it then",
        )
    log = read_session(found.journal)
    finished = frozenset(item.nodeid for item in log.items.values() if item.is_finished)
    return found, Resumed(len(log.parts), finished, log)


class Resuming:
    """Leaves out what is finished; in every process that collects."""

    def __init__(self, resumed: Resumed) -> None:
        self._resumed = resumed

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist exports no type
        """Tell a worker what is finished."""
        node.workerinput[RESUMED_KEY] = (self._resumed.part, sorted(self._resumed.finished))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect the items whose runs are finished."""
        finished = self._resumed.finished
        done = [i for i in items if isinstance(i, TaskItem) and i.nodeid in finished]
        deselect(config, items, done)


def restore(ledger: Ledger, log: SessionLog, selected: frozenset[str]) -> None:
    """Put what the session holds into the ledger, but for the items that are to run now."""
    for item in log.items.values():
        if item.nodeid not in selected:
            ledger.restore(_account(item), why_missing=NOT_SELECTED)
        else:
            ledger.plan([item.nodeid], log.models, {})


def _account(item: ItemLog) -> ItemAccount:
    run = item.run
    about: dict[str, Any] = {}
    if run is not None:
        about = {"task_id": run.task_id, "model": run.model, "epoch": run.epoch, "bars": item.bars}
    return ItemAccount(
        item.nodeid,
        about,
        steps=item.steps,
        run=run,
        expected=item.left_out is None,
        left_out=item.left_out,
        skipped_by_mark=item.left_out is not None and run is None,
        teardown_error=item.teardown_error,
        output=item.output,
        properties=item.properties,
        duration_s=item.duration_s,
    )


def header_lines(config: pytest.Config) -> list[str]:
    """Return what the header says of the session that this one continues."""
    state = config.stash[STATE]
    resumed = state.resumed
    if resumed is None or resumed.log is None:
        nothing = state.settings.results.resume
        return ["chalk: nothing to resume, this is a new session"] if nothing else []
    done, planned = len(resumed.finished), len(resumed.log.items)
    was = f"pytest {' '.join(resumed.log.arguments)}".rstrip()
    return [f"chalk: resumes a session with {done} of {planned} runs finished, begun as: {was}"]

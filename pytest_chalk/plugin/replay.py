"""The commands that a failure names: one reads what happened, the other runs it again."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_chalk.discovery.settings import find_session_base
from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.node_id import model_in
from pytest_chalk.plugin.options import SPECS
from pytest_chalk.reports.clean import clean_text
from pytest_chalk.reports.failure_text import Signposts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_chalk.plugin.state import ChalkState
    from pytest_chalk.schemas.record import RunRecord

REPLAY_KEY = "chalk_replay"
"""In xdist's `workerinput`: a worker does not know where and how pytest was started."""

_OF_THE_SESSION = frozenset(
    {
        *("model", "resume", "session", "rejudge", "baseline", "update-baseline"),
        *("gate", "fail-under", "min-scored", "progress", "estimate"),
    }
)
"""Options that say nothing about one run, and the model, of which only the run's own is named."""

_OF_PYTEST = frozenset(
    {"-c", "--config-file", "--rootdir", "-o", "--override-ini", "-p", "--import-mode"}
)
"""Options of pytest without which it would be another project, each with a value."""


class Replay(NamedTuple):
    """How pytest was started, as far as it takes to run one of its items again.

    Attributes:
        options: To repeat, model apart.
        models: Those that were named on the command line.
        root: The project's root as seen from where pytest was started, with a slash at its end;
            empty if that is there.
        session_dir: Where sessions are, if `pytest-chalk` would look elsewhere.
    """

    options: tuple[str, ...]
    models: tuple[str, ...]
    root: str
    session_dir: str

    def run_again_with(self, nodeid: str) -> str:
        """Return the command that runs an item once more, in a session of its own."""
        own = model_in(nodeid, self.models)
        models = [f"--chalk-model={name}" for name in ([own] if own else self.models)]
        return shlex.join(["pytest", f"{self.root}{nodeid}", *models, *self.options])

    def read_with(self, session_id: str, run_id: str) -> str:
        """Return the command that prints the transcript of a run."""
        where = [f"--session-dir={self.session_dir}"] if self.session_dir else []
        return shlex.join(["pytest-chalk", "show", session_id, run_id, *where])


_KNOWN = pytest.StashKey[Replay]()


def find_replay(state: ChalkState) -> Replay:
    """Return how this session was started, found out at the first call."""
    known = state.config.stash.get(_KNOWN, None)
    if known is None:
        known = state.config.stash[_KNOWN] = _look(state)
    return known


def _look(state: ChalkState) -> Replay:
    given = getattr(state.config, "workerinput", {}).get(REPLAY_KEY)
    if given is not None:  # a worker, and this is its controller's
        options, models, root, session_dir = given
        return Replay(tuple(options), tuple(models), root, session_dir)
    config = state.config
    here = config.invocation_params.dir
    root = os.path.relpath(config.rootpath, here).replace(os.sep, "/")
    return Replay(
        options=(*_options(config), *_judged_again(state), *_of_pytest(config)),
        models=tuple(dict.fromkeys(config.getoption("--chalk-model") or ())),
        root="" if root == "." else f"{root}/",
        session_dir=_session_dir(state.settings.session_base, here),
    )


def signposted(record: RunRecord, state: ChalkState) -> RunRecord:
    """Return the record of a run with the commands that lead on from it, unless it passed."""
    if record.outcome == "passed":
        return record
    return record.model_copy(update=_commands(record.nodeid, record.run_id, state))


def signposts(nodeid: str, run_id: str, transcript: str, state: ChalkState) -> Signposts:
    """Return what the failure of a step says about where to read on."""
    return Signposts(transcript, **_commands(nodeid, run_id, state))


def _commands(nodeid: str, run_id: str, state: ChalkState) -> dict[str, str]:
    replay, session_id = find_replay(state), state.directory.session_id
    if state.rejudged is not None:
        session_id = state.rejudged.log.session_id  # whose transcripts they are
    read_with = replay.read_with(session_id, run_id) if run_id else ""
    again = replay.run_again_with(nodeid)
    return {"read_with": clean_text(read_with), "run_again_with": clean_text(again)}


def _options(config: pytest.Config) -> Iterator[str]:
    """Yield the options of ours that were typed and concern a run."""
    for spec in SPECS:
        typed = None if spec.ini_only else config.getoption(spec.flag)
        if not typed or spec.noun in _OF_THE_SESSION:
            continue
        if typed is True:
            yield spec.flag
        elif isinstance(typed, list):
            yield from (f"{spec.flag}={v}" for v in (typed if spec.kind == "list" else typed[-1:]))
        else:
            yield f"{spec.flag}={typed}"


def _judged_again(state: ChalkState) -> Iterator[str]:
    """Yield what judges the same work again."""
    if state.rejudged is not None:
        yield f"--chalk-rejudge={state.settings.results.rejudge}"
        yield f"--chalk-session={state.rejudged.log.session_id}"


def _of_pytest(config: pytest.Config) -> Iterator[str]:
    """Yield those options of pytest's own that were typed and make it this project."""
    typed = iter(str(argument) for argument in config.invocation_params.args)
    for argument in typed:
        name, equals, _ = argument.partition("=")
        if name in _OF_PYTEST and not equals:
            yield from (argument, next(typed, ""))
        elif name in _OF_PYTEST or _has_value_attached(argument):
            yield argument


def _has_value_attached(argument: str) -> bool:
    """Tell whether it is a short option with its value, such as `-ptimeout`."""
    return len(argument) > 2 and argument[0] == "-" and argument[:2] in _OF_PYTEST


def _session_dir(base: Path, here: Path) -> str:
    try:
        if find_session_base(start=here) == base:
            return ""
    except RunOptionError:  # a configuration file that pytest was told not to read
        pass
    return str(base.relative_to(here) if base.is_relative_to(here) else base)

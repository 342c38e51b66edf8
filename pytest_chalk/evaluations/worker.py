"""The worker: carries `workflow` runs to their ends, whether anybody reads them or not."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from pytest_chalk.errors import TaskDefinitionError
from pytest_chalk.evaluations.driver import driver_of, forget_driver
from pytest_chalk.schemas.evaluation import EvaluationRunExecutionMode
from pytest_chalk.schemas.secret_text import secrets_of, without_secrets
from pytest_chalk.store.workers import HEARTBEAT_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chalk.evaluations.place import Place

LOOK_S = 0.2
"""Between looks for runs that were queued."""

AT_ONCE = 4
"""Runs worked on at once; each makes its own calls at once."""


def work(place: Place, *, until_idle: bool, say: Callable[[str], None]) -> None:
    """Carry out runs until interrupted, or until there is none left with `until_idle`.

    Several workers may work on one store: each call is made by one of them. One that dies is
    noticed at once, and the others, or the next one started, go on.

    Raises:
        MachineError: The store cannot be used.
    """
    owner = place.owner_id
    place.workers.beat(owner)
    stop = threading.Event()
    heart = threading.Thread(target=_beat, args=(place, owner, stop), daemon=True)
    heart.start()
    say(f"worker {owner} on {place.store.base}")
    try:
        _serve(place, until_idle=until_idle, say=say)
    finally:
        stop.set()
        heart.join()
        place.workers.leave(owner)


def _serve(place: Place, *, until_idle: bool, say: Callable[[str], None]) -> None:
    working: set[str] = set()
    while True:
        runs = place.store.unfinished_runs(EvaluationRunExecutionMode.WORKFLOW)
        for run in runs[:AT_ONCE]:
            if run.id not in working:
                working.add(run.id)
                say(f"run {run.id}: {run.n_rows} rows")
            driver_of(place, run.id).ask(10 * LOOK_S)
        for run_id in working - {run.id for run in runs}:
            working.discard(run_id)
            _say_end(place, run_id, say)
        for run_id in working:
            _look_for_problem(place, run_id)
        if until_idle and not runs:
            return
        time.sleep(LOOK_S)


def _say_end(place: Place, run_id: str, say: Callable[[str], None]) -> None:
    forget_driver(place, run_id)
    ended = place.store.get_run(run_id)
    say(f"run {run_id}: {ended.status.value} {ended.error_message or ''}".rstrip())


def _look_for_problem(place: Place, run_id: str) -> None:
    """Fail a run whose code cannot be had: nobody else would ever say so."""
    problem = driver_of(place, run_id).problem
    if isinstance(problem, TaskDefinitionError):
        place.ends.fail(run_id, without_secrets(str(problem), secrets_of(os.environ)))
    elif problem is not None:
        raise problem


def _beat(place: Place, owner: str, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT_S):
        place.workers.beat(owner)

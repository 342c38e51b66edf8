"""What judges cost over what nobody can do without."""

from __future__ import annotations

import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pytest_chalk.discovery.alias_path import prepare_imports
from pytest_chalk.discovery.settings import read_settings
from pytest_chalk.judges import ExecutableJudge, RegexJudge
from pytest_chalk.sandbox import acquire_slot
from pytest_chalk.schemas.chat import Message
from pytest_chalk.schemas.transcript import MessageAddedEvent, Transcript
from tests.benchmarks.measure import show

EMPTY = Transcript(run_id="r")
RESULT = '{"score": 0.5, "metadata": {"found": "Ada"}}'
PYTHON = f"""
import json, sys
from pathlib import Path

if __name__ == "__main__":
    found = json.loads({RESULT!r})
    Path(sys.argv[-1]).write_text(json.dumps(found))
"""
LEAN_PYTHON = f"import sys; open(sys.argv[-1], 'w').write({RESULT!r})"
SCRIPTS = {
    "python": [sys.executable, "-c", PYTHON, "score.json"],
    "lean python": [sys.executable, "-I", "-S", "-c", LEAN_PYTHON, "score.json"],
    "sh": ["/bin/sh", "-c", f"echo '{RESULT}' >$0", "score.json"],
}
TARGETS = {"python": "<= 1.02 x", "lean python": "(no target)", "sh": "<= 1.25 x"}
ROUNDS = {"python": 100, "lean python": 100, "sh": 400}


def _prepare(project: Path) -> None:
    """Make this process one that runs tasks: their names resolved, the student's slot its own."""
    prepare_imports(read_settings(project))
    acquire_slot()


def floor(command: Sequence[str]) -> float:
    """Do what has to be done: a directory, a process, its result."""
    directory = Path(tempfile.mkdtemp())
    try:
        file = directory / command[-1]
        with subprocess.Popen(
            [*command[:-1], str(file)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            process.communicate()
        return float(json.loads(file.read_text())["score"])
    finally:
        shutil.rmtree(directory)


def judged(command: Sequence[str]) -> float:
    return ExecutableJudge(list(command)).evaluate(EMPTY).score


def cpu_s(act: Callable[[], object]) -> float:
    """Return the CPU seconds that `act` takes, its children included."""
    before = _spent_s()
    act()
    return _spent_s() - before


def _spent_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def bench_executable(scratch: Path, *, quick: bool) -> None:
    _prepare(scratch)
    for name, command in SCRIPTS.items():
        assert judged(command) == floor(command) == 0.5
        rounds = 5 if quick else ROUNDS[name]
        sides = [judged, floor]
        pairs = []
        for round_number in range(rounds):
            order = sides if round_number % 2 else sides[::-1]
            taken = {side: _timed(partial(side, command)) for side in order}
            pairs.append((taken[judged], taken[floor]))
        ours, theirs = zip(*pairs, strict=True)
        for what, at in (("time", 0), ("CPU", 1)):
            ratios = [ours[at] / theirs[at] for ours, theirs in pairs]
            show(f"ExecutableJudge / floor, {name}, {what}", ratios, "x", TARGETS[name])
            best = min(o[at] for o in ours) / min(t[at] for t in theirs)
            show("  the least of each side", [best], "x", TARGETS[name])
        over = [(o[0] - t[0]) * 1000 for o, t in zip(ours, theirs, strict=True)]
        show("  what is added", [statistics.median(over)], "ms", "(no target)")


def _timed(act: Callable[[], object]) -> tuple[float, float]:
    started = time.perf_counter()
    spent = cpu_s(act)
    return time.perf_counter() - started, spent


def bench_executables_at_once(scratch: Path, *, quick: bool) -> None:
    """Compare 20 at once, in threads, with the same 20 of the floor."""
    _prepare(scratch)
    command, count = SCRIPTS["python"], 20

    def at_once(one: Callable[[Sequence[str]], float]) -> float:
        started = time.perf_counter()
        with ThreadPoolExecutor(count) as pool:
            assert set(pool.map(one, [command] * count)) == {0.5}
        return time.perf_counter() - started

    at_once(judged), at_once(floor)
    ratios = [at_once(judged) / at_once(floor) for _ in range(2 if quick else 15)]
    show(f"{count} ExecutableJudges at once / {count} floors", ratios, "x", "<= 1.15 x")


def bench_regex(scratch: Path, *, quick: bool) -> None:
    """Compare a search through a megabyte with the bare one."""
    del scratch
    lines = [f"line {number} says nothing of the kind\n" for number in range(27_000)]
    text = "".join(lines) + "answer: 42"
    message = MessageAddedEvent(message=Message(content=text))
    transcript = Transcript(run_id="r", events=(message,))
    pattern = re.compile(r"answer: \d+$")
    judge = RegexJudge([pattern])
    assert judge.evaluate(transcript).score == 1.0
    over = []
    for _ in range(5 if quick else 100):
        bare = cpu_s(lambda: pattern.search(text))
        over.append((cpu_s(lambda: judge.evaluate(transcript)) - bare) * 1000)
    show(f"RegexJudge over re.search, {len(text):,} characters", over, "ms", "<= 3 ms")

"""Searches for patterns within a limit of CPU time, wherever it is called from."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import MachineError
from pytest_chalk.sandbox import run_trusted
from pytest_chalk.sandbox.cpu_limit import CpuTimeSpentError, can_limit_cpu_time, cpu_time_limit

if TYPE_CHECKING:
    from collections.abc import Sequence

START_S = 30.0
"""For a Python to start, beside the search. It takes 20 ms, on an overloaded machine seconds."""

SLOWNESS = 10
"""How much longer than its CPU time a search may take on an overloaded machine."""

MAX_REPLY_BYTES = 1_000_000

_CHILD = """
import json, re, signal, sys
with open(sys.argv[1], encoding="utf-8", errors="surrogatepass") as opened:
    plan = json.load(opened)
found = []
def spent(*_):
    found.extend([None] * (len(plan["patterns"]) - len(found)))
    print(json.dumps(found))
    sys.stdout.flush()
    raise SystemExit
signal.signal(signal.SIGVTALRM, spent)
signal.setitimer(signal.ITIMER_VIRTUAL, plan["limit_s"])
for source, flags in plan["patterns"]:
    found.append(re.compile(source, flags).search(plan["text"]) is not None)
signal.setitimer(signal.ITIMER_VIRTUAL, 0)
print(json.dumps(found))
"""


def search_all(patterns: Sequence[re.Pattern[str]], text: str, limit_s: float) -> list[bool | None]:
    """Return for each pattern whether it is in the text; None where the time was over.

    The main thread has a timer that ends a search. Elsewhere a process of its own searches, but for
    patterns of other makes than `re`, for which there is no limit then.
    """
    if can_limit_cpu_time():
        return _search_here(patterns, text, limit_s)
    if all(isinstance(pattern, re.Pattern) for pattern in patterns):
        return _search_apart(patterns, text, limit_s)
    return [pattern.search(text) is not None for pattern in patterns]


def _search_here(
    patterns: Sequence[re.Pattern[str]], text: str, limit_s: float
) -> list[bool | None]:
    found: list[bool | None] = []
    try:
        with cpu_time_limit(limit_s):
            for pattern in patterns:
                found.append(pattern.search(text) is not None)  # noqa: PERF401 - kept when cut off
    except CpuTimeSpentError:
        found += [None] * (len(patterns) - len(found))
    return found


def _search_apart(
    patterns: Sequence[re.Pattern[str]], text: str, limit_s: float
) -> list[bool | None]:
    plan = {
        "patterns": [(pattern.pattern, pattern.flags) for pattern in patterns],
        "text": text,
        "limit_s": limit_s,
    }
    with tempfile.TemporaryDirectory(prefix="chalk-search-") as folder:
        file = Path(folder) / "plan.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        done = run_trusted(
            [sys.executable, "-I", "-S", "-c", _CHILD, str(file)],
            cwd=Path(folder),
            env={},
            time_limit_s=START_S + SLOWNESS * limit_s,
            max_output_bytes=MAX_REPLY_BYTES,
        )
    if done.timed_out:
        return [None] * len(patterns)
    if done.exit_code != 0:
        message = f"the process that searches for patterns failed: {done.stderr.decode()}"
        raise MachineError(message)
    found: list[bool | None] = json.loads(done.stdout)
    return found

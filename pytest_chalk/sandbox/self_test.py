"""Finds out, as the student, whether the box holds: by trying what it must not be able to do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox.capture import run_as_student
from pytest_chalk.sandbox.guarantees import enforced

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pytest_chalk.sandbox.box import Box
    from pytest_chalk.sandbox.layout import Level

SELF_TEST_TIME_LIMIT_S = 10.0
"""It takes 5 ms: more is a machine that does not answer."""

# Connecting a datagram socket sends nothing: it succeeds where there is a route.
# In a pid namespace our pid may be that of a process in the box, hence the look at its name.
# A folder is readable if there is a file somewhere below it: one that is hidden holds nothing but
# what leads to folders that the student is meant to see.
_SCRIPT = """
pid=$1 name=$2 shown=$3; shift 3
shopt -s nullglob dotglob
holds() {
  local entry
  for entry in "$1"/*; do
    case "$shown" in *":$entry:"*) continue ;; esac
    if [ -L "$entry" ] || [ ! -d "$entry" ] || holds "$entry"; then return 0; fi
  done
  return 1
}
if [ "$(cat /proc/$pid/comm 2>/dev/null)" = "$name" ]; then
  [ -r "/proc/$pid/environ" ] && echo environ
  kill -0 "$pid" 2>/dev/null && echo signal
fi
(: >/dev/udp/192.0.2.1/9) 2>/dev/null && echo network
for path; do
  [ -r "$path" ] && { [ ! -d "$path" ] || holds "$path"; } && echo "read $path"
done
echo done
"""


@dataclass(frozen=True)
class SelfTest:
    """What the student could do. Nothing of it should be, but a level need not forbid all."""

    readable: tuple[str, ...]
    """Of the paths that were to be tried."""

    reads_environment: bool
    """Of the harness."""

    signals_harness: bool
    reaches_network: bool

    def breaches(self, level: Level, *, allowed: Collection[str] = ()) -> list[str]:
        """Return, in words, what the student could do although the level forbids it.

        Reading the paths in `allowed` was permitted by somebody.
        """
        unread = [path for path in self.readable if path not in allowed]
        found = {
            "harness": ["read the environment of the harness"] * self.reads_environment
            + ["signal the harness"] * self.signals_harness,
            "network": ["reach the network"] * self.reaches_network,
            "tasks": [f"read {path!r}" for path in unread],
        }
        return [words for name in enforced(level) for words in found.get(name, [])]


def try_box(box: Box, secrets: Sequence[Path]) -> SelfTest:
    """Try, as the student, to read `secrets`, to reach the harness, and to reach the network.

    Raises:
        BoxError: The box is broken, or the attempt itself went wrong.
    """
    pid = str(os.getpid())
    name = Path("/proc/self/comm").read_text().strip()
    shown = (box.paths.workdir, box.slot.runtime_dir, *box.slot.public_directories())
    given = (pid, name, f":{':'.join(map(str, shown))}:", *map(str, secrets))
    done = run_as_student(
        box,
        ("/bin/bash", "-c", _SCRIPT, "bash", *given),
        time_limit_s=SELF_TEST_TIME_LIMIT_S,
        max_output_bytes=1_000_000,
    )
    lines = done.stdout.decode("utf-8", "surrogateescape").splitlines()
    if not lines or lines[-1] != "done":
        message = (
            f"the self-test of the box went wrong: exit code {done.exit_code}, {done.stderr!r}"
        )
        raise BoxError(message)
    return SelfTest(
        readable=tuple(line[5:] for line in lines if line.startswith("read ")),
        reads_environment="environ" in lines,
        signals_harness="signal" in lines,
        reaches_network="network" in lines,
    )

"""Runs hidden tests as the student and reports every phase of each on the standard output.

Copied to where the student can read it and run there, with a plan on its standard input: standard
library and pytest only. What the tests and the student's code print goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Recorder:
    """Writes a line for each phase of each test."""

    def __init__(self, channel: int, token: str) -> None:
        self._channel, self._token = channel, token

    def pytest_runtest_logreport(self, report: Any) -> None:  # noqa: ANN401 - pytest's own
        """Report one phase."""
        line = {
            "token": self._token,
            "id": report.nodeid,
            "when": report.when,
            "outcome": report.outcome,
        }
        os.write(self._channel, json.dumps(line).encode() + b"\n")


def main() -> int:
    """Run what the plan says and return pytest's exit status."""
    plan = json.loads(sys.stdin.buffer.read())
    channel = os.dup(1)
    os.dup2(2, 1)
    if plan["runtime"]:
        sys.path.insert(0, plan["runtime"])
    pytest: Any = importlib.import_module("pytest")  # by name: the student's, not the harness's

    # After the standard library, so that nothing of the student's passes for a part of it; before
    # what is installed, where the student's own names may be in use.
    installed = (at for at, path in enumerate(sys.path) if path.endswith("-packages"))
    at = next(installed, len(sys.path))
    sys.path[at:at] = [*plan["search"]]
    arguments = [
        "--color=no",
        "--tb=short",
        "--import-mode=importlib",
        "-pno:cacheprovider",
        f"--rootdir={plan['rootdir']}",
        f"--confcutdir={plan['rootdir']}",
        f"-c{plan['ini']}",
        *plan["tests"],
    ]
    os.write(channel, json.dumps({"token": plan["token"], "started": True}).encode() + b"\n")
    return int(pytest.main(arguments, plugins=[Recorder(channel, plan["token"])]))


if __name__ == "__main__":
    sys.exit(main())

"""Where the live line goes: below the line that pytest writes on, or as lines of its own.

Pytest's output is captured while a test runs, and its reporter knows nothing of what is written
here. So the text goes straight to the descriptor that pytest had before it captured anything.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import pytest

Kind: TypeAlias = Literal["line", "lines"]
"""One line that is painted again and again, or a line of each run from time to time."""

USUAL_COLUMNS = 80
"""Of a terminal that does not say how wide it is, as for pytest."""

_CLEAR, _UP = "\x1b[2K", "\x1b[1A"


def kind_of_screen(config: pytest.Config) -> Kind | None:
    """Return how running tasks can be shown here; None where nobody should be disturbed."""
    has_reporter = config.pluginmanager.has_plugin("terminal")
    if not has_reporter or config.getoption("usepdb", default=False) or not _is_stdout():
        return None
    verbosity = config.get_verbosity()
    logs_live = config.pluginmanager.has_plugin("logging") and config.getini("log_cli")
    others_write = config.getoption("capture", "fd") == "no" or bool(logs_live)
    if os.isatty(1) and os.environ.get("TERM", "dumb") != "dumb" and not others_write:
        return "line" if verbosity >= -1 else None
    return "lines" if verbosity >= 0 else None


def _is_stdout() -> bool:
    """Tell whether pytest writes to this process's own output, and not to a program's buffer."""
    try:
        return sys.stdout.fileno() == 1
    except (AttributeError, OSError, ValueError):
        return False


class Screen:
    """Writes beside pytest's own reporter. Made while pytest captures nothing."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._fd = os.dup(1)
        self._is_painted = False

    def paint(self, line: str) -> None:
        """Show `line` below the line on which the cursor is, and put the cursor back."""
        self._write(self._below(line))
        self._is_painted = bool(line)

    def erase(self) -> None:
        """Take away what is painted, before pytest writes."""
        if self._is_painted:
            self.paint("")

    def print_lines(self, lines: list[str]) -> None:
        """Write lines that stay; pytest goes on on a line of its own."""
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        # None: it is at the beginning of a line, as after its own `ensure_newline`. It says so too
        # where we have put it there and it has written nothing since.
        is_within = self._column() > 0 and getattr(reporter, "currentfspath", "") is not None
        self._write("\n" * is_within + "".join(f"{line}\n" for line in lines))
        if reporter is not None:
            reporter.currentfspath = None

    @property
    def columns(self) -> int:
        """How wide the terminal is; 0 where pytest's own line has no room for the cursor."""
        try:
            columns = os.get_terminal_size(self._fd).columns or USUAL_COLUMNS
        except OSError:
            columns = USUAL_COLUMNS
        return columns - 1 if self._column() < columns else 0

    def close(self) -> None:
        """Let go of the terminal."""
        self.erase()
        with suppress(OSError):
            os.close(self._fd)

    def _column(self) -> int:
        return self._config.get_terminal_writer().width_of_current_line

    def _below(self, line: str) -> str:
        column = self._column()
        right = f"\x1b[{column}C" if column else ""
        return f"\n\r{_CLEAR}{line}{_UP}\r{right}"

    def _write(self, text: str) -> None:
        left = text.encode("utf-8", "replace")
        with suppress(OSError):  # the terminal is gone, and whoever looked at it
            while left:
                left = left[os.write(self._fd, left) :]

"""The `bash` tool: a persistent shell in the student's box."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_chalk.authoring.tool import ToolAnswer, ToolRefusalError
from pytest_chalk.errors import BoxError
from pytest_chalk.tools.shell import Shell, ShellOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.sandbox import Box

CALL_TIME_LIMIT_S = 3_600.0
"""For one command where the step sets no limit. Long builds take half an hour; a command that
waits for input it never gets would take the night."""

MAX_OUTPUT_BYTES = 16_384
"""Of stdout and stderr each, head and tail. About 4,000 tokens: more would crowd out the task."""


class BashTool:
    """Runs commands in one shell per run; what a command sets, later ones find."""

    name = "bash"
    uses_box = True
    description = (
        "Run a command in a bash shell. The shell persists: directory, variables and functions "
        "last until it is restarted. Output is cut in the middle if it is long. A command that "
        "runs into its time limit is killed with everything it started; the shell stays."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command to run."},
            "restart": {"type": "boolean", "description": "Start a new shell instead."},
            "timeout_s": {"type": "number", "description": "Seconds the command may take."},
        },
        "additionalProperties": False,
    }

    def __init__(self, box: Box) -> None:
        self._box = box
        self._shell: Shell | None = None
        self._had_shell = False
        self._kills_told = len(box.reaped)

    def call(self, arguments: Mapping[str, Any], *, time_limit_s: float | None) -> ToolAnswer:
        """Run the command, or restart the shell.

        Raises:
            ToolRefusalError: No command, or arguments of the wrong kind.
            BoxError: The box is broken.
        """
        if arguments.get("restart"):
            self._restart()
            return ToolAnswer("The shell was restarted.")
        command = _command(arguments)
        limit_s = _time_limit(arguments, time_limit_s)
        note = self._ensure_shell()
        shell = self._shell
        if shell is None:  # pragma: no cover - it was just made
            raise BoxError("there is no shell")
        outcome = shell.run(command, time_limit_s=limit_s)
        notes = [note, *self._aftermath(outcome, limit_s), *self._kills()]
        return _answer(outcome, [text for text in notes if text])

    def close(self) -> None:
        """Close the shell; the box ends its processes."""
        if self._shell is not None:
            self._shell.close()
            self._shell = None

    def _ensure_shell(self) -> str:
        """Start a shell if there is none; return what the student should know about it."""
        if self._shell is not None and self._shell.is_alive:
            return ""
        self.close()
        try:
            self._shell = Shell(self._box, MAX_OUTPUT_BYTES)
        except OSError as error:
            message = f"bash cannot be started in the student's box: {error}"
            raise BoxError(message) from error
        told = "The shell had ended; this is a new one." if self._had_shell else ""
        self._had_shell = True
        return told

    def _restart(self) -> None:
        self.close()
        self._box.kill_processes()
        self._had_shell = False

    def _kills(self) -> list[str]:
        """Return why everything of the student was killed since that was last told."""
        reasons = self._box.reaped
        told, self._kills_told = self._kills_told, len(reasons)
        return [f"All processes were killed: too much {why}." for why in reasons[told:]]

    def _aftermath(self, outcome: ShellOutcome, limit_s: float) -> list[str]:
        notes = []
        if outcome.timed_out:
            notes.append(f"The command was killed at its time limit of {limit_s:g} s.")
        if outcome.shell_ended:
            self.close()
            self._had_shell = False
            notes.append("The command ended the shell; the next one gets a new shell.")
        elif outcome.exit_code is None:
            self._restart()
            notes.append("The shell did not come back and was restarted: its state is lost.")
        return notes


def _command(arguments: Mapping[str, Any]) -> str:
    unknown = sorted(set(arguments) - {"command", "restart", "timeout_s"})
    if unknown:
        message = f"bash takes command, restart and timeout_s, not {', '.join(unknown)}."
        raise ToolRefusalError(message)
    command = arguments.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ToolRefusalError("no command was given.")
    if "\0" in command:
        raise ToolRefusalError("a command cannot hold a NUL character.")
    return command


def _time_limit(arguments: Mapping[str, Any], time_limit_s: float | None) -> float:
    """Return the seconds of this call: what was asked, within what is left."""
    asked = arguments.get("timeout_s")
    ceiling = CALL_TIME_LIMIT_S if time_limit_s is None else min(time_limit_s, CALL_TIME_LIMIT_S)
    if asked is None:
        return ceiling
    if isinstance(asked, bool) or not isinstance(asked, (int, float)):
        raise ToolRefusalError("timeout_s must be a number of seconds.")
    if not math.isfinite(asked) or asked <= 0:
        raise ToolRefusalError("timeout_s must be above 0.")
    return min(float(asked), ceiling)


def _answer(outcome: ShellOutcome, notes: list[str]) -> ToolAnswer:
    stdout, stderr = _text(outcome.stdout.rendered()), _text(outcome.stderr.rendered())
    parts = [stdout.rstrip("\n")]
    if stderr.strip():
        parts.append(f"[stderr]\n{stderr.rstrip(chr(10))}")
    if outcome.exit_code not in (0, None):
        notes = [f"exit code {outcome.exit_code}", *notes]
    parts += [f"[{note}]" for note in notes]
    text = "\n".join(part for part in parts if part)
    return ToolAnswer(
        text or "[no output]",
        details={
            "stdout": stdout,
            "stderr": stderr,
            "exit_code": outcome.exit_code,
            "timed_out": outcome.timed_out,
            "truncated": outcome.stdout.is_truncated or outcome.stderr.is_truncated,
        },
    )


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")

"""A shell of the student that outlives its commands: what one call sets, the next one finds."""

from __future__ import annotations

import os
import secrets
import select
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.sandbox import BoundedOutput, Command, clock_s

if TYPE_CHECKING:
    from pytest_chalk.sandbox import Box

_LOOP = r"""
__chalk_call() { eval "$1" </dev/null >&5 2>&6 3<&- 4>&- 5>&- 6>&-; }
trap 'return 143 2>/dev/null || :' USR1
while IFS= read -r -d '' -u 3 __chalk_nonce && IFS= read -r -d '' -u 3 __chalk_text; do
  __chalk_call "$__chalk_text"
  printf '%s %s\n' "$__chalk_nonce" "$?" >&4
done
"""
"""Reads commands from descriptor 3 and says on 4 how each ended. `eval` runs in the shell itself,
so directories, variables and functions last. The trap gives up the current command and no more:
bash runs it as soon as the foreground process is gone, and `return` leaves the function. The
output is put back for each command, so that an `exec >file` does not silence the next."""

DRAIN_S = 0.2
"""How long output is read after a command has ended. A background process may write for ever."""

INTERRUPT_GRACE_S = 2.0
"""How long a shell may take to give up a command whose processes are killed."""

READ_BYTES = 65_536


@dataclass(frozen=True)
class ShellOutcome:
    """What one command did. `exit_code` is the shell's own where `shell_ended` is true."""

    exit_code: int | None
    stdout: BoundedOutput
    stderr: BoundedOutput
    timed_out: bool = False
    shell_ended: bool = False


class Shell:
    """One bash process in the student's box."""

    def __init__(self, box: Box, max_output_bytes: int) -> None:
        """Start the shell.

        Raises:
            BoxError: The box is broken.
            OSError: There is no bash.
        """
        self._box, self._max_bytes = box, max_output_bytes
        pipes = [os.pipe() for _ in range(4)]
        (command_r, self._command), (self._status, status_w), *outputs = pipes
        (self._stdout, stdout_w), (self._stderr, stderr_w) = outputs
        theirs = {3: command_r, 4: status_w, 5: stdout_w, 6: stderr_w}
        try:
            self._process = box.launch(
                Command(("/bin/bash", "--noprofile", "--norc", "-c", _LOOP), extra_fds=theirs)
            )
        except BaseException:
            self.close()
            raise
        finally:
            for fd in theirs.values():
                os.close(fd)
        for fd in (self._status, self._stdout, self._stderr):
            os.set_blocking(fd, False)

    @property
    def is_alive(self) -> bool:
        """Whether the shell is running."""
        return self._process.poll() is None

    def run(self, text: str, *, time_limit_s: float) -> ShellOutcome:
        """Run a command; at the time limit end it and all it started, and keep the shell.

        Raises:
            BoxError: The box is broken.
        """
        started_s = clock_s()
        exchange = _Exchange(self, secrets.token_hex(8), self._max_bytes)
        try:
            ended = exchange.send(text) and exchange.wait(time_limit_s)
        except BaseException:
            self._box.kill_started_since(started_s, keep={self._process.pid})
            raise
        timed_out = not ended and not exchange.shell_ended
        if timed_out:
            self._process.interrupt()
            self._box.kill_started_since(started_s, keep={self._process.pid})
            exchange.wait(INTERRUPT_GRACE_S)
        exchange.drain()
        status = self._process.wait(INTERRUPT_GRACE_S) if exchange.shell_ended else exchange.status
        return ShellOutcome(
            status, exchange.stdout, exchange.stderr, timed_out, exchange.shell_ended
        )

    def close(self) -> None:
        """Close our ends; the box ends the process."""
        for fd in (self._command, self._status, self._stdout, self._stderr):
            if fd >= 0:
                os.close(fd)
        self._command = self._status = self._stdout = self._stderr = -1

    @property
    def fds(self) -> tuple[int, int, int, int]:
        """Our ends: commands, status, stdout, stderr."""
        return self._command, self._status, self._stdout, self._stderr


class _Exchange:
    """One command sent, and what comes back until its status does."""

    def __init__(self, shell: Shell, nonce: str, max_bytes: int) -> None:
        self._command, self._status_fd, self._stdout_fd, self._stderr_fd = shell.fds
        self._nonce = nonce
        self._pending = b""
        self.stdout, self.stderr = BoundedOutput(max_bytes), BoundedOutput(max_bytes)
        self.status: int | None = None
        self.shell_ended = False

    def send(self, text: str) -> bool:
        """Send the command; False if the shell is gone."""
        rest = f"{self._nonce}\0{text}\0".encode("utf-8", "surrogateescape")
        try:
            while rest:
                rest = rest[os.write(self._command, rest) :]
        except BrokenPipeError:
            self.shell_ended = True
        return not self.shell_ended

    def wait(self, seconds: float) -> bool:
        """Read until the status comes (True), the shell ends, or time is up."""
        deadline = time.monotonic() + seconds
        while self.status is None and not self.shell_ended:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            self._read(left_s)
        return self.status is not None

    def drain(self) -> None:
        """Read what is in the pipes already, but not for ever."""
        deadline = time.monotonic() + DRAIN_S
        while self._read(0) and time.monotonic() < deadline:
            pass

    def _read(self, seconds: float) -> bool:
        """Read what is ready within `seconds`; False if nothing was."""
        fds = [self._stdout_fd, self._stderr_fd]
        if self.status is None and not self.shell_ended:
            fds.append(self._status_fd)
        ready, _, _ = select.select(fds, [], [], seconds)
        got = False
        for fd in ready:
            try:
                chunk = os.read(fd, READ_BYTES)
            except BlockingIOError:
                continue
            got = got or bool(chunk)
            if fd == self._status_fd:
                self._take_status(chunk)
            else:
                (self.stdout if fd == self._stdout_fd else self.stderr).add(chunk)
        return got

    def _take_status(self, chunk: bytes) -> None:
        if not chunk:
            self.shell_ended = True
            return
        self._pending = (self._pending + chunk)[-READ_BYTES:]
        for line in self._pending.splitlines():
            nonce, _, status = line.partition(b" ")
            if nonce.decode("ascii", "replace") == self._nonce and status.isdigit():
                self.status = int(status)

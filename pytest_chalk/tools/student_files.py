"""Files of the student, read and written as the student: what it may not touch, its tools do not.

Nothing here opens a path in our process. A shell of the student's looks at the path and becomes
the `dd` that opens it, so the kernel decides for the student's uid, whatever is a link to where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_chalk.authoring.tool import ToolRefusalError
from pytest_chalk.errors import BoxError
from pytest_chalk.sandbox import run_as_student

if TYPE_CHECKING:
    from pytest_chalk.sandbox import Box, Completed

FILE_TIME_LIMIT_S = 10.0
"""For one file. Reading 16 MiB takes 30 ms; what takes longer than this hangs, for example on a
network mount, or was stopped by the student."""

MAX_PATH_BYTES = 4_096
"""The kernel's own limit. A longer argument would fail at exec, with a message about exec."""

_MISSING, _DIRECTORY, _IRREGULAR, _FORBIDDEN = range(40, 44)
_PROBLEMS = {
    _MISSING: "there is no such file, or you may not look there",
    _DIRECTORY: "this is a directory",
    _IRREGULAR: "this is no regular file",
    _FORBIDDEN: "permission denied",
}

_CHECKS = f"""PATH=/usr/bin:/bin
[ -e "$1" ] || exit {_MISSING}
[ -d "$1" ] && exit {_DIRECTORY}
[ -f "$1" ] || exit {_IRREGULAR}
"""

# Without blocking: a FIFO that takes the file's place after the check opens at once and fails. Only
# GNU's dd can do so; with others the time limit has to do.
_READ = f"""{_CHECKS}
[ -r "$1" ] || exit {_FORBIDDEN}
how=nonblock,fullblock,count_bytes
dd if=/dev/null iflag=$how count=0 2>/dev/null || exec head -c "$2" "$1"
exec dd if="$1" iflag=$how bs=65536 count="$2" status=none
"""

_WRITE = f"""{_CHECKS}
[ -w "$1" ] || exit {_FORBIDDEN}
dd if=/dev/null of=/dev/null oflag=nonblock conv=nocreat count=0 2>/dev/null || exec cat >"$1"
exec dd of="$1" iflag=fullblock oflag=nonblock conv=nocreat bs=65536 status=none
"""


@dataclass(frozen=True)
class FileContent:
    """What was read of a file: all of it unless `is_longer`."""

    path: str
    content: bytes
    is_longer: bool


class StudentFiles:
    """The files that the student of a box can reach, for one call of a tool."""

    def __init__(self, box: Box, time_limit_s: float | None) -> None:
        """Use the files of `box`; all of the call has to be over after `time_limit_s`."""
        self._box = box
        left_s = FILE_TIME_LIMIT_S if time_limit_s is None else time_limit_s
        self._time_limit_s = min(left_s, FILE_TIME_LIMIT_S)

    def read(self, path: str, *, max_bytes: int) -> FileContent:
        """Read at most the first `max_bytes` of a regular file.

        Raises:
            ToolRefusalError: It cannot be read; says why, as the student may know it.
            BoxError: The box is broken.
        """
        absolute = self._absolute(path)
        done = self._run(_READ, (absolute, str(max_bytes + 1)), max_output_bytes=max_bytes + 1)
        self._refuse_failure(done, absolute, "read")
        return FileContent(absolute, done.stdout[:max_bytes], len(done.stdout) > max_bytes)

    def write(self, path: str, content: bytes, *, former: bytes) -> None:
        """Replace the content of a regular file in place; its owner, mode and links stay.

        When that fails half-way (a full disk), `former` is put back.

        Raises:
            ToolRefusalError: It cannot be written; says why and what the file holds now.
            BoxError: The box is broken.
        """
        absolute = self._absolute(path)
        done = self._run(_WRITE, (absolute,), stdin=content)
        if done.exit_code == 0 or done.exit_code in _PROBLEMS:
            self._refuse_failure(done, absolute, "written")
            return
        restored = self._run(_WRITE, (absolute,), stdin=former)
        state = "It is as it was" if restored.exit_code == 0 else "Its content may be damaged"
        self._refuse_failure(done, absolute, "written", more=f" {state}.")

    def _absolute(self, path: str) -> str:
        """Return `path` below the workdir unless it is absolute, by its text alone."""
        if not path or "\0" in path:
            raise ToolRefusalError("file_path is empty or holds a NUL character.")
        absolute = path if path.startswith("/") else f"{self._box.paths.workdir}/{path}"
        try:
            length = len(absolute.encode())
        except UnicodeEncodeError:
            raise ToolRefusalError("file_path is no valid text.") from None
        if length > MAX_PATH_BYTES:
            message = f"file_path is longer than {MAX_PATH_BYTES} bytes."
            raise ToolRefusalError(message)
        return absolute

    def _run(
        self,
        script: str,
        arguments: tuple[str, ...],
        *,
        stdin: bytes = b"",
        max_output_bytes: int = 4_096,
    ) -> Completed:
        try:
            return run_as_student(
                self._box,
                ("/bin/sh", "-c", script, "sh", *arguments),
                time_limit_s=self._time_limit_s,
                max_output_bytes=max_output_bytes,
                stdin=stdin,
            )
        except TimeoutError:
            raise ToolRefusalError("your own processes kept the tool from starting.") from None
        except OSError as error:
            message = f"/bin/sh cannot be started in the student's box: {error}"
            raise BoxError(message) from error

    def _refuse_failure(self, done: Completed, path: str, verb: str, *, more: str = "") -> None:
        if done.timed_out:
            why = f"it could not be {verb} within {self._time_limit_s:g} s"
        elif done.exit_code in _PROBLEMS:
            why = _PROBLEMS[done.exit_code]
        elif done.exit_code < 0:
            why = f"the process that should have {verb} it was killed"
        elif done.exit_code:
            said = done.stderr.decode("utf-8", "replace").strip().rpartition(": ")[2]
            why = f"it could not be {verb}: {said or f'exit code {done.exit_code}'}"
        else:
            return
        message = f"{path}: {why}.{more}"
        raise ToolRefusalError(message)

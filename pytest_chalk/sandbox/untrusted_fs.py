"""Names and opens of files that the student can change, without ever following a link.

Every walk starts at `/` and takes one component at a time, relative to the descriptor before it:
what was checked is what is opened, whatever is renamed meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NewType

from pytest_chalk.errors import MachineError, StudentMisbehaviorError, TaskDefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterator

StudentPath = NewType("StudentPath", Path)
"""Names a place the student can still change. Stat and open it through this module only."""

SavedSubmission = NewType("SavedSubmission", Path)
"""Our copy, readable by us alone, made after the student's processes were killed. Safe to read."""

MACHINE_ERRNOS = frozenset({errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""What no student can be blamed for, whichever file it happens on."""

_DENIED_ERRNOS = frozenset({errno.EACCES, errno.EPERM, errno.ESTALE})
"""Of an open of what is ours alone."""

_NO_FILE_ERRNOS = frozenset({errno.ELOOP, errno.ENXIO})
"""Of an open that follows no link and waits for nobody: a link, a socket."""

_SEARCH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO opens at once, and a lease another process holds does not delay us.
_READ_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def student_path(path: Path) -> StudentPath:
    """Return `path` made absolute by its text alone.

    Raises:
        TaskDefinitionError: It names no file: it is `/`, or has a NUL character.
    """
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
    if "\0" in str(path) or not absolute.name:
        raise TaskDefinitionError(
            "submission", f"{str(path)!r} names no file", fix="Name a file or folder of the student"
        )
    return StudentPath(absolute)


@contextmanager
def blame_source(path: object, problem: str) -> Iterator[None]:
    """Turn an OSError on a student's file into the error of the one whose fault it is.

    Raises:
        MachineError: The disk or the descriptor table failed.
        StudentMisbehaviorError: Anything else.
    """
    try:
        yield
    except OSError as error:
        if error.errno in MACHINE_ERRNOS:
            message = f"{str(path)!r}: {problem}: {error.strerror}"
            raise MachineError(message) from error
        raise misbehavior(path, f"{problem}: {error.strerror}") from error


def misbehavior(path: object, reason: str) -> StudentMisbehaviorError:
    """Return the error that names a student's path and what is wrong with it, never its content."""
    return StudentMisbehaviorError(f"submission {str(path)!r} {reason}")


def open_directory(path: Path) -> int:
    """Open a directory for listing, following no link anywhere in `path`.

    Raises:
        OSError: As open(2); a link among the components is ENOTDIR or ELOOP.
    """
    parent_fd = search_directory(path.parent)
    try:
        return os.open(path.name or ".", _READ_DIRECTORY, dir_fd=parent_fd)
    finally:
        os.close(parent_fd)


def search_directory(path: Path) -> int:
    """Open the directory `path` to serve as `dir_fd`, following no link anywhere in it.

    Raises:
        OSError: As open(2), with the path up to the component that failed as `filename`.
    """
    fd = os.open("/", _SEARCH)
    for depth, part in enumerate(path.parts[1:], start=2):
        try:
            child = os.open(part, _SEARCH, dir_fd=fd)
        except OSError as error:
            error.filename = str(Path(*path.parts[:depth]))
            raise
        finally:
            os.close(fd)
        fd = child
    return fd


@contextmanager
def open_parent(path: StudentPath) -> Iterator[int]:
    """Give a descriptor of the directory that `path` is in.

    Raises:
        StudentMisbehaviorError: A parent does not exist, is no directory, is a symlink, or cannot
            be searched.
    """
    with _blame_parent(path):
        fd = search_directory(path.parent)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _blame_parent(path: StudentPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        parent = Path(error.filename)
        if error.errno == errno.ENOENT:
            raise misbehavior(path, f"is in {str(parent)!r}, which does not exist") from error
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            kind = "is a symlink" if parent.is_symlink() else "is not a directory"
            raise misbehavior(path, f"is below {str(parent)!r}, which {kind}") from error
        with blame_source(path, f"cannot open its parent {str(parent)!r}"):
            raise


def stat_entry(name: str, dir_fd: int) -> os.stat_result:
    """Return the entry's own stat, never that of what it points to."""
    return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)


class NotRegularError(OSError):
    """There is something, and it is no plain file; `found` says so."""

    found = "is a link, a folder or a special file"

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, self.found, str(path))


def open_regular(path: Path) -> int:
    """Open for reading what should be a plain file, in a folder that nobody changes any more.

    No link is followed and nobody is waited for: a tree that was saved may hold links, and a script
    may have put a FIFO where its result belongs.

    Raises:
        FileNotFoundError: Nothing is there.
        NotRegularError: It is no plain file.
        MachineError: The disk or the descriptor table failed.
        OSError: It cannot be opened for another reason.
    """
    try:
        fd = os.open(path, _READ_FILE)
    except OSError as error:
        if error.errno in _NO_FILE_ERRNOS:
            raise NotRegularError(path) from None
        if error.errno in MACHINE_ERRNOS:
            message = f"{str(path)!r} cannot be opened: {error.strerror}"
            raise MachineError(message) from error
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise NotRegularError(path)


def open_saved(path: Path) -> int:
    """Open a saved copy as `open_regular` does. It is ours: that we may not is the machine's fault.

    Raises:
        FileNotFoundError: Nothing is there.
        NotRegularError: It is no plain file.
        MachineError: This machine denies it, or failed.
        OSError: It cannot be opened for another reason, such as a file where a folder should be.
    """
    try:
        return open_regular(path)
    except OSError as error:
        if error.errno in _DENIED_ERRNOS:
            message = f"the copy {str(path)!r} cannot be opened: {error.strerror}"
            raise MachineError(message) from error
        raise


def open_seen(name: str, dir_fd: int, seen: os.stat_result) -> int:
    """Open the file or directory that `seen` is the stat of, for reading.

    Raises:
        OSError: As open(2); ESTALE when something else has that name by now.
    """
    flags = _READ_DIRECTORY if stat.S_ISDIR(seen.st_mode) else _READ_FILE
    fd = os.open(name, flags, dir_fd=dir_fd)
    try:
        now = os.fstat(fd)
        if (now.st_dev, now.st_ino, stat.S_IFMT(now.st_mode)) == (
            seen.st_dev,
            seen.st_ino,
            stat.S_IFMT(seen.st_mode),
        ):
            kept, fd = fd, -1
            return kept
        raise OSError(errno.ESTALE, "it was replaced while it was opened", name)
    finally:
        if fd >= 0:
            with suppress(OSError):
                os.close(fd)

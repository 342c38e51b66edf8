"""Copies what the student hands in to where the student cannot reach it."""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_chalk.errors import MachineError, StudentMisbehaviorError, TaskDefinitionError
from pytest_chalk.sandbox.current import find_run
from pytest_chalk.sandbox.removal import empty_directory
from pytest_chalk.sandbox.slots import peek_slot
from pytest_chalk.sandbox.untrusted_fs import (
    StudentPath,
    blame_source,
    misbehavior,
    open_parent,
    open_seen,
    stat_entry,
    student_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_chalk.sandbox.layout import Slot

MIB = 1024 * 1024

SUBMISSION_MAX_FILE_BYTES = 256 * MIB
"""One file. Far above source code and reports, below what fills a disk in one go."""

SUBMISSION_MAX_TOTAL_BYTES = 1024 * MIB
"""One submission. Holes of sparse files count as if they were written."""

SUBMISSION_MAX_ENTRIES = 10_000
"""Files and folders in one submission. A Rust project with vendored crates has ~3,000; a student
that hands in a million empty files would keep the copy busy past the scoring time limit."""

SUBMISSION_MAX_DEPTH = 32
"""Folders in folders, the submitted one being the first."""

FREE_RESERVE_BYTES = 64 * MIB
"""A disk with less than this beyond the limit before the copy was full without the student."""

_ZEROS = bytes(MIB)
_STUDENTS_FAULT = frozenset(
    {errno.ENAMETOOLONG, errno.EEXIST, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class SubmissionLimits:
    """What one submission may be."""

    allow_symlinks: bool
    max_file_bytes: int
    max_total_bytes: int
    max_entries: int
    max_depth: int


def save_submission(  # noqa: PLR0913 - the seeds prescribe this signature
    source: Path | str,
    dest: Path | str | None = None,
    *,
    allow_symlinks: bool = False,
    max_file_bytes: int = SUBMISSION_MAX_FILE_BYTES,
    max_total_bytes: int = SUBMISSION_MAX_TOTAL_BYTES,
    max_entries: int = SUBMISSION_MAX_ENTRIES,
    max_depth: int = SUBMISSION_MAX_DEPTH,
) -> Path:
    """Copy a file or tree of the student's to where only we can read it; return where that is.

    Call it after the student's processes were killed. Files are copied by content alone, with mode
    0600, folders with 0700. A source that does not exist is no misbehavior: nothing is copied.

    Args:
        source: The student's file or folder.
        dest: Exactly where the copy goes; must not exist. None makes a fresh folder, puts the copy
            into it under the source's name and returns the folder.
        allow_symlinks: Copy symlinks inside a tree as symlinks, never what they point to.
        max_file_bytes: Largest file.
        max_total_bytes: Largest sum of files; holes count.
        max_entries: Most files and folders in a tree.
        max_depth: Most folders in folders, the submitted one included.

    Raises:
        StudentMisbehaviorError: The source is not made of the student's own plain files and folders
            within the limits, or changed while it was copied. Names path and reason, no content.
        FileExistsError: `dest` exists.
        TaskDefinitionError: The run is judged again; only `collect_submission` works then.
        MachineError: The disk is full or broken, through no fault of the student.
    """
    _refuse_without_student(source)
    limits = SubmissionLimits(
        allow_symlinks, max_file_bytes, max_total_bytes, max_entries, max_depth
    )
    path = student_path(Path(source))
    if dest is None:
        folder = _fresh_folder()
        try:
            _copy_out(path, folder / path.name, limits)
        except BaseException:
            folder.rmdir()
            raise
        return folder
    target = Path(dest)
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    _copy_out(path, target, limits)
    return target


def _refuse_without_student(source: Path | str) -> None:
    run = find_run()
    if run is not None and run.is_judged_again:
        # Its workdir is empty: a copy of nothing would be scored as if nothing was handed in.
        raise TaskDefinitionError(
            where=f"submission {str(source)!r}",
            problem="save_submission was called while a run is judged again, without its student",
            fix="Use collect_submission, which finds what was saved then",
        )


def _fresh_folder() -> Path:
    base = Path.home() / ".config" / "chalk" / "submissions"
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    base.chmod(0o700)
    return Path(tempfile.mkdtemp(dir=base))


def _copy_out(path: StudentPath, target: Path, limits: SubmissionLimits) -> None:
    """Copy `path` to `target`; leave nothing behind when that fails."""
    run = find_run()
    slot = run.box.slot if run else peek_slot()
    # Without a run there is no student, so a path in /tmp is one of ours.
    located = StudentPath(slot.located(path)) if run else path
    with open_parent(located) as parent_fd, ExitStack() as opened:
        dest_fd = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, dest_fd)
        copy = _Copy(limits, _allowed_owners(slot), _free_bytes(dest_fd))
        try:
            copy.run(path, parent_fd, target.name, dest_fd)
        except BaseException:
            _remove_partial(target)
            raise


def copy_saved(source: Path, target: Path) -> None:
    """Copy a saved submission, however long its names and deep its folders are.

    Raises:
        OSError: It cannot be read or written.
    """
    no_limit = SubmissionLimits(
        allow_symlinks=True,
        max_file_bytes=sys.maxsize,
        max_total_bytes=sys.maxsize,
        max_entries=sys.maxsize,
        max_depth=sys.maxsize,
    )
    with ExitStack() as opened:
        fds = [os.open(path.parent, _DIRECTORY) for path in (source, target)]
        for fd in fds:
            opened.callback(os.close, fd)
        copy = _Copy(no_limit, None, _free_bytes(fds[1]))
        copy.run(StudentPath(source), fds[0], target.name, fds[1])


def _remove_partial(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        empty_directory(target.resolve())
        target.rmdir()
    else:
        target.unlink(missing_ok=True)


def _free_bytes(dest_fd: int) -> int:
    status = os.fstatvfs(dest_fd)
    return status.f_bavail * status.f_frsize


def _allowed_owners(slot: Slot) -> frozenset[int] | None:
    """Return who may own a submitted file: the student, or we through a hook; None for anybody.

    A student may hard-link files of others into its submission where the kernel lets it.
    """
    return frozenset({slot.student_uid, os.geteuid()}) if slot.separates_uids else None


class _Place(NamedTuple):
    """One folder that is being copied."""

    relative: str
    source_fd: int
    dest_fd: int
    depth: int
    names: list[str]


class _Copy:
    """One copy out of the student's reach, entry by entry."""

    def __init__(
        self, limits: SubmissionLimits, owners: frozenset[int] | None, free_bytes: int
    ) -> None:
        self._limits, self._owners, self._free_bytes = limits, owners, free_bytes
        self._total_bytes = 0
        self._entries = 0
        self._device = 0
        self._places: list[_Place] = []

    def run(self, path: StudentPath, source_fd: int, name: str, dest_fd: int) -> None:
        """Copy the entry `path.name` of `source_fd` to `name` in `dest_fd`, if it exists."""
        try:
            with blame_source(path, "cannot stat"):
                try:
                    seen = stat_entry(path.name, source_fd)
                except FileNotFoundError:
                    return
            if stat.S_ISLNK(seen.st_mode):
                raise misbehavior(path, "is a symlink")
            self._device = seen.st_dev
            self._copy_entry(str(path), seen, _Ends(path.name, source_fd, name, dest_fd), 1)
            while self._places:
                self._step()
        finally:
            for place in self._places:
                os.close(place.source_fd)
                os.close(place.dest_fd)

    def _step(self) -> None:
        """Copy the next entry of the innermost folder, or leave it."""
        place = self._places[-1]
        if not place.names:
            self._places.pop()
            os.close(place.source_fd)
            os.close(place.dest_fd)
            return
        name = place.names.pop()
        relative = f"{place.relative}/{name}"
        with blame_source(relative, "cannot stat"):
            seen = stat_entry(name, place.source_fd)
        ends = _Ends(name, place.source_fd, name, place.dest_fd)
        if stat.S_ISLNK(seen.st_mode):
            self._copy_symlink(relative, ends)
        else:
            self._copy_entry(relative, seen, ends, place.depth + 1)

    def _copy_symlink(self, relative: str, ends: _Ends) -> None:
        if not self._limits.allow_symlinks:
            raise misbehavior(relative, "is a symlink")
        with blame_source(relative, "cannot read the symlink"):
            points_to = os.readlink(ends.source_name, dir_fd=ends.source_fd)
        with self._blame_destination(relative):
            os.symlink(points_to, ends.dest_name, dir_fd=ends.dest_fd)

    def _copy_entry(self, relative: str, seen: os.stat_result, ends: _Ends, depth: int) -> None:
        self._check(relative, seen)
        if stat.S_ISDIR(seen.st_mode) and depth > self._limits.max_depth:
            reason = f"is too deep: more than {self._limits.max_depth} folders in folders"
            raise misbehavior(relative, reason)
        with blame_source(relative, "cannot open"):
            source_fd = open_seen(ends.source_name, ends.source_fd, seen)
        if stat.S_ISDIR(seen.st_mode):
            self._enter(relative, source_fd, ends, depth)
            return
        try:
            with self._blame_destination(relative):
                dest_fd = os.open(ends.dest_name, _NEW_FILE, 0o600, dir_fd=ends.dest_fd)
            try:
                self._copy_content(relative, source_fd, dest_fd)
            finally:
                os.close(dest_fd)
        finally:
            os.close(source_fd)

    def _check(self, relative: str, seen: os.stat_result) -> None:
        """Refuse, by its stat alone, what is not to be opened."""
        is_file = stat.S_ISREG(seen.st_mode)
        if not is_file and not stat.S_ISDIR(seen.st_mode):
            raise misbehavior(relative, "is not a regular file")
        if self._owners is not None and seen.st_uid not in self._owners:
            raise misbehavior(relative, f"belongs to uid {seen.st_uid}, not to the student")
        if is_file and seen.st_nlink != 1:
            raise misbehavior(relative, f"has {seen.st_nlink} names (hard links)")
        if seen.st_dev != self._device:
            raise misbehavior(relative, "is on another file system than the rest")
        if is_file:
            self._check_size(relative, seen.st_size)

    def _check_size(self, relative: str, size_bytes: int) -> None:
        limits = self._limits
        if size_bytes > limits.max_file_bytes:
            reason = f"is too large: {size_bytes} bytes, allowed are {limits.max_file_bytes}"
            raise misbehavior(relative, reason)
        if self._total_bytes + size_bytes > limits.max_total_bytes:
            reason = f"brings the total size to more than {limits.max_total_bytes} bytes"
            raise misbehavior(relative, reason)

    def _enter(self, relative: str, source_fd: int, ends: _Ends, depth: int) -> None:
        """Make the folder's copy and make the folder the innermost one. Takes `source_fd`."""
        try:
            names = self._list(relative, source_fd)
            with self._blame_destination(relative):
                os.mkdir(ends.dest_name, 0o700, dir_fd=ends.dest_fd)
                dest_fd = os.open(ends.dest_name, _DIRECTORY, dir_fd=ends.dest_fd)
        except BaseException:
            os.close(source_fd)
            raise
        self._places.append(_Place(relative, source_fd, dest_fd, depth, names))

    def _list(self, relative: str, source_fd: int) -> list[str]:
        """Return the names in a folder, last first, stopping at the limit rather than after it."""
        names = []
        with blame_source(relative, "cannot open"), os.scandir(source_fd) as entries:
            for entry in entries:
                names.append(entry.name)
                self._entries += 1
                if self._entries > self._limits.max_entries:
                    reason = f"holds more than {self._limits.max_entries} entries"
                    raise misbehavior(relative, reason)
        return sorted(names, reverse=True)

    def _copy_content(self, relative: str, source_fd: int, dest_fd: int) -> None:
        before = os.fstat(source_fd)
        self._check(relative, before)
        copied = 0
        while True:
            with blame_source(relative, "cannot read"):
                chunk = os.read(source_fd, MIB)
            if not chunk:
                break
            copied += len(chunk)
            if copied > before.st_size:
                raise misbehavior(relative, "changed while it was copied")
            with self._blame_destination(relative):
                _write_or_skip(dest_fd, chunk)
        with self._blame_destination(relative):
            os.truncate(dest_fd, copied)
        after = os.fstat(source_fd)
        if (copied, before.st_mtime_ns, before.st_ctime_ns) != (
            after.st_size,
            after.st_mtime_ns,
            after.st_ctime_ns,
        ):
            raise misbehavior(relative, "changed while it was copied")
        self._total_bytes += copied

    @contextmanager
    def _blame_destination(self, relative: str) -> Iterator[None]:
        """Tell a submission that does not fit from a disk that was full before."""
        try:
            yield
        except OSError as error:
            if error.errno not in _STUDENTS_FAULT:
                raise
            room = self._limits.max_total_bytes + FREE_RESERVE_BYTES
            if error.errno in (errno.ENOSPC, errno.EDQUOT) and self._free_bytes < room:
                message = f"no room to save submissions: {self._free_bytes} bytes were free"
                raise MachineError(message) from error
            reason = f"cannot save {relative!r}: {error.strerror}"
            raise StudentMisbehaviorError(reason) from error


class _Ends(NamedTuple):
    """Where one entry comes from and goes to."""

    source_name: str
    source_fd: int
    dest_name: str
    dest_fd: int


def _write_or_skip(dest_fd: int, chunk: bytes) -> None:
    """Write a chunk; leave a hole for a whole one of zeros, so that sparse files stay sparse."""
    if chunk == _ZEROS:
        os.lseek(dest_fd, len(chunk), os.SEEK_CUR)
        return
    left = memoryview(chunk)
    while left:
        left = left[os.write(dest_fd, left) :]

"""Removes trees that a student made, however deep, odd or hostile they are.

The walk holds one descriptor, whatever the depth: it goes down by name and up by `..`, checking
that it arrives where it came from. It follows no link and crosses no mount.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_chalk.errors import ReclaimError
from pytest_chalk.sandbox.untrusted_fs import open_directory, open_seen, stat_entry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SWEEP_MAX_ENTRIES = 2_000_000
"""Entries one sweep looks at. A hundred times a large build tree; a student that makes more would
hold up the run for minutes."""

SWEEP_TIMEOUT_S = 600.0
"""One sweep. A hundred thousand files take about a second or two."""

LISTED_AT_ONCE = 1_000
"""Entries of one directory that are in memory at the same time, and between two looks at the clock:
some milliseconds."""

SHOWN_SURVIVORS = 10
"""How many of the paths that could not be removed a message names."""

_UP = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Identity(NamedTuple):
    """What stays the same when a directory is renamed."""

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Return the identity in a stat."""
        return cls(status.st_dev, status.st_ino)


@dataclass
class Spared:
    """Paths that stay, as a tree of components: a leaf stays whole, its ancestors stay as such."""

    below: dict[str, Spared] = field(default_factory=dict)

    @classmethod
    def paths(cls, paths: Iterable[Path]) -> Spared:
        """Return the tree of absolute `paths`."""
        root = cls()
        for path in paths:
            node = root
            for part in path.parts[1:]:
                node = node.below.setdefault(part, cls())
            node.below.setdefault("", cls())  # no file is named so: marks the end of a path
        return root

    @property
    def is_whole(self) -> bool:
        """Whether everything from here down stays."""
        return "" in self.below

    def at(self, path: Path) -> Spared | None:
        """Return the node of `path`; None when nothing at or below it is spared."""
        node: Spared | None = self
        for part in path.parts[1:]:
            if node is None or node.is_whole:
                return node
            node = node.below.get(part)
        return node


@dataclass
class _Level:
    """One directory on the way down to where the walk is."""

    name: str
    identity: Identity
    pending: list[str]
    spared: Spared | None
    keeps_something: bool = False

    def spared_at(self, name: str) -> Spared | None:
        """Return what is spared at or below the entry `name`."""
        return self.spared.below.get(name) if self.spared else None


class TreeRemoval:
    """One sweep: removes what `owner_uid` owns (None: everything) below the roots given to it."""

    def __init__(
        self,
        owner_uid: int | None,
        *,
        spared: Spared | None = None,
        kept: Iterable[Path] = (),
        timeout_s: float = SWEEP_TIMEOUT_S,
    ) -> None:
        """Prepare a sweep.

        Args:
            owner_uid: Whose entries go. None: everybody's.
            spared: Paths that stay.
            kept: Directories that are emptied but stay themselves, as the roots do.
            timeout_s: For all roots together.
        """
        self.removed = 0
        self.survivors: list[str] = []
        self._is_public = False
        self._owner_uid, self._timeout_s = owner_uid, timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._spared = spared or Spared()
        self._entries_left = SWEEP_MAX_ENTRIES
        self._kept: set[Identity] = set()
        for path in kept:
            with suppress(OSError):
                self._kept.add(Identity.of(path.lstat()))

    def empty(self, root: Path, *, is_public: bool = False) -> None:
        """Remove what is to go below `root`, which itself stays and may be missing.

        In a public root the files of folders the student cannot write to are not looked at: it
        did not put them there, and such folders hold most of what is in /tmp.

        Raises:
            ReclaimError: There is too much of it, it takes too long, or the tree was moved about.
        """
        spared = self._spared.at(root)
        self._is_public = is_public
        if spared is not None and spared.is_whole:
            return
        try:
            fd = open_directory(root)
        except FileNotFoundError:
            return
        except OSError as error:
            self.survivors.append(f"{root} ({error.strerror})")
            return
        levels = [_Level(str(root), Identity.of(os.fstat(fd)), [], spared)]
        try:
            self._take_files(fd, levels)
            while levels:
                fd = self._step(fd, levels)
        finally:
            os.close(fd)

    def _take_files(self, fd: int, levels: list[_Level]) -> None:
        """Remove what is no folder from the one the walk is in; leave its folders pending."""
        stay = self._is_public and not self._may_write(os.fstat(fd))
        with os.scandir(fd) as entries:
            while found := list(itertools.islice(entries, LISTED_AT_ONCE)):
                files: list[os.DirEntry[str]] = []
                folders: list[os.DirEntry[str]] = []
                for entry in found:
                    (folders if entry.is_dir(follow_symlinks=False) else files).append(entry)
                levels[-1].pending += [entry.name for entry in folders]
                self._count(len(folders) if stay else len(found))
                if not stay:
                    self._take(fd, files, levels)

    def _count(self, entries: int) -> None:
        self._entries_left -= entries
        if self._entries_left < 0:
            message = f"more than {SWEEP_MAX_ENTRIES} files and folders of the student to remove"
            raise ReclaimError(message)

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            message = f"removing the student's files took longer than {self._timeout_s:g} s"
            raise ReclaimError(message)

    def _take(self, fd: int, files: list[os.DirEntry[str]], levels: list[_Level]) -> None:
        self._check_time()
        level, owner_uid = levels[-1], self._owner_uid
        for entry in files:
            try:
                # A spared path, or a parent of one, stays also when it is no directory: it may be
                # the student's trap, and save_submission is to say so.
                if (level.spared is not None and level.spared_at(entry.name) is not None) or (
                    owner_uid is not None and entry.stat(follow_symlinks=False).st_uid != owner_uid
                ):
                    level.keeps_something = True
                    continue
                os.unlink(entry.name, dir_fd=fd)
                self.removed += 1
            except FileNotFoundError:
                pass
            except OSError as error:
                self._survives(levels, entry.name, error)

    def _step(self, fd: int, levels: list[_Level]) -> int:
        """Deal with one entry, or leave a finished directory; return the descriptor to go on at."""
        level = levels[-1]
        if level.pending:
            child_fd = self._visit(fd, level.pending.pop(), levels)
            if child_fd is None:
                return fd
            os.close(fd)
            return child_fd
        levels.pop()
        if not levels:
            return fd
        parent_fd = os.open("..", _UP, dir_fd=fd)
        os.close(fd)
        if Identity.of(os.fstat(parent_fd)) != levels[-1].identity:
            os.close(parent_fd)
            message = f"{_shown(levels, level.name)} was moved while it was removed"
            raise ReclaimError(message)
        self._leave(parent_fd, level, levels)
        return parent_fd

    def _visit(self, fd: int, name: str, levels: list[_Level]) -> int | None:
        """Descend into a folder that may hold something: return its descriptor, else None."""
        self._check_time()
        try:
            seen = stat_entry(name, fd)
            if self._is_to_enter(name, seen, levels[-1]):
                return self._descend(fd, name, seen, levels)
            levels[-1].keeps_something = True
        except FileNotFoundError:
            pass
        except OSError as error:
            self._survives(levels, name, error)
        return None

    def _is_to_enter(self, name: str, seen: os.stat_result, level: _Level) -> bool:
        spared = level.spared_at(name)
        is_whole = spared is not None and spared.is_whole
        return not is_whole and seen.st_dev == level.identity.device and self._may_hold(seen)

    def _may_hold(self, seen: os.stat_result) -> bool:
        """Say whether the student may search a directory; if not, nothing of it is below."""
        return self._may(seen, stat.S_IXGRP, stat.S_IXOTH)

    def _may_write(self, seen: os.stat_result) -> bool:
        return self._may(seen, stat.S_IWGRP, stat.S_IWOTH)

    def _may(self, seen: os.stat_result, group_bit: int, others_bit: int) -> bool:
        if self._owner_uid in (None, seen.st_uid):
            return True
        # A student's uid is also its only group.
        return bool(seen.st_mode & (group_bit if seen.st_gid == self._owner_uid else others_bit))

    def _descend(self, fd: int, name: str, seen: os.stat_result, levels: list[_Level]) -> int:
        # Without root a folder of mode 0 can neither be listed nor emptied, by its owner either.
        if seen.st_uid == os.geteuid() != 0 and seen.st_mode & 0o700 != 0o700:
            os.chmod(name, 0o700, dir_fd=fd)
        child_fd = open_seen(name, fd, seen)
        levels.append(_Level(name, Identity.of(seen), [], levels[-1].spared_at(name)))
        try:
            self._take_files(child_fd, levels)
        except BaseException:
            levels.pop()
            os.close(child_fd)
            raise
        return child_fd

    def _leave(self, parent_fd: int, level: _Level, levels: list[_Level]) -> None:
        parent = levels[-1]
        if level.spared is not None or level.identity in self._kept:
            parent.keeps_something = True
            return
        try:
            seen = stat_entry(level.name, parent_fd)
            if self._owner_uid not in (None, seen.st_uid):
                parent.keeps_something = True
                return
            os.rmdir(level.name, dir_fd=parent_fd)
            self.removed += 1
        except FileNotFoundError:
            return
        except OSError as error:
            parent.keeps_something = True
            # Somebody else's file in the student's folder is not the student's failing.
            if not (level.keeps_something and error.errno in (errno.ENOTEMPTY, errno.EEXIST)):
                self._survives(levels, level.name, error)

    def _survives(self, levels: list[_Level], name: str, error: OSError) -> None:
        levels[-1].keeps_something = True
        self.survivors.append(f"{_shown(levels, name)} ({error.strerror})")


def _shown(levels: list[_Level], name: str) -> str:
    """Return the path of an entry for a message: quoted, and cut in its middle when it is long."""
    path = "/".join([*(level.name for level in levels), name])
    return repr(path if len(path) < 300 else f"{path[:150]}…{path[-100:]}")


def empty_directory(root: Path, *, timeout_s: float = SWEEP_TIMEOUT_S) -> None:
    """Remove everything below `root`.

    Raises:
        ReclaimError: Something could not be removed.
    """
    removal = TreeRemoval(None, timeout_s=timeout_s)
    removal.empty(root)
    raise_for_survivors(removal.survivors)


def raise_for_survivors(survivors: list[str]) -> None:
    """Raise ReclaimError naming the first survivors, if there are any."""
    if survivors:
        shown = ", ".join(survivors[:SHOWN_SURVIVORS])
        more = f" and {len(survivors) - SHOWN_SURVIVORS} more" * (len(survivors) > SHOWN_SURVIVORS)
        message = f"the student's files could not all be removed: {shown}{more}"
        raise ReclaimError(message)

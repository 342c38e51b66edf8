"""Namespaces and mounts: the kernel's calls, and the student's own view of the machine.

Used by the harness and by the supervisor, which loads this file on its own: standard library only,
nothing of this package. Python 3.11 has neither unshare nor mount, hence ctypes.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

NEW_MOUNTS = 0x0002_0000
NEW_UTS = 0x0400_0000
NEW_IPC = 0x0800_0000
NEW_USER = 0x1000_0000
NEW_PIDS = 0x2000_0000
NEW_NETWORK = 0x4000_0000

MS_NOSUID, MS_NODEV, MS_NOEXEC = 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC = 32, 4096, 16384
MS_PRIVATE, MS_SLAVE = 1 << 18, 1 << 19
MNT_DETACH = 2

_MOUNT_SETATTR = 442
"""The number of the system call, the same on every architecture; Linux 5.12."""

_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_ATTR_RDONLY, _ATTR_NOSUID = 1, 2

_EMPTY = "size=64k,nr_inodes=256,mode="
"""For a tmpfs that holds nothing but folders to mount on."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""What every program expects in /dev; all of them harmless."""

_LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
)


class KernelRefusalError(OSError):
    """A call that needs a privilege or a kernel that is not there. `strerror` names the call."""


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        shown = ", ".join(str(a) for a in arguments if isinstance(a, (bytes, int)))
        raise KernelRefusalError(number, f"{name}({shown}): {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Give the calling thread namespaces of its own."""
    _call("unshare", flags)


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or `source` itself with MS_BIND."""
    _call(
        "mount",
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )


def unmount(target: str) -> None:
    """Take the topmost mount off `target`, also while somebody is in it."""
    _call("umount2", os.fsencode(target), MNT_DETACH)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def set_read_only(target: str, *, recursive: bool) -> None:
    """Make a mount read-only and without set-uid programs; with `recursive` all below it too."""
    _set_attributes(target, _ATTR_RDONLY | _ATTR_NOSUID, 0, _AT_RECURSIVE if recursive else 0)


def set_writable(target: str) -> None:
    """Make one mount writable again."""
    _set_attributes(target, 0, _ATTR_RDONLY, 0)


def _set_attributes(target: str, attributes: int, clear: int, flags: int) -> None:
    wanted = _MountAttributes(attributes, clear, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    path = os.fsencode(target)
    _call("syscall", _MOUNT_SETATTR, _AT_FDCWD, path, flags, ctypes.byref(wanted), size)


def raise_loopback() -> None:
    """Switch on the loopback device of a network namespace that is as new."""
    import fcntl  # noqa: PLC0415 - the harness has no use for these
    import socket  # noqa: PLC0415
    import struct  # noqa: PLC0415

    set_flags, up_and_running = 0x8914, 0x41
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up_and_running))


def become_root_of_user_namespace() -> None:
    """Enter a user namespace in which our own uid and gid keep their numbers, with all its rights.

    Whatever is executed there loses the rights again, since the uid is not 0.
    """
    uid, gid = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(fd, text.encode())
        os.close(fd)


def build_view(view: Mapping[str, Any]) -> None:
    """Change this process's mounts into what the student sees. Run it as pid 1 of its namespace.

    `view` holds `hide`: paths whose content must not be seen; `binds`: pairs of (our path, the
    student's path) of folders that it may write to, outermost first; `read_only`: folders in those
    that it may not; `shown`: folders that stay although what they are in is hidden or replaced;
    `devices`: further device nodes. Everything else is as on the machine, and read-only.
    """
    binds = [*view["binds"], *((path, path) for path in view["shown"])]
    sources = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source, _ in binds]
    nodes = [f"/dev/{name}" for name in DEVICES] + list(view["devices"])
    devices = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in nodes]
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2")
    _hide(view["hide"])
    _make_devices(devices)
    targets = [target for _, target in binds]
    for fd, target in zip(sources, targets, strict=True):
        os.makedirs(target, mode=0o755, exist_ok=True)  # noqa: PTH103 - no pathlib
        mount(f"/proc/self/fd/{fd}", target, flags=MS_BIND)
    for path in view["read_only"]:
        mount(path, path, flags=MS_BIND)
    set_read_only("/", recursive=True)
    writable = [target for _, target in view["binds"]]
    for target in (*writable, "/proc", "/dev/mqueue"):
        set_writable(target)
    for fd in (*sources, *(fd for _, fd in devices)):
        os.close(fd)
    os.chdir("/")


def _hide(paths: Iterable[str]) -> None:
    # Outermost first: what is inside a hidden folder is not there any more.
    for path in sorted(paths):
        if os.path.isdir(path):  # noqa: PTH112 - no pathlib
            mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV, f"{_EMPTY}0711")
        elif os.path.exists(path):  # noqa: PTH110
            mount("/dev/null", path, flags=MS_BIND)


def _make_devices(devices: Sequence[tuple[str, int]]) -> None:
    mount("none", "/dev", "tmpfs", MS_NOSUID, f"{_EMPTY}0755")
    for path, fd in devices:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
        mount(f"/proc/self/fd/{fd}", path, flags=MS_BIND)
    for name in ("shm", "mqueue", "pts"):
        os.mkdir(f"/dev/{name}")  # noqa: PTH102
    mount_message_queues()
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID, "newinstance,ptmxmode=0666,mode=0620")
    for name, points_to in _LINKS:
        os.symlink(points_to, f"/dev/{name}")  # noqa: PTH211


def mount_message_queues() -> None:
    """Show the POSIX message queues of this IPC namespace; anybody may make some."""
    mount("mqueue", "/dev/mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    os.chmod("/dev/mqueue", 0o1777)  # noqa: PTH101, S103 - the student's alone

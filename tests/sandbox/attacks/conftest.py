"""A place to attack: a box at each level, secrets beside it, and a look at what an attack left."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_chalk.sandbox import Box, acquire_slot, hide, isolation, release_slot, slots, view
from pytest_chalk.sandbox.layout import PUBLIC_DIRECTORIES
from pytest_chalk.sandbox.process_table import living_of_uid
from pytest_chalk.sandbox.slots import BASE_VARIABLE, SLOT_VARIABLE
from pytest_chalk.sandbox.sysv_ipc import find_ipc_ids

TOKEN = "the-secret-that-no-student-may-have"


@dataclass(frozen=True)
class Place:
    """Where an attack happens, and what it may aim at."""

    box: Box
    hidden: Path
    port: int

    @property
    def names(self) -> dict[str, object]:
        """What stands for what in the scripts."""
        return {
            "SECRET": self.hidden / "secret",
            "HIDDEN": self.hidden,
            "TASK": self.hidden / "task.py",
            "PID": os.getpid(),
            "PARENT": os.getppid(),
            "PORT": self.port,
            "WORKDIR": self.box.paths.workdir,
        }

    def leftovers(self) -> list[str]:
        """Return every process, file and IPC object of the student that is still there."""
        slot = self.box.slot
        assert self.box._link is None or slot.level == "uid"  # pid 1 is gone, hence all are
        if slot.level == "userns":
            places = (slot.paths.data_dir, *slot.public_directories().values())
            return [str(path) for place in places for path in place.iterdir()]
        found = [f"process {pid}" for pid in living_of_uid([slot.student_uid])]
        found += [f"IPC object {number}" for number in find_ipc_ids(slot.student_uid)]
        roots = (*PUBLIC_DIRECTORIES, slot.paths.workdir, *slot.public_directories().values())
        for root in filter(Path.is_dir, {*roots, Path("/dev/mqueue")}):
            found += [str(path) for path in root.iterdir() if self._is_students(path)]
        return found + [str(path) for path in slot.paths.data_dir.iterdir()]

    def _is_students(self, path: Path) -> bool:
        try:
            owner = path.lstat().st_uid
        except FileNotFoundError:  # of another process, which removed it just now
            return False
        return owner == self.box.slot.student_uid and path != self.box.paths.data_dir


@pytest.fixture(scope="module")
def hidden():
    """A folder of ours with answers, outside of what is private anyway."""
    folder = Path(tempfile.mkdtemp(prefix="chalk-attack-", dir="/opt"))
    folder.chmod(0o755)
    (folder / "secret").write_text(TOKEN)
    (folder / "secret").chmod(0o600)
    (folder / "task.py").write_text("ATTACKS = 42\n")
    hide(folder)
    yield folder
    view._hidden.pop(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def services():
    """A service on localhost and one on an abstract socket; yields the port of the former."""
    on_abstract = socket.socket(socket.AF_UNIX)
    with socket.create_server(("127.0.0.1", 0)) as server, on_abstract:
        on_abstract.bind(f"\0chalk-attack-{os.getpid()}")
        on_abstract.listen()
        yield server.getsockname()[1]


@pytest.fixture(scope="module")
def place(request, hidden, services):
    """A box at the level that the test is parametrized with."""
    base = Path(tempfile.mkdtemp(prefix="chalk-attack-", dir="/var/lib"))
    base.chmod(0o711 if os.geteuid() == 0 else 0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(BASE_VARIABLE, str(base))
        patch.delenv(SLOT_VARIABLE, raising=False)
        patch.setattr(slots, "_held", [])
        patch.setattr(slots, "_claims", [])
        if request.param != "isolated":
            patch.setattr(isolation, "isolated_obstacle", lambda: "left out by a test")
        box = Box(acquire_slot())
        assert box.level == request.param
        yield Place(box, hidden, services)
        box.close()
        release_slot()
    shutil.rmtree(base)

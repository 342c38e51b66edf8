"""What the student's box costs: start and stop, calls, kills, copies, removals."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from pytest_chalk.sandbox import Box, acquire_slot, run_as_student, save_submission
from pytest_chalk.sandbox.removal import TreeRemoval
from pytest_chalk.sandbox.supervisor_link import wait_for_retired
from pytest_chalk.tools.shell import Shell
from tests.benchmarks.measure import cost_of, in_turn, show

BALLAST_BYTES = 500 * 1024**2

THINKING_S = 0.05
"""What a model takes at least for its first turn. Providers take ten times as long."""


def took_ms(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def new_box() -> Box:
    box = Box(acquire_slot())
    box.reset()
    return box


def call(box: Box, *argv: str) -> None:
    run_as_student(box, argv, time_limit_s=20, max_output_bytes=1000)


def bench_box(scratch: Path, *, quick: bool) -> None:
    """Time a box from nothing to its first command, and from there to the next run's empty box."""
    del scratch
    box, count = new_box(), 3 if quick else 20

    def start_and_stop() -> None:
        call(box, "/bin/true")
        box.reset()
        wait_for_retired()  # the kernel takes the namespaces apart

    start_and_stop()
    what = f"start and stop of a box, level {box.level}"
    show(what, [took_ms(start_and_stop) for _ in range(count)], "ms", "<= 60 ms")
    box.close()


def bench_calls(scratch: Path, *, quick: bool) -> None:
    """Compare calls as the student with bare ones, in a small process and in one of 500 MB.

    The first call of a session is a model's: its box is started with the run, and the call comes
    when the model has thought. Below each ratio is the one of the least that each side took, which
    other work on the machine cannot raise.
    """
    del scratch
    box, count = new_box(), 5 if quick else 40
    bare = ["/bin/bash", "-c", "true"]

    def first_call() -> float:
        box.reset()
        box.prepare()
        time.sleep(THINKING_S)
        return took_ms(lambda: call(box, *bare))

    def call_from_nothing() -> float:
        box.reset()
        wait_for_retired()
        return took_ms(lambda: call(box, *bare))

    def bare_call() -> float:
        return took_ms(lambda: subprocess.run(bare, check=True))

    def bare_call_after_a_pause() -> float:
        time.sleep(THINKING_S)  # so that both find the processor as idle
        return bare_call()

    for size in ("small", "with 500 MB"):
        ballast = bytearray(BALLAST_BYTES if size != "small" else 1)
        ballast[::4096] = b"x" * len(ballast[::4096])
        what = f"first call of a session / bash -c, {size}"
        _show_ratio(what, first_call, bare_call_after_a_pause, count)
        what = f"  of a student that does not think, {size}"
        _show_ratio(what, call_from_nothing, bare_call, count, "(no target)")
        call(box, *bare)
        further_call = partial(took_ms, lambda: call(box, *bare))
        _show_ratio(f"a further process / bash -c, {size}", further_call, bare_call, count)
        _show_warm_calls(box, size, count)
        del ballast
    box.close()


def _show_ratio(
    what: str,
    ours: Callable[[], float],
    bare: Callable[[], float],
    count: int,
    target: str = "<= 3 x",
) -> None:
    pairs = [(ours(), bare()) for _ in range(count)]
    show(what, [a / b for a, b in pairs], "x", target)
    least = min(a for a, _ in pairs) / min(b for _, b in pairs)
    show("  the least of each side", [least], "x", target)


def _show_warm_calls(box: Box, size: str, count: int) -> None:
    shell = Shell(box, 10_000)
    bare = subprocess.Popen(["/bin/bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert bare.stdin is not None
    assert bare.stdout is not None
    read, write = bare.stdout, bare.stdin

    def bare_call() -> None:
        write.write(b"true; echo done\n")
        write.flush()
        read.readline()

    shell.run("true", time_limit_s=5), bare_call()
    more = [
        took_ms(lambda: shell.run("true", time_limit_s=5)) - took_ms(bare_call)
        for _ in range(count)
    ]
    show(f"warm bash call - bare persistent bash, {size}", more, "ms", "<= 1 ms")
    shell.close()
    write.close()
    read.close()
    bare.wait()


def _bare_kill(uid: int) -> None:
    """Do what nobody can do without: kill all processes of a uid from a child that has it."""
    pid = os.fork()
    if pid == 0:
        os.setresuid(uid + 1, uid, uid + 1)
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(pid, 0)


def bench_kill(scratch: Path, *, quick: bool) -> None:
    """Compare a confirmed kill of a box with a bare kill(-1), which confirms nothing."""
    del scratch
    box, count = new_box(), 3 if quick else 20
    uid = box.slot.student_uid
    for processes in (0, 50):
        spawn = f"for i in $(seq {processes}); do setsid sleep 60 & done; :"

        def ours(spawn: str = spawn) -> float:
            call(box, "/bin/bash", "-c", spawn)
            return took_ms(box.kill_processes)

        def bare(processes: int = processes) -> float:
            started = [subprocess.Popen(["sleep", "60"], user=uid) for _ in range(processes)]
            took = took_ms(lambda: _bare_kill(uid))
            for process in started:
                process.wait()
            return took

        ratios = in_turn(ours, bare, count)
        show(f"kill_processes with {processes} / kill(-1)", ratios, "x", "<= 4 x")
    box.close()


def bench_save(scratch: Path, *, quick: bool) -> None:
    """Compare save_submission with shutil, which checks nothing."""
    count = 3 if quick else 15
    tree, big = scratch / "tree", scratch / "big"
    for number in range(1000):
        path = tree / f"d{number % 20}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
    big.write_bytes(os.urandom(1024**2) * 100)
    dest = scratch / "dest"

    def timed(act: Callable[[], object]) -> float:
        took = took_ms(act)
        shutil.rmtree(dest) if dest.is_dir() else dest.unlink()
        return took

    def ours(source: Path) -> Callable[[], float]:
        return lambda: timed(lambda: save_submission(source, dest))

    ratios = in_turn(ours(tree), lambda: timed(lambda: shutil.copytree(tree, dest)), count)
    show("save of a 1,000-file tree / shutil.copytree", ratios, "x", "<= 1.0 x")
    ratios = in_turn(ours(big), lambda: timed(lambda: shutil.copyfile(big, dest)), count)
    show("save of 100 MB / shutil.copyfile", ratios, "x", "<= 1.2 x")


def bench_delete(scratch: Path, *, quick: bool) -> None:
    """Compare the CPU time of removing many files with that of `rm -rf`, in memory as in a box."""
    files, count = (10_000, 2) if quick else (100_000, 4)
    memory = Path("/dev/shm")
    uid = os.geteuid()

    def filled(root: Path) -> Path:
        folder = root / "many"
        for number in range(files):
            if number % 1000 == 0:
                (folder / f"{number}").mkdir(parents=True, exist_ok=True)
            os.close(os.open(folder / f"{number - number % 1000}" / f"{number}", os.O_CREAT))
        return folder

    def removed_by(owner_uid: int | None, root: Path) -> float:
        filled(root)
        began, removal = time.process_time(), TreeRemoval(owner_uid)
        removal.empty(root)
        assert removal.removed == files + files // 1000 + 1
        return time.process_time() - began

    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else scratch) as name:
        root = Path(name)

        def bare() -> float:
            return cost_of(["rm", "-rf", str(filled(root))], root).cpu_s

        for owner_uid, whose in ((None, "whoever owns them"), (uid, "of one uid")):
            ratios = in_turn(partial(removed_by, owner_uid, root), bare, count)
            show(f"removal of {files:,} files, {whose} / rm -rf", ratios, "x", "<= 1.5 x")


def bench_reset(scratch: Path, *, quick: bool) -> None:
    """Show that what is in the machine's /tmp does not matter to the end of a run."""
    box, count = new_box(), 3 if quick else 15
    foreign = scratch / "foreign"
    figures = []
    for files in (0, 20_000):
        for number in range(files):
            folder = foreign / f"{number // 100}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}").touch()
        call(box, "/bin/true")
        box.reset()
        took = []
        for _ in range(count):
            call(box, "/bin/true")
            took.append(took_ms(box.reset))
        figures.append(statistics.median(took))
    show("reset with 20,000 files in /tmp - without", [figures[1] - figures[0]], "ms", "~ 0 ms")
    box.close()


BENCHMARKS: dict[str, Callable[..., None]] = {
    "box": bench_box,
    "calls": bench_calls,
    "kill": bench_kill,
    "save": bench_save,
    "delete": bench_delete,
    "reset": bench_reset,
}

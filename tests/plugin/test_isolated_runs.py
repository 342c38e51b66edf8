"""Many isolated runs at once, and sessions that are killed in the middle of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from plugin.conftest import ALWAYS, Project

from pytest_chalk.sandbox import isolation
from pytest_chalk.sandbox.process_table import living_of_uid

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or bool(isolation.isolated_obstacle()), reason="no namespaces here"
)

MANY = """
from environment.paths import STUDENT_DATA_DIR, STUDENT_UID
from environment.submissions import collect_submission

class Own(Judge):
    def __init__(self, copy, word):
        self.copy, self.word = copy, word

    def evaluate(self, transcript):
        said = self.copy.read_text()
        right = said == f"{self.word}\\n"
        return Scoring(float(right), {"uid": STUDENT_UID, "said": said}, continue_task=right)

def make(number):
    def collect(self):
        (self.copy,) = collect_submission(self.config, [STUDENT_DATA_DIR / "out"])

    script = (
        f"find data /tmp /var/tmp /dev/shm -mindepth 1 > shown; cat shown >> data/out;"
        f"for d in /tmp /var/tmp /dev/shm; do echo {number} > $d/mine; done;"
        f"for i in 1 2 3 4 5; do setsid sleep 311 & done; sleep 0.2;"
        f"cat /tmp/mine >> data/out; test $(ls -d /proc/[0-9]* | wc -l) -lt 15"
    )
    return task(f"t{number}", step("work", property(lambda self: Own(self.copy, number)),
                                   pre_scoring_hook=collect, solution=script))

for number in range(20):
    globals()[f"T{number}"] = make(number)
"""
SLOW = """
from environment.paths import STUDENT_UID
Path("uid").write_text(str(STUDENT_UID))
One = task("one", step("slow", Score(1),
    solution="touch data/left; setsid sleep 313 & nohup sleep 313 & sleep 313"))
"""
QUICK = """
One = task("one", step("quick", RegexJudge([re.compile("^clean$", re.M)]),
    solution='[ "$(ls -A . data)" = "$(printf ".:\\ndata\\nshared\\n\\ndata:")" ] && echo clean'))
"""


def sleepers(uid: int) -> list[psutil.Process]:
    """Return what the student of a uid left sleeping."""
    found = (psutil.Process(pid) for pid in living_of_uid([uid]))
    return [process for process in found if process.name() == "sleep"]


def wait_until(condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_20_runs_through_8_workers_do_not_meet_and_leave_nothing(project: Project):
    project.task("many", MANY)

    result = project.run_apart("-n8")

    assert result.ret == 0, result.stdout.str()
    uids = {run["steps"][0]["metadata"]["uid"] for run in project.runs().values()}
    assert len(project.runs()) == 20
    assert len(uids) > 1
    assert living_of_uid(uids) == []
    assert "chalk" not in Path("/proc/1/mountinfo").read_text()
    # This process may have a workdir of its own mounted there by now.
    seen = Path("/var/lib/chalk/workdir")
    assert os.path.ismount(seen) or list(seen.iterdir()) == []


def test_two_sessions_at_once_never_share_a_uid(project: Project):
    project.task("many", MANY.replace("range(20)", "range(4)"))
    command = [sys.executable, "-m", "pytest", *ALWAYS, "-q"]
    options = [("--chalk-session-dir", f"s{n}", f"--junitxml=r{n}.xml") for n in range(2)]

    sessions = [
        subprocess.Popen([*command, *more], cwd=project.path, stdout=subprocess.DEVNULL)
        for more in options
    ]

    assert [session.wait(60) for session in sessions] == [0, 0]
    uids = []
    for number in range(2):
        text = (project.path / f"s{number}/latest/journal.jsonl").read_text()
        runs = [e["record"] for e in map(json.loads, text.splitlines()) if e["type"] == "run"]
        uids.append({run["steps"][0]["metadata"]["uid"] for run in runs})
    assert len(uids[0]) == len(uids[1]) == 1
    assert uids[0] != uids[1]


@pytest.mark.parametrize("victim", ["pytest", "worker", "supervisor"])
def test_when_somebody_is_killed_in_mid_run_no_student_and_no_mount_stays(
    project: Project, victim: str
):
    project.task("one", SLOW)
    workers = ["-n1", "--max-worker-restart=0"] if victim == "worker" else []
    command = [sys.executable, "-m", "pytest", *ALWAYS, *workers]
    session = subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL)
    try:
        assert wait_until((project.path / "uid").exists, 30)
        uid = int((project.path / "uid").read_text())
        assert wait_until(lambda: len(sleepers(uid)) == 3, 30)
        init = next(p for p in sleepers(uid)[0].parents() if "fork_server" in " ".join(p.cmdline()))
        victims = {"pytest": session.pid, "supervisor": init.pid}
        workers_of = psutil.Process(session.pid).children()
        victims["worker"] = workers_of[0].pid if workers_of else session.pid

        os.kill(victims[victim], signal.SIGKILL)

        assert wait_until(lambda: not living_of_uid([uid]), 3)
        assert session.wait(30) != 0
    finally:
        session.kill()
        session.wait()
    assert wait_until(lambda: not init.is_running() or init.status() == "zombie", 3)
    assert "chalk" not in Path("/proc/1/mountinfo").read_text()
    project.task("one", QUICK)
    assert project.run_apart().ret == 0

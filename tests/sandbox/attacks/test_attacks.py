"""Attacks of a hostile student, each a small script in `scripts/`, run through a real task.

The head of a script says what is to come of it: the outcome of the run (`passed`: the attack gained
nothing, and the honest answer that came with it is scored), what the verdict says, what the student
is told, and at which levels. Whatever it does, nothing of it stays, no secret gets out, and the
harness goes on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from sandbox.attacks.conftest import TOKEN

from pytest_chalk import RunConfig, Step, Task
from pytest_chalk.authoring.judge import Judge
from pytest_chalk.judges import ExecutableJudge
from pytest_chalk.models import ScriptedModel, call
from pytest_chalk.runner.run_place import RunPlace
from pytest_chalk.runner.task_run import perform_run, task_run
from pytest_chalk.sandbox import (
    collect_submission,
    isolation,
    limit_resources,
    not_enforced,
)
from pytest_chalk.schemas.record import PassRule, RunSpec
from pytest_chalk.schemas.scoring import Scoring

SCRIPTS = sorted((Path(__file__).parent / "scripts").iterdir())
MOST_SECONDS = 10.0
"""The slowest takes half a second on a quiet machine."""

OPEN_AT_UID = {57: "processes", 62: "network", 63: "network"}
"""Which guarantee of the better levels an attack shows to be missing at `uid`."""

UNPRIVILEGED = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
"""A user without rights that can still read root's own interpreter, where ours happens to be."""

SCORING_SCRIPT = """
import json, os, pathlib, sys
answer = pathlib.Path(sys.argv[1])
right = answer.is_file() and answer.read_text() == "42\\n"
pathlib.Path(sys.argv[2]).write_text(json.dumps({"score": float(right), "metadata": {}}))
"""


class Attack(NamedTuple):
    """A script and what its head says of it."""

    path: Path
    number: int
    head: dict[str, str]

    @classmethod
    def read(cls, path):
        head = dict(re.findall(r"^# ([a-z ]+): (.*)$", path.read_text(), re.MULTILINE))
        return cls(path, int(path.name[:3]), head)

    @property
    def levels(self):
        return self.head["levels"].split()

    def command(self, names, python):
        """Return the script as one command of the bash tool."""
        text = self.path.read_text()
        for name, value in names.items():
            text = text.replace(f"@{name}@", str(value))
        return text if self.path.suffix == ".sh" else f"{python} - <<'END'\n{text}END\n"


ATTACKS = [Attack.read(path) for path in SCRIPTS]


class AnswerJudge(Judge):
    """Looks for the right answer in the copy of the answer."""

    def __init__(self, copy):
        self.copy = copy

    def evaluate(self, transcript):
        if not self.copy.is_file():
            return Scoring(0.0, {"found": "no file"}, continue_task=False)
        assert self.copy.stat().st_mode & 0o7777 == 0o600
        text = self.copy.read_text(errors="replace")
        return Scoring(float(text == "42\n"), {"found": text}, continue_task=True)


class AnswerStep(Step):
    instructions = "Write the answer."
    copy = None

    def pre_scoring_hook(self):
        extra = self.config.extra_config
        (self.copy,) = collect_submission(self.config, [extra["answer"]])

    @property
    def judge(self):
        script = self.config.extra_config["script"]
        if not script:
            return AnswerJudge(self.copy)
        return ExecutableJudge([sys.executable, script, str(self.copy), "score.json"])


class AnswerTask(Task):
    id = "answer"
    system_prompt = None
    tools = ("bash",)

    @property
    def steps(self):
        return [AnswerStep(self.config)]


def attempts():
    """Yield one parameter for each attack at each level there is here."""
    obstacles = isolation.find_obstacles()
    for level in ("isolated", "uid", "userns"):
        for attack in ATTACKS if not obstacles[level] else ():
            if level in attack.levels:
                yield pytest.param(level, attack, id=f"{level}-{attack.path.stem}")


def carry_out(place, attack, folder):
    """Run the task with a student that only attacks; return the record and the transcript."""
    script = ""
    if "scored by" in attack.head:
        script = folder / "score.py"
        script.write_text(SCORING_SCRIPT)
    python = "/usr/bin/python3"
    names = {**place.names, "RECORDS": folder}
    turns = [call("bash", command=attack.command(names, python)), "I am done."]
    answer = place.box.paths.data_dir / "answer"
    extra = {"answer": answer, "script": str(script)}
    config = RunConfig(run_id="r", task_id="answer", model="scripted", extra_config=extra)
    spec = RunSpec(
        config=config, module=__name__, qualname="AnswerTask", pass_rule=PassRule(source="default")
    )
    with task_run(spec, RunPlace(place.box, folder / "transcript.jsonl", folder)) as run:
        limit_resources(memory_bytes=200 * 1024**2)
        run.prepare(AnswerTask, ScriptedModel(turns), {})
        record = perform_run(run)
    return record, Path(record.transcript).read_text()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root to play another user"
)
def test_the_attacks_come_to_nothing_for_a_user_without_root_too():
    command = [sys.executable, "-m", "pytest", __file__, "-q", "-p", "no:cacheprovider", "-x"]
    environment = {**os.environ, "CHALK_SLOT": "", "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(
        [*UNPRIVILEGED, *command, "-k", "userns-"],
        env=environment,
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout
    assert int(re.search(r"(\d+) passed", ran.stdout)[1]) >= 25


@pytest.mark.parametrize(("place", "attack"), list(attempts()), indirect=["place"])
def test_an_attack_has_its_exact_outcome_and_nothing_of_it_stays(place, attack, tmp_path):
    started = time.monotonic()

    record, transcript = carry_out(place, attack, tmp_path)

    assert record.outcome in attack.head["outcome"].split(), record.reason
    assert re.search(attack.head.get("says", ""), record.reason)
    output = attack.head.get("output", "")
    if place.box.level == "uid" and "output at uid" in attack.head:
        output = attack.head["output at uid"]
        assert OPEN_AT_UID[attack.number] in not_enforced("uid")
    assert re.search(output, transcript), transcript
    assert place.leftovers() == []
    assert TOKEN not in transcript + record.model_dump_json()
    assert "\x1b" not in transcript + record.model_dump_json()
    assert time.monotonic() - started < MOST_SECONDS


def test_at_least_60_attacks_are_tried_and_25_of_them_at_every_level():
    assert len([attack for attack in ATTACKS if "isolated" in attack.levels]) >= 60
    for level in ("uid", "userns"):
        assert len([attack for attack in ATTACKS if level in attack.levels]) >= 25


def test_every_gap_of_a_level_that_an_attack_shows_is_listed_as_not_enforced():
    shown = {attack.number for attack in ATTACKS if "output at uid" in attack.head}

    assert shown == set(OPEN_AT_UID)

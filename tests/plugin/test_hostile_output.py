"""Whatever students and judges produce: the right outcome, and reports that can be read."""

from __future__ import annotations

import pytest
from plugin.conftest import Project, properties, verdicts

HOSTILE = r"""
import enum

class Colour(enum.Enum):
    RED = "red"

class Unprintable:
    def __str__(self):
        raise RuntimeError("no")

SAID = "a\udcff b\x1b[31m c\x00 d]]>\x07 " + "x" * 5_000_000

class Metadata(Judge):
    def evaluate(self, transcript):
        said = [m.text for m in transcript.messages if m.role == "assistant"]
        found = {"path": Path("/tmp/x"), "enum": Colour.RED, "bytes": b"\xff\x00",
                 "nan": float("nan"), "inf": float("inf"), "said": said[-1],
                 "object": Unprintable(), 3: {1, 2},
                 "deep": {"list": [float("nan"), (1, "\udcfe")]}, "\udcff key": "]]>"}
        print("the judge prints \x1b[31m \x00 ]]>", "\ufffe")
        return Scoring(1.0, found, True)

One = task("one", step("work", Metadata()))
Two = task("two", step("work", Raises(RuntimeError("raised \udcff \x1b[31m ]]> \x00"))))
Three = task("three", step("work", Raises(StudentMisbehaviorError("wrote \udcff\x00"))))
"""

STUDENT = r"""
import pytest
from pytest_chalk.models import ScriptedModel, call

@pytest.fixture
def chalk_model():
    said = "a\udcff b\x1b[31m c\x00 d]]>\x07 " + "x" * 5_000_000
    command = r"printf 'a\377 b\033[31m c\000 d]]>\n'; head -c 5000000 /dev/zero | tr '\0' y"
    return ScriptedModel([call("bash", command=command), said])
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_hostile_output_gets_its_outcome_and_strict_xml(project: Project, workers: str):
    project.task("one", HOSTILE)
    project.file("conftest.py", STUDENT)

    result = project.run_with(workers, "-rA")

    assert result.ret == 1
    assert {name: run["outcome"] for name, run in project.runs().items()} == {
        "one": "passed",
        "two": "error",
        "three": "misbehaved",
    }
    cases = project.junit()
    assert verdicts(cases)["tasks.one.One::1-work"] == "passed"
    found = properties(cases["tasks.one.One::1-work"])
    assert found["metadata.path"] == "/tmp/x"
    assert found["metadata.enum"] == "red"
    assert found["metadata.nan"] == "nan"
    assert "characters cut" in found["metadata.said"]
    assert "INTERNALERROR" not in result.stdout.str()
    assert "\x1b[31m" not in result.stdout.str()
    assert (project.path / "report.xml").stat().st_size < 400_000

"""A recorded session replays without a network, to the same scores byte for byte."""

from __future__ import annotations

import json

import pytest
from plugin.conftest import Project, model

MODELS = [
    model("openai/mock", tools=2, cmd="echo+$((6*7))+>+n;cat+n", text="bananas+42"),
    model("anthropic/mock", tools=1, parallel=2, cmd="echo+$((8*8))", text="apples"),
]
BLOCKED = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        address = arguments[1] if event == "socket.connect" else arguments[0]
        if not isinstance(address, (str, bytes)) or event != "socket.connect":
            raise AssertionError(f"the network was used: {event} {address!r}")

sys.addaudithook(refuse)
"""
TASKS = """
class Counts(Judge):
    def evaluate(self, transcript):
        said = [m.text for m in transcript.messages if m.role in ("assistant", "tool")]
        letters = sum(map(len, said))
        return Scoring(letters / (letters + 7), {"said": said, "letters": letters}, True)

One = task("one", step("first", Counts()), step("second", Counts()))
Two = task("two", step("work", Counts()))
"""


def scores(project: Project) -> str:
    """Return what is scored in the last session, as one text."""
    kept = ("outcome", "score", "continue_task", "partial", "metadata", "reason", "limit")
    records = {
        entry["nodeid"]: [{key: step[key] for key in kept} for step in entry["record"]["steps"]]
        for entry in project.journal()
        if entry["type"] == "run"
    }
    return json.dumps(records, sort_keys=True)


def test_a_recorded_session_replays_with_the_network_blocked_to_the_same_scores(
    asking: Project, monkeypatch: pytest.MonkeyPatch
):
    asking.task("one", TASKS)
    recorded = asking.run(*MODELS, "--chalk-epochs=2", "--chalk-cassette=record")
    first = scores(asking)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable)
    asking.file("conftest.py", BLOCKED)

    replayed = asking.run_apart(*MODELS, "--chalk-epochs=2", "--chalk-cassette=replay", "-n2")

    assert recorded.ret == replayed.ret == 0, replayed.stdout.str()
    assert first.count('"said"') == 2 * 2 * 3
    assert scores(asking) == first


def test_the_block_of_that_test_blocks(asking: Project):
    asking.file("conftest.py", BLOCKED)

    result = asking.run_apart(MODELS[0])

    assert result.ret == 1
    assert "the network was used" in result.stdout.str()

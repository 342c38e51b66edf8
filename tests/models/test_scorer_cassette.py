"""Recordings of scorers: added to by label, by several processes, and over several runs."""

from __future__ import annotations

import json
import threading

import pytest

from pytest_chalk.authoring.ports import ModelReply, ModelRequest
from pytest_chalk.errors import CassetteMissError
from pytest_chalk.models.scorer_cassette import ScorerCassette
from pytest_chalk.schemas.chat import Message


class Says:
    name, trusted = "says", False

    def __init__(self, text):
        self.text, self.asked = text, 0

    def reply(self, request):
        self.asked += 1
        return ModelReply(Message(role="assistant", content=self.text), "stop", 1, 1)


def ask(cassette, label, text="unasked"):
    """Return what is said to a label, and whether the model was asked."""
    model = Says(text)
    request = ModelRequest(messages=(Message(role="user", content="well?"),), tools=(), step=0)
    return cassette.wrap(model, label).reply(request).message.text, bool(model.asked)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cassettes" / "s.json"


def test_record_replaces_the_labels_it_asks_and_keeps_the_others(path):
    first = ScorerCassette(path, "record")
    for label in ("a", "b"):
        ask(first, label, f"old {label}")

    second = ScorerCassette(path, "record")
    ask(second, "b", "new b")
    ask(second, "b", "newer b")

    replay = ScorerCassette(path, "replay")
    assert [ask(replay, label) for label in ("a", "b")] == [("old a", False), ("newer b", False)]
    assert len(json.loads(path.read_text())["turns"]) == 2


def test_labels_that_are_recorded_anew_leave_their_neighbours(path):
    labels = [f"scorer {number:x}" for number in range(7, 40)]
    turned = labels[::-1]
    first = ScorerCassette(path, "record")
    for label in labels:
        ask(first, label, f"old {label}")
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "turns": found["turns"][::-1]}))  # in whatever order

    second = ScorerCassette(path, "record")
    for label in turned[::2]:
        ask(second, label, f"new {label}")

    replay = ScorerCassette(path, "replay")
    fresh = set(turned[::2])
    for label in labels:
        said = f"{'new' if label in fresh else 'old'} {label}"
        assert ask(replay, label) == (said, False)


def test_a_file_that_is_removed_meanwhile_is_written_anew(path):
    cassette = ScorerCassette(path, "record")
    ask(cassette, "a", "first")
    path.unlink()

    ask(cassette, "b", "second")

    replay = ScorerCassette(path, "replay")
    assert [ask(replay, label)[0] for label in ("a", "b")] == ["first", "second"]


def test_auto_plays_what_it_knows_and_asks_and_adds_the_rest(path):
    ask(ScorerCassette(path, "record"), "a", "old a")

    auto = ScorerCassette(path, "auto")

    assert ask(auto, "a", "new a") == ("old a", False)
    assert ask(auto, "b", "new b") == ("new b", True)
    assert ask(ScorerCassette(path, "replay"), "b") == ("new b", False)


def test_processes_that_record_at_once_lose_nothing_of_each_other(path):
    cassettes = [ScorerCassette(path, "record") for _ in range(3)]

    def record(number):
        for label in range(10):
            ask(cassettes[number], f"{number} {label}", f"{number} said {label}")

    threads = [threading.Thread(target=record, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    replay = ScorerCassette(path, "replay")
    for number in range(3):
        for label in range(10):
            assert ask(replay, f"{number} {label}") == (f"{number} said {label}", False)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_repeat_that_was_not_recorded_is_told_what_the_first_was(path):
    recording = ScorerCassette(path, "record")
    ask(recording, "a", "first")
    ask(recording, "a #2", "second")

    replay = ScorerCassette(path, "replay")

    said = [ask(replay, label)[0] for label in ("a", "a #2", "a #3")]
    assert said == ["first", "second", "first"]
    with pytest.raises(CassetteMissError, match="has no turn"):
        ask(replay, "b #2")


def test_what_cannot_be_read_is_recorded_anew_and_refused_otherwise(path):
    path.parent.mkdir()
    path.write_text("no recording")
    for mode in ("auto", "replay"):
        with pytest.raises(CassetteMissError, match="cannot be read"):
            ScorerCassette(path, mode)

    ask(ScorerCassette(path, "record"), "a", "said")

    assert ask(ScorerCassette(path, "replay"), "a") == ("said", False)

"""Conversations that are put into words once."""

from __future__ import annotations

import pytest

from pytest_chalk.models.draft import DRAFTS_KEPT, Drafts, usable_arguments, usable_ids
from pytest_chalk.schemas.chat import Message


class Counting:
    def __init__(self):
        self.seen = []
        self.written = 0

    def add(self, message):
        self.written += 1


def talk(length):
    return [Message(role="user", content=f"{n}") for n in range(length)]


def test_only_what_is_new_is_written():
    drafts = Drafts(Counting)
    messages = talk(5)

    first = drafts.take(messages[:3])
    drafts.keep(first)
    second = drafts.take(messages)

    assert second is first
    assert second.written == 5


@pytest.mark.parametrize("other", [talk(3), talk(2), []])
def test_another_conversation_is_written_anew_though_it_looks_the_same(other):
    drafts = Drafts(Counting)
    drafts.keep(drafts.take(talk(3)))

    assert drafts.take(other).written == len(other)


def test_a_draft_in_use_is_nobody_elses():
    drafts = Drafts(Counting)
    messages = talk(2)

    assert drafts.take(messages) is not drafts.take(messages)


def test_only_a_few_conversations_are_kept():
    drafts = Drafts(Counting)
    for _ in range(10):
        drafts.keep(drafts.take(talk(1)))

    assert len(drafts._kept) == DRAFTS_KEPT


@pytest.mark.parametrize(
    ("arguments", "usable"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"_malformed": "[1]"}),
        ("null", {"_malformed": "null"}),
        ("[" * 100_000, {"_malformed": "[" * 100_000}),
    ],
)
def test_arguments_are_always_an_object(arguments, usable):
    assert usable_arguments(arguments) == usable


def test_ids_are_there_and_differ():
    assert usable_ids(["a", "", "a", "b"], 7) == ["a", "call_7_1", "call_7_2", "b"]

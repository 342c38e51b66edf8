"""The verdict parser: dress does not matter, meaning does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_chalk.grading.verdict import MAX_REASON_CHARS, parse_verdict

REASONS = ["", "The report names it.", "because of line 3", "no doubt", 'says "yes" twice']

DRESSES = [
    "{}",
    "  {}  ",
    "**{}**",
    "__{}__",
    "`{}`",
    "# {}",
    "> {}",
    "- {}",
    '"{}"',
    "({})",
    "\u201c{}\u201d",
    "{}.",
    "{}!",
    "{}:",
    "Answer: {}",
    "**Answer:** {}",
    "Verdict = {}",
    "The answer is: **{}**",
    "My final verdict: {}",
    "```\n{}\n```",
    "```text\n{}\n```",
    "<think>NO, or rather YES? no.</think>\n\n{}",
    "\n\n{}",
]


@pytest.mark.parametrize("word", ["YES", "yes", "Yes", "NO", "no", "No"])
@pytest.mark.parametrize("dress", DRESSES)
def test_a_verdict_is_understood_in_any_dress(word, dress):
    found = parse_verdict(dress.format(word))

    assert found is not None
    assert (found.met, found.reason) == (word.lower() == "yes", "")


@pytest.mark.parametrize(
    ("reply", "met", "reason"),
    [
        ("YES\nThe report names it.", True, "The report names it."),
        ("NO\n\n- it does not\n- at all", False, "it does not\n- at all"),
        ("**YES** because it does", True, "because it does"),
        ("YES: it does", True, "it does"),
        ("Yes, mostly", True, "mostly"),
        ("NO \u2014 no fix", False, "no fix"),
        ("NO - no fix", False, "no fix"),
        ("YES (line 3)", True, "(line 3)"),
        ("NO. The student wrote YES.", False, "The student wrote YES."),
        ('{"verdict": "YES", "reason": "it does"}', True, "it does"),
        ('{"Answer": "no.", "explanation": "it does not"}', False, "it does not"),
        ('{"met": true}', True, ""),
        ('```json\n{"reason": ["x"], "met": false}\n```', False, ""),
    ],
)
def test_the_reason_is_kept(reply, met, reason):
    found = parse_verdict(reply)

    assert found is not None
    assert (found.met, found.reason) == (met, reason)


NO_VERDICTS = [
    "",
    "   \n",
    "**",
    "YESTERDAY",
    "INCORRECT",
    "CORRECT",
    "Yes-man? No.",
    "YES-man",
    "YES and NO",
    "YES or NO",
    "YES/NO",
    "YES | NO",
    "YES, but NO",
    "YES\n\nNO",
    "NO\nVerdict: YES",
    "Y",
    "True",
    "1",
    "Not met",
    "NOT",
    "Nothing",
    "Noted.",
    "No problem! Here you are",
    "no1",
    "yes\u00e9",
    "The report names the cause. YES",
    "I would say YES",
    "I cannot help with that.",
    "No, I can't assist with that.",
    "No. Sorry, I cannot grade this.",
    "I'm sorry, but I can't",
    "The student says: YES",
    "<think>YES</think>",
    "<think>YES",
    "{",
    "{}",
    '{"verdict": "MAYBE"}',
    '{"verdict": 1}',
    '{"verdict": null}',
    '{"verdict": "YES", "verdict": "NO"}',
    '{"verdict": "YES", "Verdict": "YES"}',
    '{"verdict": "YES", "met": false}',
    '[{"verdict": "YES"}]',
    '{"work": {"verdict": "YES"}}',
    "{" * 10_000,
    '{"a":' * 10_000,
]


@pytest.mark.parametrize("reply", NO_VERDICTS, ids=lambda reply: reply[:40])
def test_what_is_not_plainly_one_of_the_two_is_no_verdict(reply):
    assert parse_verdict(reply) is None


@given(st.text(max_size=200))
def test_any_reply_is_read_without_an_error(reply):
    found = parse_verdict(reply)

    assert found is None or reply.upper().find("YES" if found.met else "NO") >= 0


@given(st.booleans(), st.sampled_from(REASONS), st.sampled_from(DRESSES[:12]))
def test_turning_the_word_turns_the_verdict(met, reason, dress):
    word, other = ("YES", "NO") if met else ("NO", "YES")

    found, turned = (parse_verdict(f"{dress.format(w)}\n{reason}") for w in (word, other))

    assert found is not None
    assert turned is not None
    assert (found.met, turned.met) == (met, not met)
    assert found.reason == turned.reason


@given(st.booleans(), st.text())
def test_json_says_what_it_says(met, reason):
    found = parse_verdict(json.dumps({"verdict": "YES" if met else "NO", "reason": reason}))

    assert found is not None
    assert found.met is met


def test_an_endless_reason_is_cut_visibly():
    found = parse_verdict("YES\n" + "x" * 10_000)

    assert found is not None
    assert len(found.reason) < MAX_REASON_CHARS + 40
    assert "characters cut" in found.reason

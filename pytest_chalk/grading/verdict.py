"""What a model that grades has said: YES or NO and why, or nothing that is either.

Lenient about dress (markdown, a code fence, JSON, a word such as `Answer:` in front) and strict
about meaning: anything that is not plainly one of the two is no verdict, and is asked again.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

MAX_REPLY_CHARS = 100_000
"""Of a reply that is looked at. A verdict and its reason are a few hundred."""

MAX_REASON_CHARS = 2_000
"""Of a reason that is kept."""

_THINKING = re.compile(r"\A\s*<(think|thinking)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A```[a-z]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
_DRESS = " \t*_`#>\"'()[]{}\u201c\u201d\u2018\u2019-"
_LEAD = re.compile(
    r"\A(?:(?:the|my|final)\s+)*(?:answer|verdict|decision|result|conclusion)(?:\s+is)?[\s*_]*[:=]",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\A(yes|no)(?![^\W_])", re.IGNORECASE)
_AFTER = re.compile(
    r"\A(?:[*_`\"')\]\u201d\u2019]+(?:\s|\Z)"  # the end of an emphasis
    r"|[\s*_`\"')\]\u201d\u2019]*(?:\Z|[.,:;!\n(\u2013\u2014]|-\s|-\Z))"
)
_BUT = re.compile(r"\A[\W_]*(?:(?:but|and|or|also)\b[\W_]*)*(yes|no)(?![^\W_])", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\A[\W_]*(?:sorry|i(?:['\u2019]| a)?m (?:sorry|unable|not able|afraid)|as an ai\b"
    r"|i (?:can(?:['\u2019]t|not| not)|won['\u2019]t|will not|must decline|do not|don['\u2019]t) "
    r"(?:help|assist|grade|judge|comply|answer|evaluate|do (?:that|this)|continue|know))",
    re.IGNORECASE,
)
_KEYS = ("verdict", "answer", "met", "decision", "result")


@dataclass(frozen=True)
class Verdict:
    """Whether a criterion is met, and the reason that was given; the reason may be empty."""

    met: bool
    reason: str


def parse_verdict(reply: str) -> Verdict | None:
    """Return the verdict in a model's reply, None if there is none.

    The first line that says anything must be YES or NO, alone or followed by punctuation and a
    reason; or the reply is a JSON object with `verdict` (or `answer`, `met`) and `reason`. A reply
    that says both is none.
    """
    text = _THINKING.sub("", reply[:MAX_REPLY_CHARS]).strip()
    fenced = _FENCE.match(text)
    text = fenced.group(1).strip() if fenced else text
    if text.startswith("{"):
        return _from_json(text)
    return _from_text(text)


def _from_json(text: str) -> Verdict | None:
    try:
        found = json.loads(text, object_pairs_hook=_pairs_once)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    said = {key.lower(): value for key, value in found.items()}
    verdicts = {_as_verdict(said[key]) for key in _KEYS if key in said}
    if len(verdicts) != 1 or None in verdicts:
        return None
    reason = said.get("reason", said.get("explanation", ""))
    return Verdict(verdicts == {True}, _cut(reason if isinstance(reason, str) else ""))


def _pairs_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name.lower() for name, _ in pairs]
    if len(set(names)) != len(names):
        message = "a key twice"
        raise ValueError(message)
    return dict(pairs)


def _as_verdict(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    words = {"yes": True, "no": False}
    return words.get(value.strip(_DRESS + ".").lower()) if isinstance(value, str) else None


def _from_text(text: str) -> Verdict | None:
    lead = _LEAD.match(text.lstrip(_DRESS))
    start = text.lstrip(_DRESS)[lead.end() :] if lead else text
    undressed = start.lstrip(_DRESS + "\n" if lead else _DRESS)
    token = _TOKEN.match(undressed)
    if token is None:
        return None
    rest = undressed[token.end() :]
    if not _AFTER.match(rest):
        return None
    met = token.group(1).lower() == "yes"
    if _says_otherwise(rest, met=met) or _REFUSAL.match(rest):
        return None
    return Verdict(met, _cut(rest.lstrip(" \t\r\n*_`\"'.,:;!-)]\u201d\u2019\u2013\u2014")))


def _says_otherwise(rest: str, *, met: bool) -> bool:
    """Tell whether the other word comes right after, or in a line of its own."""
    other = "no" if met else "yes"
    but = _BUT.match(rest)
    if but is not None and but.group(1).lower() == other and but.group(1).isupper():
        return True
    lines = (line.strip(_DRESS + ".,:;!") for line in rest.splitlines())
    return any(_LEAD.sub("", line).strip(_DRESS + ".,:;!").lower() == other for line in lines)


def _cut(reason: str) -> str:
    reason = reason.strip()
    cut = len(reason) - MAX_REASON_CHARS
    return reason if cut <= 0 else f"{reason[:MAX_REASON_CHARS]} [... {cut:,} characters cut]"

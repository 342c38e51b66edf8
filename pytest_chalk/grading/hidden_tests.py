"""Which hidden tests there are, and what became of each: from their text and from reports alone.

Nothing here trusts the process that ran them, for the student's code ran in it too.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Verdict = Literal["passed", "failed", "skipped", "missing"]

PHASES = ("setup", "call", "teardown")
"""Of a test, as pytest reports them. Only a test whose three all passed has passed."""


def find_tests(path: str, source: str) -> list[str]:
    """Return the ids of the tests that a file defines, without parameters: `t.py::Class::test_x`.

    Args:
        path: Of the file, as it stands in the ids.
        source: Its text, which is read and not run.

    Raises:
        SyntaxError: It is no Python.
        ValueError: It holds a NUL.
    """
    return list(dict.fromkeys(f"{path}::{name}" for name in _defined(ast.parse(source).body)))


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith("test"):
                    yield name
            case ast.ClassDef(name=name, body=inner) if name.startswith("Test"):
                yield from (f"{name}::{below}" for below in _defined(inner))
            case ast.If(body=inner, orelse=other) | ast.Try(body=inner, orelse=other):
                yield from _defined([*inner, *other])
            case ast.With(body=inner):
                yield from _defined(inner)
            case _:
                pass


@dataclass(frozen=True)
class Tally:
    """What became of the tests that were to run.

    Attributes:
        verdicts: By expected id, in the expected order.
        unexpected: Ids that were reported and belong to no expected test.
        forged: Why the reports cannot be true; None where nothing speaks against them.
        started: Whether pytest was about to look at the tests; before, no code of the student runs.
    """

    verdicts: Mapping[str, Verdict]
    unexpected: tuple[str, ...] = ()
    forged: str | None = None
    started: bool = True

    @property
    def passed(self) -> int:
        """How many passed."""
        return sum(verdict == "passed" for verdict in self.verdicts.values())

    @property
    def score(self) -> float:
        """The share that passed."""
        return self.passed / len(self.verdicts)


def tally_reports(output: bytes, token: str, expected: Sequence[str], decoy: str) -> Tally:
    """Return what became of each expected test.

    Args:
        output: Lines of JSON: `{"token": ..., "started": true}`, then
            `{"token": ..., "id": ..., "when": ..., "outcome": ...}` for each phase of each test.
            Others are not ours and are passed over.
        token: What our own lines hold.
        expected: Ids. One without parameters stands for the test with each of its parameters, all
            of which have to pass.
        decoy: Id of a test that cannot pass. One that did, or that is missing where others passed,
            means that somebody else than pytest reported.
    """
    phases: dict[str, Counter[tuple[str, str]]] = {}
    started = False
    for report in _reports(output, token):
        if "started" in report:
            started = True
            continue
        phase = str(report.get("when")), str(report.get("outcome"))
        phases.setdefault(str(report.get("id")), Counter())[phase] += 1
    ran = {name: _verdict(found) for name, found in phases.items()}
    decoys_verdict = ran.pop(decoy, "missing")
    known = {name: _instances(name, ran) for name in expected}
    used = {one for found in known.values() for one in found}
    return Tally(
        verdicts={name: _worst([ran[one] for one in found]) for name, found in known.items()},
        unexpected=tuple(sorted(set(ran) - used)),
        forged=_find_forgery(phases, ran, decoys_verdict),
        started=started,
    )


def _find_forgery(
    phases: Mapping[str, Counter[tuple[str, str]]],
    ran: Mapping[str, Verdict],
    decoys_verdict: Verdict,
) -> str | None:
    twice = sorted(name for name, found in phases.items() if _contradicts(found))
    if twice:
        return f"test {twice[0]!r} was reported more than once"
    if decoys_verdict == "passed":
        return "a test that cannot pass was reported as passed"
    if decoys_verdict != "failed" and "passed" in ran.values():
        return "tests were reported as passed, but not the one that has to fail before them"
    return None


def _reports(output: bytes, token: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found.get("token") == token:
            yield found


def _verdict(found: Counter[tuple[str, str]]) -> Verdict:
    outcomes = {outcome for _, outcome in found}
    if "failed" in outcomes:
        return "failed"
    if "skipped" in outcomes:
        return "skipped"
    return "passed" if set(found) == {(when, "passed") for when in PHASES} else "missing"


def _contradicts(found: Counter[tuple[str, str]]) -> bool:
    """Tell whether a phase was reported twice, which pytest never does."""
    whens = Counter(when for when, _ in found.elements())
    return any(count > 1 for count in whens.values())


def _instances(name: str, ran: Mapping[str, Verdict]) -> list[str]:
    return [one for one in ran if one == name or one.startswith(f"{name}[")]


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    ranking: tuple[Verdict, ...] = ("failed", "missing", "skipped")
    if not verdicts:
        return "missing"
    return next((verdict for verdict in ranking if verdict in verdicts), "passed")

"""`RegexJudge`: looks for regular expressions in what the student said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.grading.arguments import as_time_limit

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript

SEARCH_TIME_LIMIT_S = 5.0
"""CPU time of all searches together. A sane pattern goes through a megabyte in milliseconds; one
with nested repetitions may take years for forty letters that a student has chosen."""

NO_MATCH = "Transcript contains no match."
"""Beside each pattern that was not found."""


class RegexJudge(Judge):
    """Passes when every pattern is found in what the student said.

    Only text of assistant messages counts, joined by blank lines, earlier steps included: no
    instructions, tool results, reasoning or tool arguments.
    """

    def __init__(
        self,
        expected: Sequence[re.Pattern[str]],
        *,
        last_message: bool = False,
        timeout_s: float = SEARCH_TIME_LIMIT_S,
    ) -> None:
        """Take compiled patterns; none at all is a pass.

        Args:
            expected: Patterns of text, all of which have to be found.
            last_message: Look only at the last message that has text, so that a student cannot
                pass by saying every possible answer on its way.
            timeout_s: Seconds of CPU time for all searches; then the pattern at hand counts as not
                found.

        Raises:
            TypeError: One of them is not compiled, or is for bytes.
            TaskDefinitionError: `timeout_s` is no time limit.
        """
        self.expected = tuple(expected)
        for pattern in self.expected:
            if not callable(getattr(pattern, "search", None)):
                message = f"RegexJudge takes compiled patterns: re.compile({pattern!r:.200})"
                raise TypeError(message)
            source: object = pattern.pattern
            if isinstance(source, bytes):
                message = f"RegexJudge takes patterns of text, got {source!r:.200}"
                raise TypeError(message)
        self.last_message = last_message
        self.timeout_s = as_time_limit("RegexJudge", timeout_s)

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Return 1 and go on if all patterns are found, else 0 and the ones that were not."""
        # Here and not at the top: a scoring script that imports its task searches nothing.
        from pytest_chalk.judges.regex.search import search_all  # noqa: PLC0415 - see above
        from pytest_chalk.schemas.scoring import Scoring  # noqa: PLC0415 - as above

        found = search_all(self.expected, self._said(transcript), self.timeout_s)
        missed = [at for at, was_found in enumerate(found) if not was_found]
        labels = _labels([self.expected[at] for at in missed])
        metadata: dict[str, object] = {
            label: _why(found[at], self.timeout_s) for label, at in zip(labels, missed, strict=True)
        }
        slow = [label for label, at in zip(labels, missed, strict=True) if found[at] is None]
        if slow:
            metadata["error"] = f"the search for {slow[0]!r} took too long"
        return Scoring(float(not missed), metadata, continue_task=not missed)

    def _said(self, transcript: Transcript) -> str:
        texts = [
            message.text
            for message in transcript.messages
            if message.role == "assistant" and message.text
        ]
        return "\n\n".join(texts[-1:] if self.last_message else texts)


def _why(found: bool | None, timeout_s: float) -> str:  # noqa: FBT001 - one of three answers
    if found is None:
        return f"Given up after {timeout_s:g} s of CPU time for all patterns."
    return NO_MATCH


def _labels(patterns: Sequence[re.Pattern[str]]) -> list[str]:
    """Name each pattern by its source; equal sources (other flags) are told apart by a number."""
    labels: list[str] = []
    for pattern in patterns:
        label, number = pattern.pattern, 2
        while label in labels:
            label, number = f"{pattern.pattern} ({number})", number + 1
        labels.append(label)
    return labels

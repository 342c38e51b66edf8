"""Judges that need nothing but the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge
from pytest_chalk.schemas.scoring import Scoring

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from pytest_chalk.schemas.transcript import Transcript

NO_MATCH = "Transcript contains no match."


class AlwaysPassJudge(Judge):
    """Scores 1 and continues: for steps that only set something up, or as a placeholder."""

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Return a pass, whatever happened."""
        return Scoring(score=1.0, metadata={}, continue_task=True)


class RegexJudge(Judge):
    """Passes when every pattern is found in what the student said.

    Only text of assistant messages counts, joined by blank lines, earlier steps included: no
    instructions, tool results, reasoning or tool arguments.
    """

    def __init__(self, expected: Sequence[re.Pattern[str]]) -> None:
        self.expected = tuple(expected)

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Return 1 and go on if all patterns are found, else 0 and the ones that were not."""
        said = "\n\n".join(
            message.text
            for message in transcript.messages
            if message.role == "assistant" and message.text
        )
        missed = [pattern for pattern in self.expected if pattern.search(said) is None]
        return Scoring(
            score=float(not missed),
            metadata=dict.fromkeys(_labels(missed), NO_MATCH),
            continue_task=not missed,
        )


def _labels(patterns: Sequence[re.Pattern[str]]) -> list[str]:
    """Name each pattern by its source; equal sources (other flags) are told apart by a number."""
    labels: list[str] = []
    for pattern in patterns:
        label, number = pattern.pattern, 2
        while label in labels:
            label, number = f"{pattern.pattern} ({number})", number + 1
        labels.append(label)
    return labels

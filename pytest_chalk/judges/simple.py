"""Judges that need nothing but the transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from pytest_chalk.authoring.judge import Judge

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from pytest_chalk.schemas.scoring import Scoring
    from pytest_chalk.schemas.transcript import Transcript

NO_MATCH = "Transcript contains no match."
"""Beside each pattern that was not found."""


class AlwaysPassJudge(Judge):
    """Scores 1 and continues: for steps that only set something up, or as a placeholder."""

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Return a pass, whatever happened."""
        return _scoring(passed=True, metadata={})


class RegexJudge(Judge):
    """Passes when every pattern is found in what the student said.

    Only text of assistant messages counts, joined by blank lines, earlier steps included: no
    instructions, tool results, reasoning or tool arguments.
    """

    def __init__(self, expected: Sequence[re.Pattern[str]]) -> None:
        """Take compiled patterns; none at all is a pass.

        Raises:
            TypeError: One of them is not compiled.
        """
        self.expected = tuple(expected)
        for pattern in self.expected:
            if not callable(getattr(pattern, "search", None)):
                message = f"RegexJudge takes compiled patterns: re.compile({pattern!r:.200})"
                raise TypeError(message)

    @override
    def evaluate(self, transcript: Transcript) -> Scoring:
        """Return 1 and go on if all patterns are found, else 0 and the ones that were not."""
        said = "\n\n".join(
            message.text
            for message in transcript.messages
            if message.role == "assistant" and message.text
        )
        missed = [pattern for pattern in self.expected if pattern.search(said) is None]
        return _scoring(passed=not missed, metadata=dict.fromkeys(_labels(missed), NO_MATCH))


def _labels(patterns: Sequence[re.Pattern[str]]) -> list[str]:
    """Name each pattern by its source; equal sources (other flags) are told apart by a number."""
    labels: list[str] = []
    for pattern in patterns:
        label, number = pattern.pattern, 2
        while label in labels:
            label, number = f"{pattern.pattern} ({number})", number + 1
        labels.append(label)
    return labels


def _scoring(*, passed: bool, metadata: dict[str, str]) -> Scoring:
    # Here and not at the top: a scoring script that imports its task needs no pydantic.
    from pytest_chalk.schemas.scoring import Scoring  # noqa: PLC0415 - see above

    return Scoring(float(passed), dict(metadata), passed)

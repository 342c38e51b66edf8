"""The code blocks of the seeds' pages, cut out by their first and last lines.

The pages are plain text without fences. Where they are not at hand, pages of our own in `examples`
have blocks of the same shape and names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
EXAMPLES = Path(__file__).parent / "examples"

SCORING, TASKS = "scoring", "tasks"
_FILES = {SCORING: "000_55c2204565556ac2.txt", TASKS: "001_736552523fc3b455.txt"}


@dataclass(frozen=True)
class Place:
    """Where a block is: patterns of how its first line (or lines) and its last line look."""

    page: str
    first: str
    last: str


PLACES = {
    "scoring": Place(
        SCORING, r"^from chalk\.schemas\.scoring import Scoring\n\nScoring\(", r"^Scoring\("
    ),
    "executable": Place(
        SCORING, r"^import sys\n\nfrom chalk\.judges import ExecutableJudge$", r"^\)$"
    ),
    "scoring_script": Place(
        SCORING, r"^import json\nimport sys\nfrom pathlib", r"^    Path\(output_path\)\.write_text"
    ),
    "rubric": Place(SCORING, r"^from chalk\.judges import FileContext, RubricJudge$", r"^\)$"),
    "regex": Place(SCORING, r"^import re\n\nfrom chalk\.judges import RegexJudge$", r"^RegexJudge"),
    "combined": Place(SCORING, r"^RegexJudge\(.*\) & ExecutableJudge\(", r"^RegexJudge"),
    "final_message": Place(SCORING, r"^from typing import override$", r"^        return Scoring\("),
    "misbehavior": Place(
        SCORING, r"^from chalk import StudentMisbehaviorError$", r"^raise StudentMisbehaviorError"
    ),
    "my_step": Place(
        SCORING,
        r"^import sys\nfrom pathlib import Path\n\nfrom chalk import Step$",
        r"^        \)$",
    ),
    "save_submission": Place(SCORING, r"^from chalk import save_submission$", r"^copy = "),
    "find_python": Place(
        TASKS, r"^import re\n\nfrom chalk import Step, Task$", r"^        return RegexJudge"
    ),
    "extra_config": Place(TASKS, r"^@property\ndef instructions", r"^    \.\.\.$"),
    "required_hardware": Place(TASKS, r"^@property\ndef required_hardware", r"^    return "),
}


def read_pages(seeds: Path = SEEDS) -> dict[str, str]:
    """Return the text of each page: the seeds' where the folder has them, else our own."""
    if all((seeds / name).is_file() for name in _FILES.values()):
        return {page: (seeds / name).read_text() for page, name in _FILES.items()}
    return {page: (EXAMPLES / f"{page}.txt").read_text() for page in _FILES}


def read_blocks(seeds: Path = SEEDS) -> dict[str, str]:
    """Return every block by name, unchanged.

    Raises:
        LookupError: A page has no such block.
    """
    pages = read_pages(seeds)
    return {name: cut_out(pages[place.page], place) for name, place in PLACES.items()}


def cut_out(page: str, place: Place) -> str:
    """Return the part of a page from the first to the last line of a block."""
    first = re.search(place.first, page, re.MULTILINE)
    last = first and re.compile(f"{place.last}.*", re.MULTILINE).search(page, first.start())
    if first is None or last is None:
        message = f"the page has no block {place}"
        raise LookupError(message)
    return page[first.start() : last.end()] + "\n"

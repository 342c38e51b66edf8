"""The seeds' page on evaluations as one script: its code blocks in order, nothing else.

Each `from_id("...")` gets the id of the object made before. Where the page is not at hand, a page
of our own in `seeds/examples` has the same blocks.
"""

from __future__ import annotations

import ast
from pathlib import Path

SEED = Path(__file__).parents[3] / "shared" / "seeds" / "002_0cbffadf86158c89.txt"
EXAMPLE = Path(__file__).parents[1] / "seeds" / "examples" / "evaluations.txt"

IDS = {
    'EvaluationRun.from_id("...")': "EvaluationRun.from_id(final.id)",
    'Evaluation.from_id("...")': "Evaluation.from_id(rescored.evaluation_id)",
}


def read_blocks(page: Path) -> list[str]:
    """Return the longest runs of lines of a page that are Python, as the page has them."""
    blocks, lines = [], page.read_text().splitlines()
    index = 0
    while index < len(lines):
        if not lines[index].startswith(("import ", "@", "if __name__", "valid_json", "def ")):
            index += 1
            continue
        end = index + 1
        for candidate in range(index + 1, len(lines) + 1):
            if is_python("\n".join(lines[index:candidate])):
                end = candidate
            elif lines[candidate - 1] and lines[candidate - 1][0].isalpha() and end < candidate - 1:
                break
        blocks.append("\n".join(lines[index:end]) + "\n")
        index = end
    return blocks


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def seed_script(page: Path) -> str:
    script = "\n".join(read_blocks(page))
    for seen, given in IDS.items():
        script = script.replace(seen, given)
    return script

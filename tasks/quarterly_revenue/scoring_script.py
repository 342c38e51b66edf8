"""Scores a saved copy of the revenue table: a point for each quarter that is right to the cent."""

import csv
import json
import re
import sys
from pathlib import Path

from environment.tasks.quarterly_revenue.orders import revenue_cents

MAX_ROWS = 1_000
AMOUNT = re.compile(r"(-?)(\d{1,12})(?:\.(\d{1,2}))?")  # bounded: a number may be an attack too


def read_cents(path: Path) -> dict[str, int]:
    """Return what the student wrote, as far as it can be read."""
    found: dict[str, int] = {}
    with path.open(newline="", encoding="utf-8", errors="replace") as opened:
        for _, row in zip(range(MAX_ROWS), csv.DictReader(opened), strict=False):
            amount = AMOUNT.fullmatch(str(row.get("revenue")).strip())
            if amount:
                sign, euros, rest = amount.groups(default="0")
                cents = int(euros) * 100 + int(rest.ljust(2, "0"))
                found[str(row.get("quarter")).strip()] = -cents if sign == "-" else cents
    return found


if __name__ == "__main__":
    submission, output = Path(sys.argv[1]), Path(sys.argv[2])
    wanted, found = revenue_cents(), read_cents(submission)
    right = [quarter for quarter in wanted if found.get(quarter) == wanted[quarter]]
    extra = sorted(set(found) - set(wanted))
    score = 0.0 if extra else len(right) / len(wanted)
    metadata = {"right": len(right), "quarters": len(wanted), "not asked for": extra[:10]}
    output.write_text(json.dumps({"score": score, "metadata": metadata}))

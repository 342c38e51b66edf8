"""Tables as text: names on one line, columns of equal width. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.reports.clean import MAX_TEXT_CHARS, clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence


def one_line(text: str, *, max_chars: int = MAX_TEXT_CHARS) -> str:
    """Return a text without line breaks, and fit for a terminal."""
    return clean_text(" ".join(text.split()), max_chars=max_chars)


def align(rows: Sequence[Sequence[str]], left_columns: int) -> list[str]:
    """Return rows as lines of equal columns, the first ones to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column < left_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def show_seconds(seconds: float) -> str:
    """Return a time as people write it: `12.3s`, `2m05s`, `3h07m`."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"

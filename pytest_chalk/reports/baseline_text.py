"""A baseline as text that a person can review, and comparisons as lines. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.errors import RunOptionError
from pytest_chalk.reports.clean import clean_text
from pytest_chalk.reports.comparison import SAME, Entry
from pytest_chalk.schemas.plain import parse_finite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.reports.comparison import Change, Comparison

HEAD = """\
# What pytest --chalk-baseline=FILE compares with. Written by --chalk-update-baseline.
# task and student | passed of scored runs | mean | scores
"""
_SEPARATOR = " | "


def render_baseline(entries: Mapping[str, Entry]) -> str:
    """Return the text of a baseline: a line per task and student, sorted."""
    lines = [
        _SEPARATOR.join(
            (
                group,
                f"{entry.passed}/{len(entry.scores)}",
                f"{entry.mean:.3f}",
                " ".join(f"{score:.10g}" for score in entry.scores),
            )
        )
        for group, entry in sorted(entries.items())
    ]
    return HEAD + "".join(f"{line}\n" for line in lines)


def parse_baseline(text: str, where: str) -> dict[str, Entry]:
    """Return the entries of a baseline; the mean, which is for readers, is not read.

    Raises:
        RunOptionError: A line is none; names it.
    """
    entries: dict[str, Entry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            group, entry = _parse_line(line, f"{where}, line {number}")
            if group in entries:
                raise _unusable(
                    where=f"{where}, line {number}", problem=f"{group!r} is there twice"
                )
            entries[group] = entry
    return entries


def _parse_line(line: str, where: str) -> tuple[str, Entry]:
    parts = line.rsplit(_SEPARATOR, 3)
    if len(parts) != 4:
        raise _unusable(where, f"found {line!r:.200}")
    group, share, _, texts = parts
    passed, _, count = share.strip().partition("/")
    scores = [parse_finite(text) for text in texts.split()]
    known = sorted(score for score in scores if score is not None)
    are_counts = passed.isdecimal() and count.isdecimal()
    if not known or len(known) < len(scores) or not are_counts or int(count) != len(known):
        raise _unusable(where, f"found {line!r:.200}")
    if int(passed) > int(count):
        raise _unusable(where, f"{passed} of {count} runs passed")
    return group, Entry(tuple(known), int(passed))


def _unusable(where: str, problem: str) -> RunOptionError:
    fix = "Write `task | passed/runs | mean | scores`, or make it anew with --chalk-update-baseline"
    return RunOptionError(where, problem, fix=fix)


def render_comparison(comparison: Comparison) -> list[str]:
    """Return what changed, a line each, the worst first; equal ones are only counted."""
    lines = [
        f"{_word(change)} {clean_text(change.group)}: {_change(change)}"
        for change in sorted(comparison.changes, key=lambda change: change.difference)
        if abs(change.difference) > SAME
    ]
    equal = len(comparison.changes) - len(lines)
    lines.append(f"{len(comparison.changes)} compared, {equal} unchanged{_overall(comparison)}")
    for word, groups in (("new", comparison.new), ("stale", comparison.stale)):
        lines += [f"{word} {clean_text(group)}" for group in groups]
    return lines


def find_drops(comparison: Comparison) -> list[str]:
    """Return each significant drop as a problem of the session, in a line."""
    problems = [
        f"{clean_text(change.group)} fell below the baseline: {_change(change)}"
        for change in comparison.changes
        if change.has_dropped
    ]
    if comparison.has_dropped:
        count = len(comparison.changes)
        problems.append(f"all {count} tasks together fell below the baseline{_overall(comparison)}")
    return problems


def _word(change: Change) -> str:
    if change.has_dropped:
        return "DROPPED"
    return "lower" if change.difference < 0 else "higher"


def _change(change: Change) -> str:
    before, after = change.before, change.after
    counts = f"{before.passed}/{len(before.scores)} to {after.passed}/{len(after.scores)} passed"
    shown = f"mean {before.mean:.3f} to {after.mean:.3f}, {counts}"
    return shown if change.difference >= 0 else f"{shown}{_chance(change.chance)}"


def _overall(comparison: Comparison) -> str:
    changes = comparison.changes
    if not changes:
        return ""
    before = sum(change.before.mean for change in changes) / len(changes)
    after = sum(change.after.mean for change in changes) / len(changes)
    return f", mean {before:.3f} to {after:.3f}{_chance(comparison.chance)}"


def _chance(chance: float | None) -> str:
    return "" if chance is None else f", chance of such a drop by luck {chance:.3f}"

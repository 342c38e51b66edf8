"""What each level of isolation enforces, and what it does not: one table for all who say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_chalk.sandbox.layout import Level


class Guarantee(NamedTuple):
    """One thing that a level holds the student to."""

    name: str
    """A word for headers and reports."""

    meaning: str
    levels: tuple[Level, ...]
    """Where it is enforced."""

    remedy: str
    """What to do where it is not."""


GUARANTEES = (
    Guarantee(
        "uid",
        "the student has a user id of its own",
        ("isolated", "uid"),
        "run pytest as root on Linux",
    ),
    Guarantee(
        "harness",
        "it cannot signal the harness or read its memory and environment",
        ("isolated", "uid", "userns"),
        "run pytest as root on Linux",
    ),
    Guarantee(
        "records",
        "it cannot read saved submissions, transcripts and records",
        ("isolated", "uid", "userns"),
        "run pytest as root on Linux",
    ),
    Guarantee(
        "kill",
        "whatever it started is gone before scoring, and that is confirmed",
        ("isolated", "uid", "userns"),
        "run pytest as root on Linux",
    ),
    Guarantee(
        "tasks",
        "it cannot read the project: tasks, answers, scoring scripts",
        ("isolated", "userns"),
        "close the project to other users (chmod -R go-rwx), or use isolated",
    ),
    Guarantee(
        "processes",
        "it sees no process but its own",
        ("isolated", "userns"),
        "put no secret on a command line, or use isolated",
    ),
    Guarantee(
        "files",
        "it leaves no file or IPC object behind outside of its folders",
        ("isolated", "userns"),
        "use isolated",
    ),
    Guarantee(
        "network",
        "it reaches nothing but its own localhost",
        ("isolated", "userns"),
        "cut the network of the machine or container, or use isolated",
    ),
    Guarantee(
        "disk",
        "size and number of its files are limited",
        ("isolated",),
        "use isolated, or a disk of its own",
    ),
    Guarantee(
        "memory",
        "whoever takes too much memory is found within a second, and all its processes are killed",
        ("isolated", "uid", "userns"),
        "run pytest as root on Linux",
    ),
    Guarantee(
        "cpu",
        "its share of the processors is limited",
        (),
        "limit the processors of the container",
    ),
)


def enforced(level: Level) -> list[str]:
    """Return the names of what a level enforces."""
    return [guarantee.name for guarantee in GUARANTEES if level in guarantee.levels]


def not_enforced(level: Level) -> list[str]:
    """Return the names of what a level does not enforce."""
    return [guarantee.name for guarantee in GUARANTEES if level not in guarantee.levels]


def describe_level(level: Level) -> str:
    """Return one line for headers."""
    if level == "none":
        return "none (same UID, nothing is enforced: scripted students only)"
    return f"{level} (not enforced: {', '.join(not_enforced(level))})"

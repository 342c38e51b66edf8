"""The plugins of a pytest that a test runs: those named, whatever else is installed."""

from __future__ import annotations


def plugins(*names: str) -> tuple[str, ...]:
    """Return the arguments that load plugins, or with `no:` keep them out."""
    return tuple(part for name in names for part in ("-p", name))

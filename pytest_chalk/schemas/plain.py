"""Values as JSON and UTF-8 can hold them, whoever made them. Standard library only."""

from __future__ import annotations

import math
import re
from numbers import Real

_SURROGATES = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """Return `text` as valid UTF-8: lone surrogates become backslash escapes."""
    return text if text.isascii() else _SURROGATES.sub(_escaped, text)


def plain(value: object) -> object:
    """Return `value` as JSON has it, however deep it lies; what it does not know becomes text.

    Lone surrogates become escapes, numbers that are not finite their names, tuples lists, and
    other objects `str(...)`. Nothing is cut or made fit for a reader: `reports.clean` does that.
    """
    if isinstance(value, dict):
        return {_text(key): plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return _text(value)


def as_bool(value: object) -> bool | None:
    """Return `value` as a bool if it is one, numpy's included; None for everything else."""
    if isinstance(value, bool):
        return value
    kind = type(value)
    is_numpys = kind.__module__ == "numpy" and kind.__name__ in {"bool", "bool_"}
    return bool(value) if is_numpys else None


def as_finite(value: object) -> float | None:
    """Return `value` as a float if it is a finite number; None for bools and everything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def parse_finite(text: str) -> float | None:
    """Return the finite number that a text is, by Python's rules; None where it is none."""
    try:
        return as_finite(float(text))
    except ValueError:
        return None


def has_surrogate(text: str) -> bool:
    """Tell whether UTF-8 cannot hold `text`."""
    return not text.isascii() and _SURROGATES.search(text) is not None


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return encodable(value if isinstance(value, str) else str(value))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"

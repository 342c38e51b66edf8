"""The border that every report passes: what leaves a run is plain, finite, bounded and printable.

A lone surrogate or a `Path` in a report kills an xdist worker, a control character breaks XML, and
a terminal obeys escape sequences. Whatever judges and students produce is made harmless here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from typing import Any, TypeAlias

Json: TypeAlias = str | int | float | bool | list["Json"] | dict[str, "Json"] | None

MAX_TEXT_CHARS = 65_536
"""One string in a report. Ten times what a person reads; a student's 5 MB line would make every
report as long, and JUnit viewers refuse such files."""

MAX_DEPTH = 20
"""Nesting of metadata. Deeper is an accident or an attack on whoever walks it."""

MAX_ITEMS = 1_000
"""Members of one list or mapping in a report."""

MAX_INT_DIGITS = 300
"""Beyond the range of a double, which is all that most readers of JSON have."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def encodable(text: str) -> str:
    """Return `text` as valid UTF-8: lone surrogates become backslash escapes."""
    return _SURROGATES.sub(_escape, text) if not text.isascii() else text


def clean_text(text: str, *, max_chars: int = MAX_TEXT_CHARS) -> str:
    r"""Return `text` fit for terminals and strict XML: escaped controls, bounded length.

    Carriage returns that end a line vanish; `\t` and `\n` stay. A cut says how much is missing.
    """
    text = shortened(text, max_chars)
    return _CONTROLS.sub(_escape, encodable(text.replace("\r\n", "\n")))


def shortened(text: str, max_chars: int) -> str:
    """Return at most about `max_chars` characters: the head, a visible note, and the tail."""
    if len(text) <= max_chars:
        return text
    tail = min(8_192, max_chars // 4)
    head = max_chars - tail
    cut = len(text) - head - tail
    return f"{text[:head]}\n[... {cut:,} characters cut ...]\n{text[len(text) - tail :]}"


def clean(value: object, *, depth: int = 0) -> Json:
    """Return `value` as plain JSON: str, int, finite float, bool, None, list and dict.

    Anything else becomes text: an `Enum` its value, bytes their text with replacements, a
    non-finite float its name, other objects `str(...)`; an object whose `str` fails, its type.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return clean(value.value, depth=depth + 1)
    if isinstance(value, (int, float)):
        return _clean_number(value)
    if isinstance(value, (Mapping, Sequence, Set)) and not isinstance(value, (str, bytes)):
        return _clean_collection(value, depth)
    return clean_text(_as_text(value))


def clean_object(value: Mapping[Any, object]) -> dict[str, Json]:
    """Return a mapping as a plain JSON object; keys become clean text."""
    cleaned = clean(dict(value))
    return cleaned if isinstance(cleaned, dict) else {}


def _clean_number(value: float) -> Json:
    if isinstance(value, int):
        small = -(10**MAX_INT_DIGITS) < value < 10**MAX_INT_DIGITS
        return int(value) if small else f"an integer of {value.bit_length()} bits"
    return float(value) if math.isfinite(value) else str(float(value))


def _clean_collection(
    value: Mapping[Any, object] | Sequence[object] | Set[object], depth: int
) -> Json:
    if depth >= MAX_DEPTH:
        return f"[nested deeper than {MAX_DEPTH}]"
    left_out = len(value) - MAX_ITEMS
    if isinstance(value, Mapping):
        cleaned = {
            clean_text(_as_text(key)): clean(member, depth=depth + 1)
            for key, member in list(value.items())[:MAX_ITEMS]
        }
        if left_out > 0:
            cleaned["[cut]"] = f"{left_out:,} more"
        return cleaned
    members = sorted(value, key=repr) if isinstance(value, Set) else list(value)
    listed = [clean(member, depth=depth + 1) for member in members[:MAX_ITEMS]]
    return [*listed, f"[{left_out:,} more cut]"] if left_out > 0 else listed


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value[: MAX_TEXT_CHARS + 1]).decode("utf-8", "replace")
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return f"<{type(value).__name__} that cannot be shown>"

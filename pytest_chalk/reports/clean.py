r"""The border that every report passes: what leaves a run is plain, finite, bounded and printable.

A lone surrogate or a `Path` in a report kills an xdist worker, a control character breaks XML, and
a terminal obeys escape sequences. Whatever judges and students produce is made harmless here.
Cleaning what is clean changes nothing.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_chalk.schemas.plain import as_bool, encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json: TypeAlias = str | int | float | bool | list["Json"] | dict[str, "Json"] | None

MAX_TEXT_CHARS = 65_536
"""One string in a report. Ten times what a person reads; a student's 5 MB line would make every
report as long, and JUnit viewers refuse such files."""

MAX_INT_DIGITS = 300
"""Beyond the range of a double, which is all that most readers of JSON have."""


@dataclass(frozen=True)
class Limits:
    """How much of a value is kept; the rest is replaced by a note that says so.

    Attributes:
        depth: Of nesting. Deeper is an accident or an attack on whoever walks it.
        items: Members of one list or mapping.
        values: Members of all of them together: ten lists that each hold the next ten times over
            are small in memory and endless on paper.
        chars: Of all texts together.
    """

    depth: int
    items: int
    values: int
    chars: int


METADATA_LIMITS = Limits(depth=20, items=1_000, values=10_000, chars=1_048_576)
"""Of one step's metadata: ten times what fits on a page, far below what slows a report down."""

RECORD_LIMITS = Limits(depth=40, items=100_000, values=1_000_000, chars=1 << 30)
"""Of a whole record. Its metadata has been cut already, and its own fields must not be; the limits
are there for values that contain themselves."""

TOO_MUCH = "[... too much to show, the rest is cut ...]"
TOO_DEEP = "[... nested too deeply to show ...]"
INSIDE_ITSELF = "[... contains itself ...]"
_NOTES = frozenset({TOO_MUCH, TOO_DEEP, INSIDE_ITSELF})

_BYTES = (bytes, bytearray, memoryview)
_TEXTS = (str, *_BYTES)

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")


def clean_text(text: str, *, max_chars: int = MAX_TEXT_CHARS) -> str:
    r"""Return `text` fit for terminals and strict XML: escaped controls, bounded length.

    Carriage returns that end a line vanish; `\t` and `\n` stay. A cut says how much is missing.
    """
    exact = str.__str__(text)
    if len(exact) <= max_chars and exact.isascii() and exact.isprintable():
        return exact  # nearly all names and sentences
    exact = exact.replace("\r\n", "\n")
    return shortened(_CONTROLS.sub(_escape, encodable(exact)), max_chars)


def shortened(text: str, max_chars: int) -> str:
    """Return at most `max_chars` characters: the head, a visible note, and the tail."""
    if len(text) <= max_chars:
        return text
    room = max_chars - len(_cut_note(len(text)))
    if room <= 0:
        return text[:max_chars]
    tail = min(8_192, room // 4)
    head = room - tail
    return f"{text[:head]}{_cut_note(len(text) - room)}{text[len(text) - tail :]}"


def clean(value: object) -> Json:
    """Return `value` as plain JSON: str, int, finite float, bool, None, list and dict.

    Anything else becomes text: an `Enum` its value, bytes their text with replacements, a
    non-finite float its name, other objects `str(...)`; an object whose `str` fails, its type.
    """
    return _Cleaner(RECORD_LIMITS).clean(value)


def clean_object(value: Mapping[Any, object]) -> dict[str, Json]:
    """Return a step's metadata as a plain JSON object, cut to `METADATA_LIMITS`.

    Keys become clean text; of equal ones all but the first get a number.
    """
    if type(value) is dict and not value:  # of most steps, and asked before each is written down
        return {}
    cleaned = _Cleaner(METADATA_LIMITS).clean(value)
    return cleaned if isinstance(cleaned, dict) else {"[metadata]": cleaned}


class _Cleaner:
    """Cleans one value, members included, and keeps count."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._values_left = limits.values
        self._chars_left = limits.chars
        self._around: list[int] = []

    def clean(self, value: object) -> Json:
        try:
            return self._cleaned(value)
        except Exception:  # noqa: BLE001 - a foreign object may raise anything wherever it is asked
            return self._text(f"<{type(value).__name__} that cannot be shown>")

    def _cleaned(self, value: object) -> Json:
        if type(value) is str:  # by far the most common, and abstract classes are slow to ask
            return self._text(value)
        if isinstance(value, Enum) and not isinstance(value.value, Enum):
            value = value.value
        truth = as_bool(value)
        if value is None or truth is not None:
            return truth
        if isinstance(value, Real):
            return _clean_number(value)
        if isinstance(value, (Mapping, Sequence, AbstractSet)) and not isinstance(value, _TEXTS):
            return self._collection(value)
        return self._text(_as_text(value))

    def _text(self, text: str) -> str:
        exact = str.__str__(text)  # a subclass may lie about itself
        if exact in _NOTES:
            return exact
        if self._chars_left <= 0:
            return TOO_MUCH
        cleaned = clean_text(exact, max_chars=min(MAX_TEXT_CHARS, self._chars_left))
        self._chars_left -= len(cleaned)
        return cleaned

    def _collection(
        self, value: Mapping[Any, object] | Sequence[object] | AbstractSet[object]
    ) -> Json:
        if id(value) in self._around:
            return INSIDE_ITSELF
        if len(self._around) >= self._limits.depth:
            return TOO_DEEP
        self._around.append(id(value))
        try:
            if isinstance(value, Mapping):
                return self._mapping(value)
            members = sorted(value, key=repr) if isinstance(value, AbstractSet) else value
            return [self.clean(member) for member in self._bounded(members, len(value))]
        finally:
            self._around.pop()

    def _mapping(self, value: Mapping[Any, object]) -> dict[str, Json]:
        cleaned: dict[str, Json] = {}
        for item in self._bounded(value.items(), len(value)):
            key, member = ("[cut]", item) if isinstance(item, str) else item
            cleaned[_unused(self._text(_as_text(key)), cleaned)] = self.clean(member)
        return cleaned

    def _bounded(self, members: Iterable[Any], count: int) -> Iterator[Any]:
        """Yield as many members as may be shown and, if there are more, a note."""
        most = self._limits.items if count <= self._limits.items else self._limits.items - 1
        note = f"[... {count - most:,} more, cut ...]"
        shown = itertools.islice(members, most)
        for member in shown if count <= most else itertools.chain(shown, [note]):
            if self._values_left <= 0 or self._chars_left <= 0:
                yield TOO_MUCH
                return
            self._values_left -= 1
            yield member


def _clean_number(value: Any) -> Json:  # noqa: ANN401 - numbers.Real has no useful methods
    """Return an exact int or float: subclasses may do anything where they are written down."""
    if isinstance(value, (int, Integral)):
        whole = int.__index__(value) if isinstance(value, int) else int(value)
        is_small = -(10**MAX_INT_DIGITS) < whole < 10**MAX_INT_DIGITS
        return whole if is_small else f"an integer of {whole.bit_length()} bits"
    number = float.__float__(value) if isinstance(value, float) else float(value)
    return number if math.isfinite(number) else str(number)


def _as_text(value: object) -> str:
    if isinstance(value, _BYTES):
        return bytes(value).decode("utf-8", "replace")
    return str.__str__(value) if isinstance(value, str) else str(value)


def _unused(key: str, taken: Mapping[str, object]) -> str:
    """Return `key`, with a number if there is one like it: keys may become equal by cleaning."""
    numbered = (f"{key} ({number})" for number in itertools.count(2))
    return next(name for name in itertools.chain([key], numbered) if name not in taken)


def _cut_note(cut: int) -> str:
    return f"\n[... {cut:,} characters cut ...]\n"


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

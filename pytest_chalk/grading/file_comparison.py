"""Whether the content of a file is what was expected, in one of four senses."""

from __future__ import annotations

import json
import math
import unicodedata
from typing import TYPE_CHECKING, Any, Literal

from pytest_chalk.schemas.plain import as_finite, parse_finite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Comparison = Literal["exact", "text", "json", "number"]

MAX_NUMBER_CHARS = 400
"""A float written out has some 330 at most; longer text takes ever longer to read."""

MAX_SHOWN_CHARS = 200
"""Of what was found, in a reason."""


class ExpectationError(ValueError):
    """The expectation itself is none: the author's to mend."""


def find_difference(
    content: bytes, expected: object, comparison: Comparison, tolerance: float
) -> str | None:
    """Return how a file differs from what was expected, None if it does not.

    Args:
        content: Of the student's file.
        expected: `bytes` or `str` for `exact` and `text`, any JSON value for `json`, a finite
            number for `number`.
        comparison: In which sense they are to be equal.
        tolerance: For `number`: relative, and absolute near 0.

    Raises:
        ExpectationError: `expected` is nothing to compare with in that sense.
    """
    compare: Mapping[Comparison, Callable[[], str | None]] = {
        "exact": lambda: _differs_exactly(content, _as_bytes(expected)),
        "text": lambda: _differs_as_text(content, _as_text(expected)),
        "json": lambda: _differs_as_json(content, _as_json(expected)),
        "number": lambda: _differs_as_number(content, expected, tolerance),
    }
    return compare[comparison]()


def normalised_text(text: str) -> str:
    """Return text without what editors and systems differ in.

    Line ends are one, blanks at their end and blank lines at the end of the text are gone, as is a
    byte order mark, and characters that can be composed are (NFC).
    """
    composed = unicodedata.normalize("NFC", text.removeprefix("\ufeff"))
    lines = composed.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def json_equal(left: object, right: object) -> bool:
    """Tell whether two JSON values are equal: 1 is 1.0 but not true, key order does not matter."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(json_equal(left[k], right[k]) for k in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(json_equal, left, right))
    return type(left) is type(right) and left == right


def _as_bytes(expected: object) -> bytes:
    if isinstance(expected, str):
        return expected.encode("utf-8", "surrogateescape")
    if isinstance(expected, bytes):
        return expected
    message = f"an exact comparison is with bytes or text, not {expected!r:.200}"
    raise ExpectationError(message)


def _as_text(expected: object) -> str:
    if isinstance(expected, bytes):
        return expected.decode("utf-8", "surrogateescape")
    if isinstance(expected, str):
        return expected
    message = f"a comparison of texts is with a text, not {expected!r:.200}"
    raise ExpectationError(message)


def _as_json(expected: object) -> object:
    try:
        found = _find_odd(expected)
    except RecursionError:
        found = "a value that is nested too deeply"
    if found is None:
        return expected
    message = f"a comparison of JSON is with JSON values, and {found} is none"
    raise ExpectationError(message)


def _find_odd(value: object) -> str | None:
    """Return a part of a value that JSON has not, and that nothing would be equal to."""
    if value is None or isinstance(value, (str, bool, int)):
        return None
    if isinstance(value, float) and math.isfinite(value):
        return None
    if isinstance(value, dict):
        odd = next((key for key in value if not isinstance(key, str)), None)
        return _find_odd_among(value.values()) if odd is None else f"the key {odd!r:.100}"
    if isinstance(value, (list, tuple)):
        return _find_odd_among(value)
    return f"{value!r:.200}"


def _find_odd_among(values: Iterable[object]) -> str | None:
    return next((odd for odd in map(_find_odd, values) if odd is not None), None)


def _differs_exactly(content: bytes, expected: bytes) -> str | None:
    if content == expected:
        return None
    pairs = enumerate(zip(content, expected, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(content), len(expected)))
    return f"differs from byte {at} on ({len(content)} bytes, expected {len(expected)})"


def _differs_as_text(content: bytes, expected: str) -> str | None:
    try:
        found = normalised_text(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"is no UTF-8 text (byte {error.start})"
    wanted = normalised_text(expected)
    if found == wanted:
        return None
    left, right = found.split("\n"), wanted.split("\n")
    pairs = enumerate(zip(left, right, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))
    if at >= len(left):
        return f"ends before line {at + 1}, expected {_shown(right[at])}"
    if at >= len(right):
        return f"goes on after line {at}, with {_shown(left[at])}"
    return f"differs in line {at + 1}: found {_shown(left[at])}, expected {_shown(right[at])}"


def _differs_as_json(content: bytes, expected: object) -> str | None:
    try:
        found = json.loads(
            content.decode("utf-8-sig"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_duplicates,
        )
        if json_equal(found, expected):
            return None
        return f"is other JSON than expected: {_shown(json.dumps(found))}"
    except RecursionError:
        return "is nested too deeply"
    except ValueError as error:
        return f"is not valid JSON: {error}"


def _differs_as_number(content: bytes, expected: object, tolerance: float) -> str | None:
    wanted = as_finite(expected)
    if wanted is None:
        message = f"a comparison of numbers is with a finite number, not {expected!r:.200}"
        raise ExpectationError(message)
    text = content.decode("utf-8", "replace").strip()
    found = parse_finite(text) if len(text) <= MAX_NUMBER_CHARS else None
    if found is None:
        return f"is no finite number: {_shown(text)}"
    if math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance):
        return None
    return f"has {found:g}, expected {wanted:g} within {tolerance:g}"


def _refuse_constant(name: str) -> float:
    message = f"{name} is no JSON"
    raise ValueError(message)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "it has a key twice"
        raise ValueError(message)
    return found


def _shown(text: str) -> str:
    cut = len(text) - MAX_SHOWN_CHARS
    return repr(text) if cut <= 0 else f"{text[:MAX_SHOWN_CHARS]!r} [... {cut:,} characters cut]"

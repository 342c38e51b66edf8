"""The values of options as texts: what each parser takes is what its error asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_chalk.reports.epochs import Epochs
from pytest_chalk.schemas.plain import parse_finite

if TYPE_CHECKING:
    from collections.abc import Callable


def positive_count(text: str) -> int:
    """Parse an int of at least 1."""
    if not text.strip().isdecimal() or int(text) < 1:
        message = "a whole number of at least 1"
        raise ValueError(message)
    return int(text)


def epochs(text: str) -> Epochs:
    """Parse how often a task runs: a count, or `auto:` with the highest count."""
    count = text.strip().removeprefix("auto:")
    if not count.isdecimal() or int(count) < 1:
        message = "a whole number of at least 1, or auto:N to stop before N when all is decided"
        raise ValueError(message)
    return Epochs(int(count), auto=count != text.strip())


def positive_seconds(text: str) -> float:
    """Parse a finite number above 0."""
    return _positive(text, "seconds as a number above 0")


def progress_interval(text: str) -> float | None:
    """Parse seconds above 0; None for `off`."""
    if text.strip() == "off":
        return None
    return _positive(text, "seconds as a number above 0, or off")


def positive_amount(text: str) -> float:
    """Parse a finite number above 0."""
    return _positive(text, "a number above 0, for example 2.50")


def _positive(text: str, wanted: str) -> float:
    number = parse_finite(text)
    if number is None or number <= 0:
        raise ValueError(wanted)
    return number


def finite(text: str) -> float:
    """Parse a finite number."""
    number = parse_finite(text)
    if number is None:
        message = "a finite number, for example 0.8"
        raise ValueError(message)
    return number


def temperature(text: str) -> float:
    """Parse a finite number of at least 0."""
    number = parse_finite(text)
    if number is None or number < 0:
        message = "a number of at least 0, for example 0.7"
        raise ValueError(message)
    return number


def whole_number(text: str) -> int:
    """Parse an int."""
    try:
        return int(text)
    except ValueError:
        message = "a whole number"
        raise ValueError(message) from None


def word(text: str) -> str:
    """Parse a text that is not empty."""
    if not text.strip():
        message = "a word"
        raise ValueError(message)
    return text.strip()


def share(text: str) -> float:
    """Parse a number from 0 to 1."""
    number = parse_finite(text)
    if number is None or not 0 <= number <= 1:
        message = "a number from 0 to 1"
        raise ValueError(message)
    return number


def boolean(text: str) -> bool:
    """Parse true or false."""
    if text.lower() in {"true", "1", "yes", "on"}:
        return True
    if text.lower() in {"false", "0", "no", "off"}:
        return False
    message = "true or false"
    raise ValueError(message)


def one_of(*accepted: str) -> Callable[[str], str]:
    """Return a parser that takes one of these words."""

    def parse(text: str) -> str:
        if text not in accepted:
            message = " or ".join(accepted)
            raise ValueError(message)
        return text

    return parse

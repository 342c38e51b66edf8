"""Settings read from the command line, the environment and ini files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pytest_chalk.errors import RunOptionError
from pytest_chalk.plugin.options import ON_COMMAND_LINE, Given, find_given

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

T = TypeVar("T")


class OptionReader:
    """Reads settings as they were given, wherever that was."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def given(self, noun: str) -> Given | None:
        """Return a setting's texts and where they come from, or None."""
        return find_given(self._config, noun)

    def source(self, noun: str) -> str:
        """Return where a setting comes from, for example `--chalk-pass-score`."""
        given = self.given(noun)
        return given.source if given else "default"

    def is_typed(self, noun: str) -> bool:
        """Tell whether a setting was given on the command line."""
        given = self.given(noun)
        return given is not None and given.rank == ON_COMMAND_LINE

    def read(self, noun: str, parse: Callable[[str], T], default: T) -> T:
        """Return a setting's value.

        Raises:
            RunOptionError: `parse` does not take it.
        """
        given = self.given(noun)
        if given is None:
            return default
        try:
            return parse(given.text)
        except ValueError as error:
            raise RunOptionError(
                given.source, f"{given.text!r} cannot be used", fix=f"Give {error}"
            ) from None

    def path(self, noun: str) -> Path | None:
        """Return a setting that names a file or directory, absolute.

        What an ini file says is relative to the project's root, anything else to where pytest was
        started.
        """
        given = self.given(noun)
        if given is None:
            return None
        from_ini = given.source.startswith("ini ")
        base = self._config.rootpath if from_ini else self._config.invocation_params.dir
        return base / given.text

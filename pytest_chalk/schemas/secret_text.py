"""Secrets in text that is kept: keys and passwords of the environment, by their names there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
SECRET_MIN_CHARS = 8
"""Of a variable's value to be taken for a secret: shorter ones are words that texts are full of."""


def secrets_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what to write in place of each secret in the environment, longest first."""
    found = {
        value: f"[{name} redacted]"
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and len(value) >= SECRET_MIN_CHARS
    }
    return dict(sorted(found.items(), key=lambda item: -len(item[0])))


def without_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """Return `text` with each secret replaced by what `secrets` says."""
    for secret, instead in secrets.items():
        text = text.replace(secret, instead)
    return text

"""Metadata of evaluations, runs and scores: a JSON mapping that comes back as it was given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MAX_METADATA_DEPTH = 100
"""Of nesting; a mapping that contains itself has no end."""


def checked_metadata(metadata: object) -> dict[str, Any]:
    """Return `metadata` as plain JSON values, unchanged but for tuples, which become lists.

    Raises:
        TypeError: It is no mapping, a key is no text, or a value is none that JSON knows (NaN is
            not); says where.
    """
    if not isinstance(metadata, Mapping):
        message = f"metadata is a mapping, found {metadata!r:.100}"
        raise TypeError(message)
    found: dict[str, Any] = _checked(metadata, "metadata", 0)
    return found


def _checked(value: object, where: str, depth: int) -> Any:  # noqa: ANN401 - any JSON
    if depth > MAX_METADATA_DEPTH:
        message = f"{where:.200}: nested too deeply"
        raise TypeError(message)
    if isinstance(value, Mapping):
        _check_keys(value, where)
        return {k: _checked(item, f"{where}[{k!r}]", depth + 1) for k, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_checked(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    message = f"{where}: {value!r:.100} ({type(value).__name__}) is no JSON value"
    raise TypeError(message)


def _check_keys(mapping: Mapping[object, object], where: str) -> None:
    for key in mapping:
        if not isinstance(key, str):
            message = f"{where}: keys are text, found {key!r}"
            raise TypeError(message)

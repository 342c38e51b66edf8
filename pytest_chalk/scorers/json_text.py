"""Scorers that read the output as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from pytest_chalk.authoring.scorer import (
    BuiltinScorer,
    EvaluationScorerResult,
    as_text,
    checked_inputs,
    checked_name,
)
from pytest_chalk.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MISSING = object()
"""A path that leads nowhere; not the same as one that leads to null."""


def json_valid(*, name: str = "json-valid", inputs: Sequence[str] = ("output",)) -> BuiltinScorer:
    """Score 1 if the text is JSON: any value, but not NaN or Infinity, and not nothing."""

    def score(value: object) -> EvaluationScorerResult:
        try:
            _parse(value)
        except ValueError as error:
            return EvaluationScorerResult(0.0, {"error": str(error)})
        return EvaluationScorerResult(1.0, {})

    return BuiltinScorer(checked_name(name), "json_valid", checked_inputs(inputs, 1), {}, score)


def json_match(
    *,
    name: str = "json-match",
    inputs: Sequence[str] = ("output", "expected"),
    paths: Sequence[str | Sequence[str]] | None = None,
    strict: bool = False,
) -> BuiltinScorer:
    """Score 1 if both texts are the same JSON, or the share of `paths` at which they agree.

    The order of keys does not matter, that of lists does; `true` is not `1`, and `1` is `1.0`.

    Args:
        name: Of the scorer.
        inputs: The two columns.
        paths: Such as `customer.name` or `items.0`; a list of keys reaches a key that has a dot.
        strict: Whether a path that is missing on both sides is a difference.

    Raises:
        TypeError: `paths` is one text.
        ValueError: `paths` is empty.
    """
    split = _split_paths(paths)

    def score(found: object, wanted: object) -> EvaluationScorerResult:
        sides = []
        for column, value in zip(inputs, (found, wanted), strict=True):
            try:
                sides.append(_parse(value))
            except ValueError as error:
                return EvaluationScorerResult(0.0, {"error": f"{column}: {error}"})
        if split is None:
            same = _same(*sides)
            return EvaluationScorerResult(float(same), {"mismatched": _differing_keys(*sides)})
        wrong = [
            shown
            for shown, keys in split.items()
            if not _agree(_at(sides[0], keys), _at(sides[1], keys), strict=strict)
        ]
        return EvaluationScorerResult(1.0 - len(wrong) / len(split), {"mismatched": wrong})

    kept = None if split is None else [list(keys) for keys in split.values()]
    params = {"paths": kept, "strict": strict}
    return BuiltinScorer(checked_name(name), "json_match", checked_inputs(inputs, 2), params, score)


def json_schema(
    schema: Mapping[str, Any],
    *,
    name: str = "json-schema",
    inputs: Sequence[str] = ("output",),
) -> BuiltinScorer:
    """Score 1 if the text is JSON that the JSON Schema allows; the metadata lists what it does not.

    Raises:
        ValueError: It is no valid schema.
        DatasetError: jsonschema is not installed.
    """
    try:
        import jsonschema  # noqa: PLC0415 - an extra
    except ImportError as error:
        where, problem = "scorer 'json_schema'", "it needs jsonschema, which is not installed"
        fix = "Install the extra: pip install 'pytest-chalk[evaluations]'"
        raise DatasetError(where, problem, fix=fix) from error
    kind = jsonschema.validators.validator_for(schema)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        message = f"no valid JSON Schema: {error.message}"
        raise ValueError(message) from error
    validator = kind(schema)

    def score(value: object) -> EvaluationScorerResult:
        try:
            parsed = _parse(value)
        except ValueError as error:
            return EvaluationScorerResult(0.0, {"error": str(error)})
        problems = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(parsed)]
        return EvaluationScorerResult(float(not problems), {"problems": problems[:20]})

    params = {"schema": json.loads(json.dumps(schema))}
    return BuiltinScorer(
        checked_name(name), "json_schema", checked_inputs(inputs, 1), params, score
    )


def _parse(value: object) -> object:
    """Return the JSON in a text; what is no text is taken as the JSON it is.

    Raises:
        ValueError: The text is no JSON.
    """
    if isinstance(value, (dict, list, bool, int, float)):
        return value
    text = as_text(value)
    if not text.strip():
        message = "it is empty"
        raise ValueError(message)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        message = "it is nested too deeply"
        raise ValueError(message) from error


def _refuse_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON"
    raise ValueError(message)


def _split_paths(
    paths: Sequence[str | Sequence[str]] | None,
) -> dict[str, tuple[str, ...]] | None:
    """Return the keys of each path by how it is shown."""
    if paths is None:
        return None
    if isinstance(paths, str):
        message = f"paths is a list of paths, found the text {paths!r}"
        raise TypeError(message)
    split = [tuple(p.split(".")) if isinstance(p, str) else tuple(map(str, p)) for p in paths]
    if not split or not all(split) or not all(key for keys in split for key in keys):
        message = f"paths names at least one path, without empty parts, found {paths!r}"
        raise ValueError(message)
    return {".".join(keys): keys for keys in split}


def _at(value: object, keys: Sequence[str]) -> object:
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key, _MISSING)
        elif isinstance(value, list) and key.lstrip("-").isdecimal():
            index = int(key)
            value = value[index] if -len(value) <= index < len(value) else _MISSING
        else:
            return _MISSING
    return value


def _agree(left: object, right: object, *, strict: bool) -> bool:
    if left is _MISSING or right is _MISSING:
        return left is right and not strict
    return _same(left, right)


def _same(left: object, right: object) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return left == right


def _differing_keys(left: object, right: object) -> list[str]:
    """Return the top-level keys at which two objects differ."""
    if not isinstance(left, dict) or not isinstance(right, dict):
        return []
    keys = [*left, *(key for key in right if key not in left)]
    return [
        k for k in keys if not _agree(left.get(k, _MISSING), right.get(k, _MISSING), strict=True)
    ]

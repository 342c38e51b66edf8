"""What runs took in earlier sessions, read from their journals; the newest session first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_chalk.schemas.past_run import PastRun
from pytest_chalk.schemas.record import VALIDATION, sum_usd
from pytest_chalk.store.session_directory import SessionDirectory, session_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_RUN = b'{"type":"run"'
"""How the line of a run begins; the others need not be parsed."""


_MEASURED = frozenset({"passed", "failed", "misbehaved"})
"""As `RunRecord.is_scored`: one that broke may have taken any time."""


def read_history(base: Path, *, max_bytes: int | None = None) -> Iterator[PastRun]:
    """Yield the runs that were measured in the sessions of `base`, each once.

    What cannot be read is passed over: it is about expectations, and resuming would complain. So is
    a validated task: it took the time of many runs, none of which a student was measured in.

    Args:
        base: Where sessions are kept.
        max_bytes: Of journals to look at; a session that begins within them is read to its end.
    """
    known: set[tuple[object, object]] = set()
    read_bytes = 0
    for session_id in reversed(session_ids(base)):
        if max_bytes is not None and read_bytes >= max_bytes:
            return
        try:
            text = SessionDirectory(base, session_id).journal.read_bytes()
        except OSError:  # removed by another session in between
            continue
        read_bytes += len(text)
        for line in reversed(text.split(b"\n")[:-1]):
            record = _record_in(line) if line.startswith(_RUN) else {}
            # Judged again, it is in two sessions and was paid for once.
            began = record.get("started_at")
            identity = (record.get("nodeid"), began)
            if record and (began is None or identity not in known):
                known.add(identity)
                yield from _past_run(record, session_id)


def _record_in(line: bytes) -> Mapping[str, Any]:
    try:
        record = json.loads(line)["record"]
    except (ValueError, LookupError, TypeError):
        return {}
    return record if isinstance(record, dict) and _is_measured(record) else {}


def _is_measured(record: Mapping[str, Any]) -> bool:
    return record.get("outcome") in _MEASURED and record.get("model") != VALIDATION


def _past_run(record: Mapping[str, Any], session_id: str) -> Iterator[PastRun]:
    try:
        usages = [record["usage"], record["judge_usage"]]
        yield PastRun(
            session_id=session_id,
            nodeid=record["nodeid"],
            epoch=record["epoch"],
            model=record["model"],
            duration_s=float(record["duration_s"]),
            usd=sum_usd(usage["usd"] for usage in usages) or 0.0,
            is_price_known=all(_is_price_known(usage) for usage in usages),
        )
    except (LookupError, TypeError, ValueError):  # of another release
        return


def _is_price_known(usage: Mapping[str, Any]) -> bool:
    used = usage["input_tokens"] + usage["output_tokens"]
    return usage["usd"] is not None or not used

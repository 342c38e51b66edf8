"""Evaluations as text: tables of runs, a comparison, the worst rows. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_chalk.reports.clean import clean_text
from pytest_chalk.reports.table import align, one_line
from pytest_chalk.schemas.evaluation import column_name
from pytest_chalk.schemas.spending import show_usd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_NAME_CHARS = 60
MAX_CELL_CHARS = 60
MAX_ROW_CHARS = 118
"""Of one row in a failed assertion: pytest cuts an explanation at 640 characters, and five rows and
a head are to be seen."""

HEAD = ("evaluation", "scorer", "mean", "interval", "scored", "failed", "p5", "p50", "p95")
LEFT_COLUMNS = 2


def render_evaluation_table(evaluations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a table: a row per evaluation and scorer; below, what models have used.

    Each evaluation has `name` and `summary`. A figure that is undefined is `-`.
    """
    rows: list[tuple[str, ...]] = [HEAD]
    used: list[str] = []
    for evaluation in evaluations:
        summary = evaluation["summary"]
        for scorer, figures in summary["scorers"].items():
            name = str(evaluation["name"])
            rows.append(_row(name, scorer, figures, summary["rows"]))
            if figures.get("usage"):
                used.append(f"{_name(name)}: {_name(scorer)} asked: {_usage(figures['usage'])}")
    return [*align(rows, LEFT_COLUMNS), *used]


def _usage(usage: Mapping[str, float]) -> str:
    tokens = [f"{usage.get(f'{way}put_tokens', 0):,.0f}" for way in ("in", "out")]
    cost = f", {show_usd(usage['usd'])}" if "usd" in usage else ""
    return f"{tokens[0]} tokens in, {tokens[1]} out{cost}"


def _row(name: str, scorer: str, figures: Mapping[str, Any], n_rows: int) -> tuple[str, ...]:
    interval = figures["interval"]
    return (
        _name(name),
        _name(scorer),
        number(figures["mean"]),
        f"[{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "-",
        f"{figures['scored']}/{n_rows}",
        str(figures["failed"]) if figures["failed"] else "-",
        *(number(figures[share]) for share in ("p5", "p50", "p95")),
    )


def render_listing(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of `evaluations list`: a row per evaluation, its latest run and means."""
    if not entries:
        return []
    rows: list[tuple[str, ...]] = [("evaluation", "id", "created", "latest run", "status", "means")]
    for entry in entries:
        run = entry["run"]
        scorers = run["summary"].get("scorers", {}) if run else {}
        means = ", ".join(f"{_name(n)} {number(f['mean'])}" for n, f in scorers.items())
        cells = (_name(str(entry["name"])), entry["id"], str(entry["created_at"])[:16])
        rows.append((*cells, run["id"] if run else "-", run["status"] if run else "-", means))
    return align(rows, len(rows[0]))


def render_evaluation(shown: Mapping[str, Any]) -> list[str]:
    """Return the lines of `evaluations show` for an evaluation: what is pinned, and its runs."""
    lines = [f"{name}: {clean_text(str(value))}" for name, value in shown.items() if name != "runs"]
    rows: list[tuple[str, ...]] = [("run", "created", "status", "rescore of", "means")]
    for run in shown["runs"]:
        scorers = run["summary"].get("scorers", {})
        means = ", ".join(f"{_name(n)} {number(f['mean'])}" for n, f in scorers.items())
        created, source = str(run["created_at"])[:16], run["source_run_id"] or "-"
        rows.append((run["id"], created, run["status"], source, means))
    return [*lines, "", *align(rows, len(rows[0]))]


def render_run(
    shown: Mapping[str, Any], worst: Mapping[str, Sequence[Mapping[str, Any]]]
) -> list[str]:
    """Return the lines of `evaluations show` for a run: its figures, and the worst rows."""
    left_out = ("summary", "error_message")
    lines = [f"{n}: {clean_text(str(v))}" for n, v in shown.items() if n not in left_out]
    if shown["error_message"]:
        lines.append(f"error: {clean_text(str(shown['error_message']))}")
    if not shown["summary"]:
        return lines
    named = {"name": shown["evaluation_id"], "summary": shown["summary"]}
    lines += ["", *render_evaluation_table([named])]
    for scorer, rows in worst.items():
        lines += ["", f"worst rows by {_name(scorer)}:", *render_worst_rows(rows, scorer)]
    return lines


def render_comparison(found: Mapping[str, Any]) -> list[str]:
    """Return the lines of `evaluations compare`."""
    head = ("scorer", "before", "after", "difference", "interval", "by chance", "better", "worse")
    rows: list[tuple[str, ...]] = [(*head, "pairs")]
    for name, scorer in found["scorers"].items():
        interval = scorer["interval"]
        rows.append(
            (
                _name(name),
                number(scorer["before"]),
                number(scorer["after"]),
                "-" if scorer["difference"] is None else f"{scorer['difference']:+.3f}",
                f"[{interval[0]:+.3f}, {interval[1]:+.3f}]" if interval else "-",
                number(scorer["drop"]),
                str(len(scorer["better"])),
                str(len(scorer["worse"])),
                str(scorer["pairs"]),
            )
        )
    lines = align(rows, 1)
    for name, scorer in found["scorers"].items():
        if scorer["worse"]:
            listed = ", ".join(map(str, scorer["worse"][:20]))
            lines.append(f"worse by {_name(name)}: rows {listed}")
    for side, count in zip(("before", "after"), found["unpaired"], strict=True):
        if count:
            lines.append(f"rows only {side}: {count}")
    for side in ("before", "after"):
        if found[f"only_{side}"]:
            lines.append(f"only {side}: {', '.join(map(_name, found[f'only_{side}']))}")
    return lines


def render_worst_rows(rows: Sequence[Mapping[str, Any]], scorer: str) -> list[str]:
    """Return a line for each row: its number, score or error, and the values of its columns."""
    column = column_name(scorer)
    lines = []
    for row in rows:
        score = row[f"{column}_value"]
        error = row[f"{column}_error"] or row["output_error"]
        word = f"{score:g}" if score is not None else f"failed: {error}"
        values = [
            f"{k}={_short(v)}" for k, v in row.items() if _is_shown(k, column) and v is not None
        ]
        line = clean_text(f"row {row['row']}: {word}  {' '.join(values)}").replace("\n", " ")
        lines.append(line if len(line) <= MAX_ROW_CHARS else f"{line[: MAX_ROW_CHARS - 3]}...")
    return lines


def _is_shown(name: str, column: str) -> bool:
    fields = ("_value", "_error", "_metadata")
    return name != "row" and (name == f"{column}_metadata" or not name.endswith(fields))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_CELL_CHARS else f"{text[: MAX_CELL_CHARS - 3]}..."


def number(value: float | None) -> str:
    """Return a figure with three decimals; `-` for none."""
    return "-" if value is None else f"{value:.3f}"


def _name(text: str) -> str:
    return one_line(text, max_chars=MAX_NAME_CHARS)

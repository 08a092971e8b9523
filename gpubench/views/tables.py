"""The table of a result: text for a terminal or a file, and Markdown for a pull request.

On a terminal the rows stand in groups, a case each, so that 80 columns suffice; columns that do not fit are dropped,
the least telling first. In a file (`width` None) every row names its case, so that grep finds it, and nothing is cut.
Every string of the result is escaped: a hostile file can neither colour, link nor move anything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from gpubench.model import ResultSet
from gpubench.views import text
from gpubench.views.rows import LAUNCH_BOUND_FACTOR, Row, rows

MARKDOWN_LIMIT = 60_000
"""Bytes: pull request comments end at 65,536 characters, and the reader may add some."""

BAR_WIDTH = 8
MESSAGES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Look:
    """What the output can show. `width` None: not a terminal, nothing is cut."""

    width: int | None = None
    color: bool = False
    unicode: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `keep`: columns with the smallest go first when the terminal is narrow; 9 never goes."""

    heading: str
    cell: Callable[[Row, Look], str]
    keep: int
    right: bool = True


def _field(name: str, unit: str | None = None) -> Callable[[Row, Look], str]:
    """Return the cell function for a row's attribute: a quantity of that unit, or (no unit) a word or a count."""

    def cell(row: Row, look: Look) -> str:
        del look
        value = getattr(row, name)
        if unit is not None:
            return text.quantity(value, unit)
        return text.MISSING if value is None else text.printable(str(value))

    return cell


def _contender(row: Row, look: Look) -> str:
    del look
    return text.printable(row.contender) + (" (simulated)" if row.simulated else "")


def _noise(row: Row, look: Look) -> str:
    sign = "\u00b1" if look.unicode else "+-"
    return text.MISSING if row.noise is None else sign + text.percent(row.noise)


def _ceiling(row: Row, look: Look) -> str:
    if row.launch_bound:
        return "launch-bound"
    if row.fraction is None:
        return text.MISSING
    return f"{text.bar(row.fraction, BAR_WIDTH, look.unicode)} {text.percent(row.fraction):>7}"


def _check(row: Row, look: Look) -> str:
    del look
    if row.check_ok is None:
        return text.MISSING
    word = "ok" if row.check_ok else "WRONG"
    return word if row.over_tolerance is None else f"{word} {text.significant(row.over_tolerance, 2)}"


COLUMNS: dict[str, Column] = {
    "case": Column("case", _field("case"), 9, right=False),
    "contender": Column("contender", _contender, 9, right=False),
    "median": Column("median", _field("median_us", "us"), 9),
    "interval": Column("95 % CI", _noise, 3),
    "gbps": Column("GB/s", _field("GBps", "GBps"), 6),
    "ceiling": Column("of ceiling", _ceiling, 5),
    "speedup": Column("x numpy", _field("speedup", "ratio"), 4),
    "check": Column("err/allowed", _check, 2),
    "status": Column("status", _field("status"), 9, right=False),
    "bytes": Column("bytes", _field("bytes", "bytes"), 1),
    "min": Column("min", _field("min_us", "us"), 1),
    "p95": Column("p95", _field("p95_us", "us"), 1),
    "samples": Column("samples", _field("samples"), 1),
    "variant": Column("variant", _field("variant"), 1, right=False),
    "registers": Column("registers", _field("registers"), 1),
}
DEFAULT_COLUMNS = ("case", "contender", "median", "interval", "gbps", "ceiling", "speedup", "check", "status")

_BAD_FIRST = ("wrong", "crashed", "device_error", "timeout", "out_of_memory", "compile_error", "throttled", "noisy")


def _last(value: float | None) -> float:
    return math.inf if value is None else value


SORTS: dict[str, Callable[[Row], tuple[object, ...]]] = {
    "case": lambda row: (row.case,),
    "contender": lambda row: (row.contender,),
    "median": lambda row: (-_last(row.median_us) if row.median_us is not None else math.inf,),
    "gbps": lambda row: (_last(row.GBps),),
    "ceiling": lambda row: (_last(row.fraction),),
    "speedup": lambda row: (_last(row.speedup),),
    "status": lambda row: (_BAD_FIRST.index(row.status) if row.status in _BAD_FIRST else len(_BAD_FIRST), row.status),
}
"""Orders of rows beside the file's own: what one looks for first comes first (the slowest, the lowest rate)."""

_COLORS = {"ok": "32", "noisy": "33", "throttled": "33", "unsupported": "2", "skipped": "2"}
_PROBLEM = "31"


def results_table(
    result: ResultSet, look: Look | None = None, columns: Sequence[str] = DEFAULT_COLUMNS, sort: str | None = None
) -> str:
    """Return the whole view of a result as text: heading, table, what went wrong, totals.

    `columns` are names in COLUMNS, `sort` one in SORTS (None: the order of the file).
    """
    look = look or Look()
    all_rows = ordered(rows(result), sort)
    lines = [*heading(result), ""]
    lines += _table(all_rows, columns, look) if all_rows else ["(no records)"]
    lines += ["", *_notes(result, all_rows), *_messages(all_rows, look), totals(all_rows)]
    return "\n".join(lines) + "\n"


def ordered(all_rows: list[Row], sort: str | None) -> list[Row]:
    """Return the rows in the order of `sort` (None: the file's), those of a case together where its first one falls."""
    place: dict[str, int] = {}
    by_key = all_rows if sort is None else sorted(all_rows, key=SORTS[sort])
    for position, row in enumerate(by_key):
        place.setdefault(row.case, position)
    return sorted(by_key, key=lambda row: place[row.case])


def heading(result: ResultSet) -> list[str]:
    """Return the lines above a table: what ran where and when, and what the device reached."""
    device = result.environment.get("device") or {}
    name = text.printable(str(device.get("name", "unknown device")))
    driver = device.get("driver")
    where = f"{name} (driver {text.printable(str(driver))})" if driver else name
    suite = text.printable(str(result.suite.get("name", "suite")))
    lines = [f"{suite} on {where}, {text.printable(result.created)}, gpubench {text.printable(result.gpubench)}"]
    ceiling = result.ceiling
    figures = [
        f"{label} {text.quantity(value, unit)}{suffix}"
        for label, value, unit, suffix in (
            ("copy", ceiling.copy_GBps, "GBps", " GB/s"),
            ("read", ceiling.read_GBps, "GBps", " GB/s"),
            ("write", ceiling.write_GBps, "GBps", " GB/s"),
            ("empty launch", ceiling.launch_us, "us", ""),
            ("event pair", ceiling.event_overhead_us, "us", ""),
        )
        if value is not None
    ]
    if figures:
        lines.append("ceiling: " + ", ".join(figures))
    if any(record.simulated for record in result.records):
        lines.append("SIMULATED on the host: times of rows so marked say nothing about a GPU.")
    return lines


def totals(all_rows: Iterable[Row]) -> str:
    """Return the last line: how many records ended with which status."""
    counts = Counter(row.status for row in all_rows)
    parts = ", ".join(f"{count} {text.printable(status)}" for status, count in counts.most_common())
    return f"{sum(counts.values())} results: {parts}" if parts else "0 results"


def _notes(result: ResultSet, all_rows: Sequence[Row]) -> list[str]:
    if not any(row.launch_bound for row in all_rows):
        return []
    overhead = max(result.ceiling.launch_us or 0.0, result.ceiling.event_overhead_us or 0.0)
    return [f"launch-bound: under {LAUNCH_BOUND_FACTOR:.0f} x an empty launch ({text.duration(overhead)})"]


def _messages(all_rows: Sequence[Row], look: Look) -> list[str]:
    told = [row for row in all_rows if row.message and row.status != "ok"]
    lines = []
    for row in told[:MESSAGES_SHOWN]:
        line = f"{text.printable(row.case)} {text.printable(row.contender)}: {text.printable(row.message or '')}"
        lines.append(text.shorten(line, 4 * look.width) if look.width else line)
    if len(told) > MESSAGES_SHOWN:
        lines.append(f"... and {len(told) - MESSAGES_SHOWN} more; `gpubench show --json` gives all")
    return [*lines, ""] if lines else []


# --- Text ------------------------------------------------------------------------------------------------------------


def _table(all_rows: Sequence[Row], names: Sequence[str], look: Look) -> list[str]:
    """Lay out the rows: grouped by case where there is a width to keep to, flat else."""
    grouped = look.width is not None and "case" in names
    shown = [name for name in names if not (grouped and name == "case")]
    cells = [[COLUMNS[name].cell(row, look) for name in shown] for row in all_rows]
    widths = [
        max(text.cell_width(COLUMNS[name].heading), *(text.cell_width(line[i]) for line in cells))
        for i, name in enumerate(shown)
    ]
    indent = 2 if grouped else 0
    kept = _fitting(shown, widths, (look.width or 0) - indent) if look.width is not None else list(range(len(shown)))

    def line(values: Sequence[str], colors: Sequence[str | None]) -> str:
        parts = [_pad(values[i], widths[i], COLUMNS[shown[i]].right, colors[i]) for i in kept]
        return (" " * indent + "  ".join(parts)).rstrip()

    plain: list[str | None] = [None] * len(shown)
    lines = [_paint(line([COLUMNS[name].heading for name in shown], plain), "1", look.color)]
    numbered = list(zip(all_rows, cells, strict=True))
    for case, group in groupby(numbered, key=lambda pair: pair[0].case):
        if grouped:
            lines.append(_paint(text.shorten(text.printable(case), look.width or 80), "1;36", look.color))
        for row, values in group:
            lines.append(line(values, [_color(name, row, look) for name in shown]))
    return lines


def _fitting(names: Sequence[str], widths: Sequence[int], width: int) -> list[int]:
    """Return the indices of the columns that fit side by side, dropping those that tell least first."""
    kept = list(range(len(names)))
    while sum(widths[i] + 2 for i in kept) - 2 > width:
        candidates = [i for i in kept if COLUMNS[names[i]].keep < 9]
        if not candidates:
            break
        kept.remove(min(candidates, key=lambda i: (COLUMNS[names[i]].keep, -i)))
    return kept


def _pad(value: str, width: int, right: bool, color: str | None) -> str:
    spaces = " " * (width - text.cell_width(value))
    painted = _paint(value, color, color is not None)
    return spaces + painted if right else painted + spaces


def _paint(value: str, code: str | None, color: bool) -> str:
    return f"\x1b[{code}m{value}\x1b[0m" if color and code else value


def _color(name: str, row: Row, look: Look) -> str | None:
    if not look.color:
        return None
    if name == "status":
        return _COLORS.get(row.status, _PROBLEM)
    return _PROBLEM if name == "check" and row.check_ok is False else None


# --- Markdown --------------------------------------------------------------------------------------------------------


def results_markdown(
    result: ResultSet,
    columns: Sequence[str] = DEFAULT_COLUMNS,
    sort: str | None = None,
    limit: int = MARKDOWN_LIMIT,
) -> str:
    """Return the table as Markdown of at most `limit` bytes of UTF-8, cut between rows, with a note where cut."""
    all_rows = ordered(rows(result), sort)
    head = [
        *(text.markdown(line) + "  " for line in heading(result)),
        *(text.markdown(line) + "  " for line in _notes(result, all_rows)),
        text.markdown(totals(all_rows)),
        "",
        "| " + " | ".join(COLUMNS[name].heading for name in columns) + " |",
        "|" + "|".join("---:" if COLUMNS[name].right else "---" for name in columns) + "|",
    ]
    body = ["| " + " | ".join(_markdown_cell(name, row) for name in columns) + " |" for row in all_rows]
    return cut(head, body, limit)


def cut(head: Sequence[str], body: Sequence[str], limit: int) -> str:
    """Join head and as many body lines as fit into `limit` bytes; a note says how many were left out."""
    room = limit - len(("\n".join(head) + "\n").encode()) - 80  # the note below takes less than 80 bytes
    kept: list[str] = []
    for line in body:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        kept.append(line)
    lines = [*head, *kept]
    if len(kept) < len(body):
        lines += ["", f"{len(body) - len(kept)} of {len(body)} rows are left out to keep this short."]
    return "\n".join(lines) + "\n"


def _markdown_cell(name: str, row: Row) -> str:
    value = COLUMNS[name].cell(row, Look()).strip()
    if name == "ceiling":
        return value if row.fraction is None or row.launch_bound else text.percent(row.fraction)
    return text.markdown_code(value) if name in ("case", "contender") else text.markdown(value)

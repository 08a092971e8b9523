"""The table of a result: text for a terminal or a file, and Markdown for a pull request.

On a terminal the rows stand in groups, a case each, so that 80 columns suffice; columns that do not fit are dropped,
the least telling first. In a file (`width` None) every row names its case, so that grep finds it, and nothing is cut.
Every string of the result is escaped: a hostile file can neither colour, link nor move anything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from gpubench import limits
from gpubench.model import ResultSet
from gpubench.names import WORST_FIRST
from gpubench.views import means, mismatches, text
from gpubench.views.columns import COLUMNS as COLUMNS
from gpubench.views.columns import DEFAULT_COLUMNS as DEFAULT_COLUMNS
from gpubench.views.columns import INACCURATE, default_columns
from gpubench.views.columns import Column as Column
from gpubench.views.columns import Look as Look
from gpubench.views.rows import LAUNCH_BOUND_FACTOR, NO_SHARE, OF_CEILING, Row, rows

MARKDOWN_LIMIT = 60_000
"""Bytes: pull request comments end at 65,536 characters, and the reader may add some."""

ABOVE = 1.005
WHY_ABOVE = (
    "fewer bytes moved than counted (operands still in the L2 cache with hot or graph timing, expected indices instead "
    "of drawn ones), or an access pattern better than that of the copies, reads and writes of the ceiling"
)

MESSAGES_SHOWN = 20


def _last(value: float | None) -> float:
    return math.inf if value is None else value


SORTS: dict[str, Callable[[Row], tuple[object, ...]]] = {
    "case": lambda row: (row.case,),
    "contender": lambda row: (row.contender,),
    "median": lambda row: (-_last(row.median_us) if row.median_us is not None else math.inf,),
    "gbps": lambda row: (_last(row.GBps),),
    "ceiling": lambda row: (_last(row.fraction),),
    "speedup": lambda row: (_last(row.speedup),),
    "status": lambda row: (WORST_FIRST.index(row.status),),
}
"""Orders of rows beside the file's own: what one looks for first comes first (the slowest, the lowest rate)."""

_COLORS = {"ok": "32", "noisy": "33", "inaccurate": "33", "throttled": "33", "unsupported": "2", "skipped": "2"}
_PROBLEM = "31"


def results_table(
    result: ResultSet, look: Look | None = None, columns: Sequence[str] | None = None, sort: str | None = None
) -> str:
    """Return the whole view of a result as text: heading, table, means, what went wrong, totals.

    `columns` are names in COLUMNS (None: the default ones), `sort` one in SORTS (None: the order of the file).
    """
    look = look or Look()
    all_rows = ordered(rows(result), sort)
    lines = [*heading(result), ""]
    lines += _table(all_rows, columns or default_columns(all_rows), look) if all_rows else ["(no records)"]
    lines += [
        "",
        *means.lines(all_rows),
        *_notes(result, all_rows),
        *_messages(result, all_rows, look),
        totals(all_rows),
    ]
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
        whose = "host memory, by numpy" if device.get("kind") == "host" else "ceiling at large sizes"
        lines.append(f"{whose}: " + ", ".join(figures))
    if any(record.simulated for record in result.records):
        lines.append("SIMULATED on the host: times of rows so marked say nothing about a GPU.")
    return lines


def totals(all_rows: Iterable[Row]) -> str:
    """Return the last line: how many records ended with which status."""
    counts = Counter(row.status for row in all_rows)
    parts = ", ".join(f"{count} {text.printable(status)}" for status, count in counts.most_common())
    return f"{sum(counts.values())} results: {parts}" if parts else "0 results"


def _notes(result: ResultSet, all_rows: Sequence[Row]) -> list[str]:
    notes = [*_idle(result)]
    if any(row.launch_bound for row in all_rows):
        overhead = max(result.ceiling.launch_us or 0.0, result.ceiling.event_overhead_us or 0.0)
        notes.append(f"launch-bound: under {LAUNCH_BOUND_FACTOR:.0f} x an empty launch ({text.duration(overhead)})")
    if any(row.fraction is not None for row in all_rows):
        notes.insert(0, f"of ceiling: {OF_CEILING}; {NO_SHARE}")
    above = sum(1 for row in all_rows if row.fraction is not None and row.fraction > ABOVE)
    if above:
        notes.append(f"{above} over 100 % of ceiling: {WHY_ABOVE}")
    assumed = sum(1 for record in result.records if (record.summary or {}).get("assumed"))
    if assumed:
        notes.append(f"ceilings of {assumed} results assume the expected number of distinct rows (summary.assumed)")
    notes += [f"limit missed: {text.printable(str(miss))}" for miss in limits.missed(result.records)]
    over = sum(1 for row in all_rows if row.inaccurate)
    if over:
        star = f" ({INACCURATE} as best peer)" if any(row.peer_inaccurate for row in all_rows) else ""
        notes.append(f"{over} answers of other libraries are inaccurate{star}: beyond our bound")
    return notes


def _idle(result: ResultSet) -> list[str]:
    """Return how idle the device was while it was timed; nothing where no result says so, or it was simulated."""
    share, timings = result.extra.get("idle"), result.extra.get("timings")
    if not isinstance(share, Mapping) or any(record.simulated for record in result.records):
        return []
    idle, sampling = share.get("of_time"), share.get("of_samples")
    seconds = timings.get("time") if isinstance(timings, Mapping) else None
    if not (isinstance(idle, float) and isinstance(sampling, float) and isinstance(seconds, float)):
        return []  # a result of another's making
    return [
        f"device idle for {text.percent(idle)} of the timed phase of {text.duration(1e6 * seconds)}, "
        f"for {text.percent(sampling)} while samples were taken"
    ]


def _messages(result: ResultSet, all_rows: Sequence[Row], look: Look) -> list[str]:
    """Return what went wrong, where; what a contender says in many cases (a missing library) once, with a count. A
    wrong answer has the strip of its places below it.
    """
    strips = {
        (record.case.id, record.contender): mismatches.strip(record.check.mismatches)
        for record in result.records
        if record.status == "wrong" and record.check is not None and record.check.mismatches is not None
    }
    told = [row for row in all_rows if row.message and row.status != "ok"]
    often = Counter((row.contender, row.message) for row in told)
    lines = []
    for row in told:
        count = often.pop((row.contender, row.message), 0)
        if not count:
            continue
        where = row.case if count == 1 else f"{count} cases"
        line = f"{text.printable(where)} {text.printable(row.contender)}: {text.printable(row.message or '')}"
        below = [text.printable(strip) for strip in strips.get((row.case, row.contender), ())] if count == 1 else []
        several = [line, *(f"  {strip}" for strip in below)]
        lines.append("\n".join(text.shorten(part, 4 * look.width) if look.width else part for part in several))
    if len(lines) > MESSAGES_SHOWN:
        lines[MESSAGES_SHOWN:] = [
            f"... and {len(lines) - MESSAGES_SHOWN} more; `gpubench show --json` gives all",
        ]
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
    wrong = any(row.check_ok is False for row in all_rows)
    room = None if look.width is None else look.width - indent
    kept = list(range(len(shown))) if room is None else _fitting(shown, widths, room, wrong)

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


def _fitting(names: Sequence[str], widths: Sequence[int], width: int, wrong: bool) -> list[int]:
    """Return the indices of the columns that fit side by side, dropping those that tell least first."""
    kept = list(range(len(names)))
    columns = [COLUMNS[name] for name in names]
    keep = [column.keep_wrong if wrong and column.keep_wrong is not None else column.keep for column in columns]
    while sum(widths[i] + 2 for i in kept) - 2 > width:
        candidates = [i for i in kept if keep[i] < 9]
        if not candidates:
            break
        kept.remove(min(candidates, key=lambda i: (keep[i], -i)))
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
    columns: Sequence[str] | None = None,
    sort: str | None = None,
    limit: int = MARKDOWN_LIMIT,
) -> str:
    """Return the table as Markdown of at most `limit` bytes of UTF-8, cut between rows, with a note where cut."""
    all_rows = ordered(rows(result), sort)
    columns = columns or default_columns(all_rows)
    head = [
        *(text.markdown(line) + "  " for line in heading(result)),
        *(text.markdown(line.strip()) + "  " for line in means.lines(all_rows)),
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
        return value if row.fraction is None else text.percent(row.fraction)
    return text.markdown_code(value) if name in ("case", "contender") else text.markdown(value)

"""A comparison as text for a terminal or a file, and as Markdown for a pull request.

On a terminal the rows stand in groups, a case each, with the reasons below, so that 80 columns suffice. In a file
(`width` None) every row is one line that names its case. Every foreign string is escaped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from gpubench.comparison import Comparison, Difference, Mean, Row, Verdict
from gpubench.model import Json
from gpubench.views import text
from gpubench.views.tables import MARKDOWN_LIMIT, Look, cut

UNCHANGED: tuple[Verdict, ...] = ("SAME", "UNDECIDED")

SORTS: dict[str, Callable[[Row], tuple[object, ...]]] = {
    "ratio": lambda row: (row.estimate is None, -row.estimate.ratio if row.estimate else 0.0),
    "name": lambda row: (row.case, row.contender),
}
"""Orders of rows beside the new result's own. `ratio`: the one that slowed down most comes first."""

_COLORS: dict[str, str] = {
    "BROKEN": "1;31",
    "SLOWER": "31",
    "REMOVED": "33",
    "UNDECIDED": "33",
    "FASTER": "32",
    "FIXED": "32",
    "ADDED": "36",
    "SAME": "2",
}
_HEADINGS = ("contender", "old", "new", "ratio", "95 % interval", "verdict")
_NARROWEST_CONTENDER = 12


def ordered(rows: Sequence[Row], sort: str | None = None, only_changed: bool = False) -> list[Row]:
    """Return the rows to show, in order. `sort` is one of SORTS, None the order they have."""
    kept = [row for row in rows if not only_changed or row.verdict not in UNCHANGED]
    return sorted(kept, key=SORTS[sort]) if sort is not None else kept


def comparison_text(
    comparison: Comparison, look: Look | None = None, sort: str | None = None, only_changed: bool = False
) -> str:
    """Return the whole view: what is compared, what differs around it, the rows, the means, the totals."""
    look = look or Look()
    rows = ordered(comparison.rows, sort, only_changed)
    hidden = len(comparison.rows) - len(rows)
    lines = [*_wrapped(heading(comparison), look), ""]
    lines += (_grouped(rows, look) if look.width is not None else _flat(rows)) if rows else []
    if hidden:
        lines.append(f"({hidden} unchanged or undecided rows are not shown)")
    lines += ["", *_means(comparison.means), totals(comparison)]
    return "\n".join(lines) + "\n"


def heading(comparison: Comparison) -> list[str]:
    """Return what stands above the rows: the two results, the rule, and everything around them that differs."""
    old, new = text.printable(comparison.old), text.printable(comparison.new)
    how = ", timed alternately in one process" if comparison.paired else ""
    lines = [
        f"{old} -> {new}{how}",
        f"a change counts from {100 * comparison.threshold:g} %, alpha {comparison.alpha:g}; a ratio over 1 is slower",
    ]
    if comparison.simulated:
        lines.append("SIMULATED on the host: these times say nothing about a GPU.")
    lines += [text.printable(note) for note in comparison.notes]
    matters = [one for one in comparison.differences if one.matters]
    other = [one for one in comparison.differences if not one.matters]
    if matters:
        lines.append("environment differs: " + "; ".join(_difference(one) for one in matters))
    if other:
        lines.append("also different: " + "; ".join(_difference(one) for one in other))
    return lines


def totals(comparison: Comparison) -> str:
    """Return the last line: how many pairs have which verdict."""
    parts = ", ".join(f"{count} {verdict}" for verdict, count in comparison.counts().items())
    return f"{len(comparison.rows)} compared: {parts}" if parts else "nothing compared"


def _difference(one: Difference) -> str:
    return f"{text.printable(one.name)} {_value(one.old)} -> {_value(one.new)}"


def _value(value: object) -> str:
    if value is None:
        return "not known"
    return text.shorten(text.printable(str(value)), 60)


def interval(row: Row) -> str:
    """Return the interval of the ratio as it stands in tables; `-` where there is none."""
    if row.estimate is None:
        return text.MISSING
    return f"{text.significant(row.estimate.low)} - {text.significant(row.estimate.high)}"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        text.printable(row.contender),
        text.quantity(row.old_us, "us"),
        text.quantity(row.new_us, "us"),
        text.MISSING if row.estimate is None else text.significant(row.estimate.ratio),
        interval(row),
        row.verdict,
    )


def reason(row: Row) -> str:
    """Return the reasons of a row as one printable line."""
    return text.printable("; ".join(row.reasons))


# --- Text ------------------------------------------------------------------------------------------------------------


def _wrapped(lines: Iterable[str], look: Look, indent: str = "  ") -> Iterator[str]:
    for line in lines:
        if look.width is None:
            yield line
        else:
            yield from textwrap.wrap(line, look.width, subsequent_indent=indent) or [""]


def _grouped(rows: Sequence[Row], look: Look) -> list[str]:
    """Lay out rows under a line for each case; the interval goes first where the terminal is narrow."""
    width = look.width or 80
    cells = [_cells(row) for row in rows]
    widths = [max(text.cell_width(value) for value in column) for column in zip(_HEADINGS, *cells, strict=True)]
    kept = list(range(len(_HEADINGS)))
    rest = sum(widths[i] + 2 for i in kept[1:]) + 2
    if rest + _NARROWEST_CONTENDER > width:
        kept.remove(4)
        rest -= widths[4] + 2
    widths[0] = max(min(widths[0], width - rest), _NARROWEST_CONTENDER)

    def line(values: Sequence[str], color: str | None = None) -> str:
        parts = [text.shorten(values[0], widths[0]).ljust(widths[0])]
        parts += [values[i].rjust(widths[i]) for i in kept[1:-1]]
        return "  " + "  ".join([*parts, _paint(values[-1], color, look)])

    lines = [_paint(line(_HEADINGS), "1", look)]
    for case, group in groupby(zip(rows, cells, strict=True), key=lambda pair: pair[0].case):
        lines.append(_paint(text.shorten(text.printable(case), width), "1;36", look))
        for row, values in group:
            lines.append(line(values, _COLORS[row.verdict]))
            if row.reasons:
                lines += textwrap.wrap(reason(row), width, initial_indent="    ", subsequent_indent="    ")
    return lines


def _flat(rows: Sequence[Row]) -> list[str]:
    headings = ("case", *_HEADINGS, "why")
    cells = [(text.printable(row.case), *_cells(row), reason(row)) for row in rows]
    widths = [max(text.cell_width(value) for value in column) for column in zip(headings, *cells, strict=True)]
    widths[-1] = 0
    return [
        "  ".join(
            value + " " * (size - text.cell_width(value)) for value, size in zip(line, widths, strict=True)
        ).rstrip()
        for line in (headings, *cells)
    ]


def _means(means: Sequence[Mean]) -> list[str]:
    if not means:
        return []
    names = [f"{mean.group} {text.printable(mean.name)}" if mean.group != "overall" else "all" for mean in means]
    width = max(text.cell_width(name) for name in names)
    lines = ["geometric mean of the ratios"]
    for name, mean in zip(names, means, strict=True):
        pad = " " * (width - text.cell_width(name))
        lines.append(f"  {name}{pad}  {_mean(mean)}  ({mean.pairs} pair{'s' * (mean.pairs != 1)})")
    return [*lines, ""]


def _mean(mean: Mean) -> str:
    return f"{text.significant(mean.ratio)}  {text.significant(mean.low)} - {text.significant(mean.high)}"


def _paint(value: str, code: str | None, look: Look) -> str:
    return f"\x1b[{code}m{value}\x1b[0m" if look.color and code else value


# --- Calibration -----------------------------------------------------------------------------------------------------


def calibration_text(entry: Mapping[str, Json], comparisons: Sequence[Comparison], look: Look | None = None) -> str:
    """Return `noise_floor` as text: the noise floors, and how often the gate failed falsely."""
    look = look or Look()
    floors = entry["floors"]
    room = max((look.width or 200) - 12, 20)
    lines = [f"noise floor from {entry['runs']} runs: the smallest change that is seen with 95 % power", ""]
    for row in sorted(floors, key=lambda row: (row["floor"] is not None, -(row["floor"] or 0.0))):
        size = "not known" if row["floor"] is None else f"{100 * row['floor']:.2f} %"
        lines.append(f"{size:>10}  " + text.shorten(text.printable(f"{row['case']}  {row['contender']}"), room))
    lines += [
        "",
        "runs compared with each other by their times alone: "
        f"{entry['gates_failed']} of {entry['gates']} gates failed, "
        f"{entry['pairs_called_changed']} of {entry['pairs']} pairs were called changed",
    ]
    for one in comparisons:
        for row in one.rows:
            if row.verdict in ("SLOWER", "FASTER"):
                where = f"{one.old} -> {one.new}  {row.case}  {row.contender}"
                lines.append(f"  {row.verdict} {interval(row)}  {text.printable(where)}")
    return "\n".join(lines) + "\n"


# --- Markdown --------------------------------------------------------------------------------------------------------


def comparison_markdown(
    comparison: Comparison, sort: str | None = None, only_changed: bool = False, limit: int = MARKDOWN_LIMIT
) -> str:
    """Return the comparison as Markdown of at most `limit` bytes, cut between rows, with a note where cut."""
    head = [text.markdown(line) + "  " for line in heading(comparison)]
    if comparison.means:
        first = comparison.means[0]
        head.append(f"geometric mean over {first.pairs} pairs: **{text.markdown(_mean(first))}**  ")
    head += [
        f"**{text.markdown(totals(comparison))}**",
        "",
        "| case | contender | old | new | ratio | 95 % interval | verdict | why |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    rows = ordered(comparison.rows, sort, only_changed)
    return cut(head, [_markdown_row(row) for row in rows], limit)


def _markdown_row(row: Row) -> str:
    contender, *figures, verdict = _cells(row)
    strong = verdict if row.verdict in UNCHANGED else f"**{verdict}**"
    names = (text.markdown_code(row.case), text.markdown_code(contender))
    return (
        "| " + " | ".join((*names, *(text.markdown(one) for one in figures), strong, text.markdown(reason(row)))) + " |"
    )

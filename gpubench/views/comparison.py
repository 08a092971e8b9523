"""A comparison as text for a terminal or a file, and as Markdown for a pull request.

One line a row. On a terminal (80 columns and more) columns that do not fit are dropped, the least telling first, and
what explains a change stands below the table. In a file (`width` None) every line has everything. Every foreign string
is escaped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpubench.comparison import Comparison, Difference, Mean, Row, Verdict
from gpubench.model import Json
from gpubench.names import NOT_MEANT
from gpubench.views import text
from gpubench.views.machine import machine_lines
from gpubench.views.tables import Look

UNCHANGED: tuple[Verdict, ...] = ("SAME", "UNDECIDED")

SORTS: dict[str, Callable[[Row], tuple[object, ...]]] = {
    "ratio": lambda row: (row.estimate is None, -row.estimate.ratio if row.estimate else 0.0),
    "name": lambda row: (row.case, row.contender),
}
"""Orders of rows beside the new result's own. `ratio`: the one that slowed down most comes first."""

COLORS: dict[str, str] = {
    "BROKEN": "1;31",
    "SLOWER": "31",
    "DRIFTED": "35",
    "REMOVED": "33",
    "UNDECIDED": "33",
    "FASTER": "32",
    "FIXED": "32",
    "ADDED": "36",
    "SAME": "2",
}

NEVER = "never"
"""In place of a number of rounds: what runs differ by decides, not the rounds."""


def ordered(rows: Sequence[Row], sort: str | None = None, only_changed: bool = False) -> list[Row]:
    """Return the rows to show, in order. `sort` is one of SORTS, None the order they have."""
    kept = [row for row in rows if not only_changed or row.verdict not in UNCHANGED]
    return sorted(kept, key=SORTS[sort]) if sort is not None else kept


def comparison_text(
    comparison: Comparison, look: Look | None = None, sort: str | None = None, only_changed: bool = False
) -> str:
    """Return the whole view: the machine, what is compared, what differs around it, the rows, the means, the totals."""
    look = look or Look()
    rows = ordered(comparison.rows, sort, only_changed)
    idle = [row for row in rows if _never_tried(row)] if look.width is not None else []
    shown = [row for row in rows if row not in idle]
    lines = [*_wrapped(heading(comparison), look), ""]
    lines += table(shown, look)
    if len(comparison.rows) > len(rows):
        lines.append(f"({len(comparison.rows) - len(rows)} unchanged or undecided rows are not shown)")
    if idle:
        lines.append(f"({len(idle)} pairs that neither result was meant to time are not shown)")
    if look.width is not None:
        lines += _wrapped(_legend(shown), look)
        lines += _why(shown, look)
    lines += ["", *_means(comparison.means), *_wrapped([totals(comparison)], look)]
    return "\n".join(lines) + "\n"


def heading(comparison: Comparison) -> list[str]:
    """Return what stands above the rows: the machine, the two results, the rule, and everything around that differs."""
    old, new = text.printable(comparison.old), text.printable(comparison.new)
    how = ", timed alternately in one process" if comparison.paired else ""
    lines = machine_lines(comparison)
    if comparison.simulated:
        lines.append("SIMULATED on the host: these times say nothing about a GPU.")
    lines += [
        f"{old} -> {new}{how}",
        f"a change counts from {100 * comparison.threshold:g} %, alpha {comparison.alpha:g}; "
        + ("over 0 is slower" if comparison.machine is None else "changes are those beyond the machine's"),
    ]
    lines += [text.printable(note) for note in comparison.notes]
    for difference in comparison.differences:
        if difference.meaning:
            lines.append(f"{_difference(difference)}: {difference.meaning}")
    matters = [difference for difference in comparison.differences if difference.matters and not difference.meaning]
    other = [difference for difference in comparison.differences if not difference.matters and not difference.meaning]
    if matters:
        lines.append("environment differs: " + "; ".join(_difference(difference) for difference in matters))
    if other:
        lines.append("also different: " + "; ".join(_difference(difference) for difference in other))
    return lines


def totals(comparison: Comparison) -> str:
    """Return the last line: how many pairs have which verdict."""
    parts = ", ".join(f"{count} {verdict}" for verdict, count in comparison.counts().items())
    decided = ""
    if comparison.decidable < len(comparison.rows) and comparison.count("UNDECIDED"):
        decided = f"; {comparison.decided} of {comparison.decidable} that could be decided are"
    return f"{len(comparison.rows)} compared: {parts}{decided}" if parts else "nothing compared"


def _difference(one: Difference) -> str:
    return f"{text.printable(one.name)} {_value(one.old)} -> {_value(one.new)}"


def _value(value: object) -> str:
    if value is None:
        return "not known"
    return text.shorten(text.printable(str(value)), 60)


def _never_tried(row: Row) -> bool:
    return row.old_status in NOT_MEANT and row.new_status in NOT_MEANT


# --- Cells -----------------------------------------------------------------------------------------------------------


def change(ratio: float) -> str:
    """Return a ratio as a change in percent with its sign: `+5.1 %`; far ones as a factor."""
    if not 0.1 < ratio < 10:
        return f"{text.significant(ratio, 3)}x"
    return f"{100 * (ratio - 1):+.{2 if abs(ratio - 1) < 0.01 else 1}f} %"


def interval(row: Row) -> str:
    """Return the 95 % interval of the change as it stands in tables; `-` where there is none."""
    if row.estimate is None:
        return text.MISSING
    return f"{change(row.estimate.low)} to {change(row.estimate.high)}"


def _half(row: Row) -> str:
    if row.estimate is None:
        return text.MISSING
    half = (row.estimate.high - row.estimate.low) / 2
    return f"{100 * half:.{2 if half < 0.01 else 1 if half < 1 else 0}f}"


def _sees(row: Row) -> str:
    if row.estimate is None or row.estimate.sees is None or row.verdict != "UNDECIDED":
        return ""
    sees = row.estimate.sees
    return f"{100 * sees:.2g} %" if sees < 1 else ">100 %"


def _rounds(row: Row) -> str:
    if row.estimate is None or row.estimate.sees is None or row.verdict != "UNDECIDED":
        return ""
    return NEVER if row.estimate.rounds is None else str(row.estimate.rounds)


CELLS: dict[str, Callable[[Row], str]] = {
    "case": lambda row: text.printable(row.case),
    "contender": lambda row: text.printable(row.contender),
    "old": lambda row: text.quantity(row.old_us, "us"),
    "new": lambda row: text.quantity(row.new_us, "us"),
    "change": lambda row: text.MISSING if row.estimate is None else change(row.estimate.ratio),
    "+-": _half,
    "sees": _sees,
    "rounds": _rounds,
    "verdict": lambda row: row.verdict,
}
"""Columns of the table, in order. `sees`: the least change that would be called; `rounds`: how many decide."""

DROPPED = ("old", "+-", "new", "sees", "rounds")
"""Columns that a narrow terminal does without, the least telling first."""

_ALWAYS = ("case", "contender", "verdict")

NARROWEST = {"case": 20, "contender": 12}


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


def table(rows: Sequence[Row], look: Look) -> list[str]:
    """Return heading and rows, one line each, under a line a case where contenders stand beside each other; in a file
    every line names its case, with the reasons at the end.
    """
    if not rows:
        return []
    cells = [{name: cell(row) for name, cell in CELLS.items()} for row in rows]
    if look.width is None:
        for line, row in zip(cells, rows, strict=True):
            line["why"] = reason(row)
    names = [name for name in cells[0] if name in _ALWAYS or any(line[name] for line in cells)]
    grouped = look.width is not None and len({line["contender"] for line in cells}) > 1
    if look.width is not None:
        names.remove("case" if grouped else "contender")
    widths = {name: max(text.cell_width(value) for value in (name, *(line[name] for line in cells))) for name in names}
    if look.width is not None:
        names = _fitting(names, widths, look.width)
    lines = [_paint(_line({name: name for name in names}, names, widths), "1", look)]
    case = None
    for line, row in zip(cells, rows, strict=True):
        if grouped and line["case"] != case:
            case = line["case"]
            lines.append(_paint(text.shorten(case, look.width or 80), "1;36", look))
        lines.append(_line(line, names, widths, _paint(row.verdict, COLORS[row.verdict], look)))
    return lines


def _fitting(names: list[str], widths: dict[str, int], room: int) -> list[str]:
    """Return the columns that fit: names of cases and contenders are shortened first, then columns dropped."""
    for dropped in (None, *DROPPED):
        names = [name for name in names if name != dropped]
        spare = room - sum(widths[name] + 2 for name in names if name not in NARROWEST) + 2
        long = [name for name in names if name in NARROWEST]
        least = sum(min(widths[name], NARROWEST[name]) + 2 for name in long)
        if spare >= least:
            break
    for name in reversed(long):  # the contender keeps what it needs, as far as the case has its least
        others = sum(min(widths[place], NARROWEST[place]) + 2 for place in long if place != name)
        if name == "case":
            others = sum(widths[place] + 2 for place in long if place != name)
        widths[name] = min(widths[name], max(spare - others - 2, min(widths[name], NARROWEST[name])))
    return names


def _line(cells: Mapping[str, str], names: Sequence[str], widths: Mapping[str, int], verdict: str | None = None) -> str:
    parts = []
    for name in names:
        value = text.shorten(cells[name], widths[name]) if name in NARROWEST else cells[name]
        pad = " " * (widths[name] - text.cell_width(value))
        shown = verdict if name == "verdict" and verdict is not None else value
        parts.append(shown + pad if name in ("case", "contender", "verdict", "why") else pad + shown)
    return "  ".join(parts).rstrip()


def _legend(rows: Sequence[Row]) -> list[str]:
    """Return what the columns of undecided rows mean; nothing where there are none."""
    told = [_rounds(row) for row in rows if _rounds(row)]
    if not told:
        return []
    line = "sees: the least change that would be called; rounds: how many would decide the row"
    if NEVER in told:
        line += f"; {NEVER}: runs differ too much, which `gpubench ab` or several runs of each side overcome"
    return [line]


def _why(rows: Sequence[Row], look: Look) -> list[str]:
    """Return what explains the rows that changed, below the table."""
    lines: list[str] = []
    for row in rows:
        if row.reasons and row.verdict not in UNCHANGED and reason(row):
            name = text.printable(f"{row.verdict} {row.case} {row.contender}: ") + reason(row)
            lines += textwrap.wrap(name, look.width or 200, initial_indent="  ", subsequent_indent="      ")
    return ["", "why", *lines] if lines else []


def _means(means: Sequence[Mean]) -> list[str]:
    if not means:
        return []
    width = max(text.cell_width(text.printable(mean.name)) for mean in means)
    lines = ["geometric mean of the changed pairs"]
    for mean in means:
        name = text.printable(mean.name)
        lines.append(f"  {name}{' ' * (width - text.cell_width(name))}  {mean_text(mean)}  ({mean.pairs} pairs)")
    return [*lines, ""]


def mean_text(mean: Mean) -> str:
    """Return a mean as a change with its 95 % interval."""
    return f"{change(mean.ratio)}  ({change(mean.low)} to {change(mean.high)})"


def _paint(value: str, code: str | None, look: Look) -> str:
    return f"\x1b[{code}m{value}\x1b[0m" if look.color and code else value


# --- Calibration -----------------------------------------------------------------------------------------------------


def calibration_text(entry: Mapping[str, Json], comparisons: Sequence[Comparison], look: Look | None = None) -> str:
    """Return `noise_floor` as text: what one more run would show, and how often the gate failed falsely."""
    look = look or Look()
    room = max((look.width or 200) - 12, 20)
    lines = [f"from {entry['runs']} runs: the least change that one more run would show in 4 of 5 repetitions", ""]
    for row in sorted(entry["floors"], key=lambda row: (row["floor"] is not None, -(row["floor"] or 0.0))):
        size = "not known" if row["floor"] is None else f"{100 * row['floor']:.2f} %"
        lines.append(f"{size:>10}  " + text.shorten(text.printable(f"{row['case']}  {row['contender']}"), room))
    lines += [
        "",
        f"runs compared with each other: {entry['gates_failed']} of {entry['gates']} gates failed, "
        f"{entry['pairs_called_changed']} of {entry['pairs']} pairs were called changed",
    ]
    for comparison in comparisons:
        for row in comparison.rows:
            if row.verdict in ("SLOWER", "FASTER", "DRIFTED"):
                where = f"{comparison.old} -> {comparison.new}  {row.case}  {row.contender}"
                lines.append(f"  {row.verdict} {interval(row)}  {text.printable(where)}")
    return "\n".join(lines) + "\n"

"""What a run found in one screen: a line an operator and contender, what went wrong, and where the rest is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gpubench.limits import missed
from gpubench.model import ResultSet
from gpubench.names import AUTO, FINE, HOST_CONTENDERS
from gpubench.views import text
from gpubench.views.columns import Look
from gpubench.views.means import counted, means
from gpubench.views.rows import NO_SHARE, OF_CEILING, Row, rows
from gpubench.views.tables import heading, totals

ROWS = 40
"""A result with more rows than this is told by a summary first: the rows would fill several screens."""

CONTENDERS = 8
"""Contenders told of an operator: `auto` first, then those with the most cases."""

PROBLEMS = 10


def is_long(result: ResultSet) -> bool:
    """Tell whether the rows of a result fill more than a screen."""
    return len(result.records) > ROWS


def summary(result: ResultSet, path: str, look: Look, program: str = "gpubench") -> str:
    """Return the summary as text that ends with a line break. `path`: where the result lies, for the commands shown."""
    found = rows(result)
    lines = [*heading(result), "", *_grid(_table(found)), ""]
    if any(row.fraction is not None for row in found):
        lines += _wrapped(f"of ceiling: {OF_CEILING}; {NO_SHARE}. In brackets: of how many cases.", look)
    lines += [
        *_problems(found, look),
        *(f"limit missed: {text.printable(str(miss))}" for miss in missed(result.records)),
    ]
    lines += [totals(found), ""]
    name = text.printable(path)
    lines += [
        "Every row; charts; and one page with all of it:",
        f"  {program} show {name}",
        f"  {program} plot {name} -o runs/charts",
        f"  {program} report {name} -o runs/report.html",
    ]
    return "\n".join(lines) + "\n"


def _table(found: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return heading and rows: operator, contender, cases done, then the means."""
    made = {(mean.operator, mean.contender): mean for mean in means(found)}
    peers, numpy = (any(getattr(mean, name) for mean in made.values()) for name in ("peers", "speedups"))
    head = ("operator", "contender", "cases", "of ceiling", *("x best peer",) * peers, *("x numpy",) * numpy)
    table = [head]
    for operator in dict.fromkeys(row.operator for row in found):
        mine = [row for row in found if row.operator == operator]
        for contender in _told(mine):
            theirs = [row for row in mine if row.contender == contender]
            mean = made.get((operator, contender))
            done = sum(row.median_us is not None for row in theirs)
            cells = [text.printable(operator), text.printable(contender), f"{done} of {len(theirs)}"]
            cells.append(counted(mean.of_ceiling, "fraction", mean.shares) if mean else text.MISSING)
            if peers:
                cells.append(counted(mean.versus_peer, "ratio", mean.peers) if mean else text.MISSING)
            if numpy:
                cells.append(counted(mean.speedup, "ratio", mean.speedups) if mean else text.MISSING)
            table.append(tuple(cells))
    return table


def _told(mine: Sequence[Row]) -> list[str]:
    """Return the contenders that are told: `auto` first, then those with the most cases."""
    counts = Counter(row.contender for row in mine if row.contender not in HOST_CONTENDERS)
    return sorted(counts, key=lambda name: (name != AUTO, -counts[name], name))[:CONTENDERS]


def _grid(table: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(text.cell_width(line[i]) for line in table) for i in range(len(table[0]))]
    return [
        "  ".join(
            cell + " " * (width - text.cell_width(cell)) if i < 2 else " " * (width - text.cell_width(cell)) + cell
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def _problems(found: Iterable[Row], look: Look) -> list[str]:
    """Return what failed or is wrong, where; the first few in words."""
    bad = [row for row in found if row.status not in FINE]
    lines = []
    for row in bad[:PROBLEMS]:
        line = f"{row.status}: {row.case} {row.contender}" + (f": {row.message}" if row.message else "")
        lines.append(text.shorten(text.printable(line), 2 * (look.width or 100)))
    return [*lines, f"... and {len(bad) - PROBLEMS} more"] if len(bad) > PROBLEMS else lines


def _wrapped(words: str, look: Look) -> list[str]:
    import textwrap

    return textwrap.wrap(words, look.width or 100)

"""What a tuning found, as a table of regimes and the sentences that belong to it."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.tuned import Row
from gpubench.views.text import printable

HEADINGS = ("regime", "cases", "configurations", "tried", "dropped", "failed", "time", "constants")


def table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a line of cells for each regime, in their order."""
    return [_cells(row) for row in rows]


def _cells(row: Row) -> tuple[str, ...]:
    counts = (row.cases, row.configurations, row.tried, row.dropped, row.failed)
    return (printable(f"{row.subject} {row.regime}"), *map(str, counts), _time(row), printable(_constants(row)))


def _time(row: Row) -> str:
    """Return the ratio to the shipped constants, with its interval; a dash where nothing was timed against them."""
    if row.ratio is None or row.decision == "kept":
        return "1" if row.decision == "kept" else "-"
    ratio, low, high = row.ratio
    return f"{ratio:.4f} ({low:.4f} to {high:.4f})"


def _constants(row: Row) -> str:
    if row.decision == "undecided":
        return f"not decided: {row.why}"
    if row.decision == "kept":
        return f"as before: {row.why}"
    return ", ".join(f"{name} {value}" for name, value in row.constants.items())


def summary(rows: Sequence[Row], simulated: bool = False) -> str:
    """Return one sentence: how many regimes are tuned, kept and not decided; another where no GPU was timed."""
    counts = {
        "tuned": "with other constants",
        "kept": "as before",
        "undecided": "not decided",
    }
    parts = []
    for decision, words in counts.items():
        number = sum(row.decision == decision for row in rows)
        if number:
            parts.append(f"{number} {words}")
    told = f"{len(rows)} regime{'s' * (len(rows) != 1)}: {', '.join(parts) or 'none'}."
    return f"{told}\nSIMULATED on the host: these times say nothing about a GPU." if simulated else told

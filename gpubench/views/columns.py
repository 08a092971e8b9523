"""The columns of the table of a result: how each figure of a row is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpubench.names import is_peer
from gpubench.views import text
from gpubench.views.rows import Row

BAR_WIDTH = 8
INACCURATE = "*"
"""After the best peer's name: its answer is beyond the error that ours are allowed."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the output can show. `width` None: not a terminal, nothing is cut."""

    width: int | None = None
    color: bool = False
    unicode: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `keep`: columns with the smallest go first when the terminal is narrow; 9 never goes. `keep_wrong`:
    the same where some answer is beyond its bound.
    """

    heading: str
    cell: Callable[[Row, Look], str]
    keep: int
    right: bool = True
    keep_wrong: int | None = None


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
    word = "ok" if row.check_ok else "over" if row.inaccurate else "WRONG"
    return word if row.over_tolerance is None else f"{word} {text.significant(row.over_tolerance, 2)}"


def _peer(row: Row, look: Look) -> str:
    del look
    if row.best_peer is None or is_peer(row.contender):
        return text.MISSING
    return text.printable(row.best_peer) + (INACCURATE if row.peer_inaccurate else "")


def _versus(row: Row, look: Look) -> str:
    del look
    return text.quantity(row.versus_peer, "ratio")


def _of_copy(row: Row, look: Look) -> str:
    del look
    return text.MISSING if row.of_copy is None else text.percent(row.of_copy)


COLUMNS: dict[str, Column] = {
    "case": Column("case", _field("case"), 9, right=False),
    "contender": Column("contender", _contender, 9, right=False),
    "median": Column("median", _field("median_us", "us"), 9),
    "interval": Column("95 % CI", _noise, 3),
    "gbps": Column("GB/s", _field("GBps", "GBps"), 6),
    "limit": Column("ceiling", _field("ceiling_GBps", "GBps"), 3),
    "ceiling": Column("of ceiling", _ceiling, 5),
    "speedup": Column("x numpy", _field("speedup", "ratio"), 4),
    "peer": Column("best peer", _peer, 4, right=False),
    "versus": Column("x best peer", _versus, 5),
    "copy": Column("of copy", _of_copy, 1),
    "corrected": Column("corrected", _field("corrected_us", "us"), 1),
    "cupti": Column("by CUPTI", _field("kernels_us", "us"), 1),
    "check": Column("err/allowed", _check, 2, keep_wrong=8),
    "status": Column("status", _field("status"), 9, right=False),
    "bytes": Column("bytes", _field("bytes", "bytes"), 1),
    "min": Column("min", _field("min_us", "us"), 1),
    "p95": Column("p95", _field("p95_us", "us"), 1),
    "samples": Column("samples", _field("samples"), 1),
    "variant": Column("variant", _field("variant"), 1, right=False),
    "registers": Column("registers", _field("registers"), 1),
}
DEFAULT_COLUMNS = ("case", "contender", "median", "interval", "gbps", "limit", "ceiling", "speedup", "check", "status")


def default_columns(all_rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns shown when none are asked for: those of peers where a case has one."""
    if not any(row.best_peer for row in all_rows):
        return DEFAULT_COLUMNS
    place = DEFAULT_COLUMNS.index("speedup")
    numpy = DEFAULT_COLUMNS[place : place + 1] if any(row.speedup for row in all_rows) else ()
    return (*DEFAULT_COLUMNS[:place], "peer", "versus", *numpy, *DEFAULT_COLUMNS[place + 1 :])

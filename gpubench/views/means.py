"""One figure an operator and contender: geometric means over its cases, of the share of the ceiling, of the speed-up
over numpy and of the ratio to the best peer. The table, the summary, the report and the pages all show these.

Each mean is over the cases that have the figure, and says how many they are.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gpubench.names import HOST_CONTENDERS, TRUSTED
from gpubench.views import text
from gpubench.views.rows import Row


@dataclass(frozen=True, slots=True)
class Mean:
    """Geometric means over `cases` cases. None: no case has the figure. `shares`: how many have a share of the ceiling;
    `speedups`: a time of numpy beside them; `peers`: a best peer.
    """

    operator: str
    contender: str
    cases: int
    of_ceiling: float | None
    shares: int
    speedup: float | None
    speedups: int
    versus_peer: float | None
    peers: int


def means(all_rows: Sequence[Row]) -> list[Mean]:
    """Return one mean an operator and contender that has figures, in the order of the rows. Wrong answers have none."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in all_rows:
        fine = row.status in TRUSTED and row.median_us and not row.simulated
        if fine and row.contender not in HOST_CONTENDERS:
            groups.setdefault((row.operator, row.contender), []).append(row)
    return [_mean(operator, contender, group) for (operator, contender), group in groups.items()]


def _mean(operator: str, contender: str, group: Sequence[Row]) -> Mean:
    shares = [row.fraction for row in group if row.fraction]
    gains = [row.speedup for row in group if row.speedup]
    ratios = [row.versus_peer for row in group if row.versus_peer]
    return Mean(
        operator=operator,
        contender=contender,
        cases=len(group),
        of_ceiling=geometric(shares),
        shares=len(shares),
        speedup=geometric(gains),
        speedups=len(gains),
        versus_peer=geometric(ratios),
        peers=len(ratios),
    )


def geometric(values: Sequence[float]) -> float | None:
    """Return the geometric mean; None of nothing."""
    return statistics.geometric_mean(values) if values else None


def lines(all_rows: Sequence[Row]) -> list[str]:
    """Return the means as lines under a table; none where no case was compared with another library."""
    found = [mean for mean in means(all_rows) if mean.peers]
    if not found:
        return []
    width = max(text.cell_width(text.printable(mean.operator)) for mean in found)
    names = max(text.cell_width(text.printable(mean.contender)) for mean in found)
    heading = "geometric means (over how many cases)"
    return [heading, *(f"  {_line(mean, width, names)}" for mean in found)]


def counted(value: float | None, unit: str, cases: int) -> str:
    """Return a mean with the number of cases behind it: `91.5 % (12)`; `-` without any."""
    return text.MISSING if value is None else f"{text.quantity(value, unit)} ({cases})"


def _line(mean: Mean, width: int, names: int) -> str:
    share = counted(mean.of_ceiling, "fraction", mean.shares)
    ratio = counted(mean.versus_peer, "ratio", mean.peers)
    name, contender = text.printable(mean.operator), text.printable(mean.contender)
    return f"{name:{width}}  {contender:{names}}  {share:>12} of ceiling  {ratio:>12} the best peer"

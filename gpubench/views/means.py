"""One figure an operator and contender: geometric means over its cases, of the share of the ceiling and of the ratio to
the best peer. Cases that a launch dominates say nothing of the ceiling and are left out of the shares.
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
    `peers`: how many have a best peer.
    """

    operator: str
    contender: str
    cases: int
    of_ceiling: float | None
    shares: int
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
    shares = [row.fraction for row in group if row.fraction and not row.launch_bound]
    ratios = [row.versus_peer for row in group if row.versus_peer]
    return Mean(operator, contender, len(group), geometric(shares), len(shares), geometric(ratios), len(ratios))


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
    bound = any(row.launch_bound for row in all_rows)
    heading = "geometric means over cases" + ("; shares without launch-bound ones" if bound else "")
    return [heading, *(f"  {_line(mean, width, names)}" for mean in found)]


def _line(one: Mean, width: int, names: int) -> str:
    share = text.MISSING if one.of_ceiling is None else text.percent(one.of_ceiling)
    ratio = text.quantity(one.versus_peer, "ratio")
    return (
        f"{text.printable(one.operator):{width}}  {text.printable(one.contender):{names}}  {share:>7} of ceiling"
        f"  {ratio:>7} the best peer  ({one.cases} case{'s' * (one.cases != 1)})"
    )

"""The frame of a bandwidth chart: its scales, and the limits that a kernel may be held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpubench.model import Ceiling, ResultSet
from gpubench.names import HOST_CONTENDERS
from gpubench.views.charts.data import Point, device_number, is_simulated, launch_bound_us


@dataclass(frozen=True, slots=True)
class Frame:
    """What all panels of one sheet share: the scales, and the limits that are drawn in each. Bytes, GB/s, us.

    memory: whose copy rate `copy` is, in words.
    """

    left: float
    right: float
    top: float
    copy: float | None
    memory: str
    peak: float | None
    launch_us: float | None
    l2: float | None
    sweep: tuple[tuple[float, float], ...]


def frame(result: ResultSet, drawn: Sequence[Point]) -> Frame:
    """Return the scales: all of the data and both ceilings are inside."""
    sizes = [float(point.row.bytes or 1) for point in drawn]
    rates = [point.rate or 0.0 for point in drawn]
    simulated = is_simulated(drawn)
    copy = ceiling_of(result, drawn).copy_GBps
    peak = None if simulated else device_number(result, "theoretical_GBps")
    return Frame(
        left=2.0 ** (math.floor(math.log2(min(sizes)) * 2 - 1) / 2),
        right=2.0 ** (math.ceil(math.log2(max(sizes)) * 2 + 1) / 2),
        top=1.16 * max(*rates, copy or 0.0, peak or 0.0),
        copy=copy,
        memory="copy rate of the host's memory" if simulated else "measured copy ceiling",
        peak=peak,
        launch_us=None if simulated else launch_bound_us(result),
        l2=None if simulated else device_number(result, "l2_bytes"),
        sweep=() if simulated else _copy_rates(result),
    )


def ceiling_of(result: ResultSet, drawn: Sequence[Point]) -> Ceiling:
    """Return what the points may be held against: on the host only numpy's times are real, and have a ceiling."""
    if is_simulated(drawn) and not any(point.row.contender in HOST_CONTENDERS for point in drawn):
        return Ceiling()
    return result.ceiling


def _copy_rates(result: ResultSet) -> tuple[tuple[float, float], ...]:
    """Return the copy's rate over sizes, where the run measured it: pairs of bytes and GB/s."""
    return tuple(
        (float(point.bytes), point.bytes / point.copy_us / 1e3) for point in result.ceiling.sweep if point.copy_us > 0
    )


def launch_edge(scale: Frame) -> float:
    """Return the bytes up to which a case at the ceiling would be launch-bound."""
    return (scale.launch_us or 0.0) * 1e3 * (scale.peak or scale.copy or scale.top)

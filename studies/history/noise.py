"""Histories with the noise of recorded runs: times, machines and scatter drawn from what runs on one GPU showed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.history.runs import shifts
from gpubench.past import POINT, Panel, Run

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

TICK_US = 0.032


@dataclass(frozen=True)
class Recorded:
    """What recorded runs of one suite on one GPU had. `usual`: log times (series,); `rest` (series, runs): what was
    left of a run without the machine's shift, made as wide as its variance says; `change` (runs, 2): the machine's;
    `ceiling` and `ceiling_rest`: the same of the ceilings.
    """

    panel: Panel
    usual: Array
    rest: Array
    change: Array
    ceiling: Array
    ceiling_rest: Array


def recorded(panel: Panel) -> Recorded:
    """Return the noise of a panel whose runs are all of the same thing; series that a run lacks are left out."""
    log_us = panel.points["log_us"]
    kept = ~np.isnan(log_us).any(axis=1) & np.asarray([name != "numpy" for _, name in panel.series])
    panel = replace(
        panel, series=[key for key, keep in zip(panel.series, kept, strict=True) if keep], points=panel.points[kept]
    )
    moved = shifts(panel)
    rest = panel.points["log_us"] - moved.shift
    usual = rest.mean(axis=1)
    runs = rest.shape[1]
    wider = np.sqrt(runs / (runs - 1))
    ceilings = panel.ceilings[~np.isnan(panel.ceilings).any(axis=1)]
    middle = np.median(ceilings, axis=1)
    lines = moved.change[:, 0] + moved.change[:, 1] / np.exp(middle)[:, None]
    ceiling_rest = ceilings - middle[:, None] - lines
    return Recorded(panel, usual, (rest - usual[:, None]) * wider, moved.change, middle, ceiling_rest * wider)


def history(
    of: Recorded, random: np.random.Generator, runs: int, planted: dict[int, tuple[int, float]], **more: float
) -> Panel:
    """Return a history of so many runs: of each, every series and the machine as in some recorded run, drawn anew.

    planted: series -> (from which run on, log ratio). more: `tick_us` rounds times to steps of the event clock after
    bringing all of them to `at_us`; `tails` replaces the scatter by Student's t of so many degrees.
    """
    series, there = of.rest.shape
    machine = of.change[random.integers(0, there, runs)]
    usual = np.full(series, np.log(more["at_us"])) if "at_us" in more else of.usual
    scatter = np.take_along_axis(of.rest, random.integers(0, there, (series, runs)), axis=1)
    if "tails" in more:
        scatter = of.rest.std(axis=1)[:, None] * random.standard_t(more["tails"], (series, runs)) / np.sqrt(3)
    log_us = usual[:, None] + machine[:, 0] + machine[:, 1] / np.exp(usual)[:, None] + scatter
    code = np.broadcast_to(np.arange(1, series + 1)[:, None], (series, runs)).astype("<u8").copy()
    for number, (start, ratio) in planted.items():
        log_us[number, start:] += ratio
        code[number, start:] += 1000
    if "tick_us" in more:
        log_us = np.log(np.maximum(np.round(np.exp(log_us) / more["tick_us"]), 1) * more["tick_us"])
    points = np.zeros((series, runs), dtype=list(POINT))
    points["log_us"], points["code"], points["rounds"] = log_us, code, 3
    swept = np.take_along_axis(of.ceiling_rest, random.integers(0, there, (len(of.ceiling), runs)), axis=1)
    swept += of.ceiling[:, None] + machine[:, 0] + machine[:, 1] / np.exp(of.ceiling)[:, None]
    when = [f"2026-{1 + day // 28:02d}-{1 + day % 28:02d}T00:00:00Z" for day in range(runs)]
    told = [Run(f"{day}.json", created, "simulated", "NVIDIA H200", False) for day, created in enumerate(when)]
    return Panel(told, of.panel.series, points, swept)

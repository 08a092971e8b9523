"""The tables of docs/history.md: false steps, steps found, and how far Apache Otava agrees, all from seeds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.rule import Rule
from gpubench.history.runs import shifts
from gpubench.history.steps import find
from gpubench.past import Panel
from gpubench.results.index import column, panel
from gpubench.results.points import scan
from studies.history.noise import TICK_US, Recorded, history, recorded

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

ROOT = Path(__file__).resolve().parents[2] / "results" / "nvidia-h200" / "verdicts"
RUNS, BEFORE, AFTER = 60, 40, 4
NEAR = 1
"""Runs by which a step may be placed beside where it was planted."""

SCENARIOS: Mapping[str, Mapping[str, float]] = {
    "as recorded": {},
    "tails of Student's t3": {"tails": 3.0},
    "all at 4 us, read in steps of 32 ns": {"at_us": 4.0, "tick_us": TICK_US},
    "all at 20 us, read in steps of 32 ns": {"at_us": 20.0, "tick_us": TICK_US},
}
CLASSES = ((0.0, 10.0, "under 10 us"), (10.0, 25.0, "10 to 25 us"), (25.0, 1e9, "over 25 us"))

Detector = Callable[[Panel], dict[int, list[int]]]
"""Gives the steps of each series of a panel that has some: its number -> runs."""


def ours(whole: Panel) -> dict[int, list[int]]:
    """Return what `gpubench history steps` finds."""
    place = {key: number for number, key in enumerate(whole.series)}
    found: dict[int, list[int]] = {}
    for step in find(whole, Rule()).steps:
        found.setdefault(place[step.case, step.contender], []).append(step.at)
    return found


def otava(corrected: bool) -> Detector:
    """Return Otava's detector with p under 0.001 and changes from 1 %. ImportError without it.

    corrected: the machine's shifts are taken off first, as ours has them; otherwise it sees the times as measured.
    """
    from otava.analysis import compute_change_points

    def detect(whole: Panel) -> dict[int, list[int]]:
        """Ask Otava for each series by itself."""
        log_us = whole.points["log_us"] - (shifts(whole).shift if corrected else 0.0)
        found = {}
        for number, row in enumerate(log_us):
            points, _ = compute_change_points(np.exp(row).tolist(), window_len=30, max_pvalue=0.001, min_magnitude=0.01)
            if points:
                found[number] = [int(point.index) for point in points]
        return found

    return detect


def recorded_panel(*patterns: str) -> Panel:
    """Return recorded runs whose names match, in this order."""
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return panel([column(path.name, scan(path, path.name)) for path in paths])


@dataclass
class Share:
    """A count out of a number."""

    hit: int = 0
    all: int = 0

    def __str__(self) -> str:
        return f"{100 * self.hit / self.all:.1f} % ({self.hit} of {self.all})" if self.all else "-"


def false_steps(of: Recorded, detectors: Mapping[str, Detector], series: int, seed: int = 1) -> str:
    """Return the table of healthy series in which a step is found, at least so many series a scenario."""
    lines = [f"| healthy series of {RUNS} runs | {' | '.join(detectors)} |", f"|---|{'---:|' * len(detectors)}"]
    for name, options in SCENARIOS.items():
        random = np.random.default_rng(seed)
        shares = {detector: Share() for detector in detectors}
        while next(iter(shares.values())).all < series:
            whole = history(of, random, RUNS, {}, **options)
            for detector, detect in detectors.items():
                shares[detector].hit += len(detect(whole))
                shares[detector].all += len(whole.series)
        lines.append(f"| {name} | {' | '.join(map(str, shares.values()))} |")
    return "\n".join(lines)


def found_steps(of: Recorded, detectors: Mapping[str, Detector], histories: int, seed: int = 2) -> str:
    """Return the table of planted steps found with AFTER runs behind them, by the series' time and noise."""
    head = ["| planted | series |", *(f" {detector} |" for detector in detectors)]
    lines = ["".join(head), f"|---|---|{'---:|' * len(detectors)}"]
    for change in (0.02, 0.03, 0.05):
        random = np.random.default_rng(seed)
        hit: dict[str, dict[str, Share]] = {detector: {} for detector in detectors}
        for _ in range(histories):
            planted = random.choice(len(of.usual), 4, replace=False).tolist()
            whole = history(of, random, BEFORE + AFTER, {n: (BEFORE, float(np.log1p(change))) for n in planted})
            for detector, detect in detectors.items():
                places = detect(whole)
                for n in planted:
                    there = any(abs(run - BEFORE) <= NEAR for run in places.get(n, []))
                    for group in _classes(of, n):
                        share = hit[detector].setdefault(group, Share())
                        share.hit, share.all = share.hit + there, share.all + 1
        first = hit[next(iter(detectors))]
        for group in [*(name for _, _, name in CLASSES), CALM, "all"]:
            if group in first:
                cells = " | ".join(str(hit[detector][group]) for detector in detectors)
                lines.append(f"| +{100 * change:.0f} % | {group} | {cells} |")
    return "\n".join(lines)


CALM = "runs differ by less than 0.5 %"


def _classes(of: Recorded, number: int) -> list[str]:
    us = float(np.exp(of.usual[number]))
    found = [name for low, high, name in CLASSES if low <= us < high]
    return [*found, *([CALM] if of.rest[number].std() < 0.005 else []), "all"]


def same(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two detectors found the same steps, each within NEAR runs."""
    return len(one) == len(other) and all(abs(a - b) <= NEAR for a, b in zip(sorted(one), sorted(other), strict=True))


def agreement(of: Recorded, detectors: Mapping[str, Detector], histories: int, seed: int = 3) -> str:
    """Return the table of series in which ours and another detector find the same steps."""
    first, *others = detectors
    lines = [f"| series | {' | '.join(f'{first} and {other}' for other in others)} |", f"|---|{'---:|' * len(others)}"]
    random = np.random.default_rng(seed)
    sets: dict[str, list[Panel]] = {
        "recorded: 11 runs on one GPU": [recorded_panel("clean*.json")],
        "recorded: 11 runs on one GPU, 6 on the other of its host": [recorded_panel("clean*.json", "second*.json")],
        "recorded: 11 runs, then three with a kernel made slower": [recorded_panel("clean*.json", "planted*.json")],
        f"simulated, healthy, {RUNS} runs": [history(of, random, RUNS, {}) for _ in range(histories)],
        f"simulated, every tenth series +5 % after {BEFORE} of {RUNS} runs": [
            history(of, random, RUNS, {n: (BEFORE, float(np.log1p(0.05))) for n in range(0, len(of.usual), 10)})
            for _ in range(histories)
        ],
    }
    for name, panels in sets.items():
        shares = {other: Share() for other in others}
        for whole in panels:
            timed = [n for n, row in enumerate(whole.points["log_us"]) if not np.isnan(row).any()]
            kept = Panel(whole.runs, [whole.series[n] for n in timed], whole.points[timed], whole.ceilings)
            found = {detector: detect(kept) for detector, detect in detectors.items()}
            for n in range(len(kept.series)):
                for other in others:
                    shares[other].hit += same(found[first].get(n, []), found[other].get(n, []))
                    shares[other].all += 1
        lines.append(f"| {name} | {' | '.join(map(str, shares.values()))} |")
    return "\n".join(lines)


def tables(series: int) -> str:
    """Return all tables; those of Otava where it can be imported."""
    of = recorded(recorded_panel("clean*.json"))
    detectors: dict[str, Detector] = {"gpubench": ours}
    with contextlib.suppress(ImportError):
        detectors |= {"Otava": otava(corrected=False), "Otava without the machine's shifts": otava(corrected=True)}
    histories = -(-series // len(of.usual))
    spread = 100 * of.rest.std(axis=1)
    noise = (
        f"The noise is that of {of.rest.shape[1]} recorded runs of {of.rest.shape[0]} series on one H200 (5 to 160 "
        f"us). Runs of a series differ by {np.percentile(spread, 5):.2f} to {np.percentile(spread, 95):.2f} %, of half "
        f"of them by more than {np.median(spread):.2f} %. A run of a history has the machine's shift of one of these "
        "runs, and each series the rest of one of them, drawn anew."
    )
    parts = [
        noise,
        false_steps(of, detectors, series),
        f"Steps planted after {BEFORE} runs in four series of a history, found with {AFTER} runs behind them:",
        found_steps(of, detectors, 4 * histories),
    ]
    if len(detectors) > 1:
        parts += [
            "Series in which both find the same steps, within a run. Apache Otava 0.8 sees every series by itself: p "
            "under 0.001, changes from 1 %, windows of 30 runs.",
            agreement(of, detectors, max(histories // 4, 1)),
        ]
    return "\n\n".join(parts)

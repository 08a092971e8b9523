"""Simulated fleets: how often a healthy one is called unhealthy, and how often a slow GPU is found.

A GPU's log time for a piece of work is the sum of its silicon's own level, what this run of it differs by, how it does
this kind of work, and noise of the rounds. Level and kind stay from one measurement to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpubench.analysis.fleet.rule import Rule, beyond, centres

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class World:
    """Standard deviations of logs, the number of pieces of work and of rounds."""

    silicon: float = 0.003
    run: float = 0.001
    kind: float = 0.002
    noise: float = 0.002
    works: int = 40
    rounds: int = 5


@dataclass(frozen=True, slots=True)
class Row:
    """What one scenario gave.

    false: fleets in which a healthy GPU was called slow. found: slow GPUs that were found, of all fleets together.
    complete: fleets in which all of them were.
    """

    gpus: int
    bad: int
    share: float
    fleets: int
    false: int
    found: int
    complete: int


class Simulated:
    """One fleet; each measurement of it is drawn anew."""

    def __init__(self, chance: np.random.Generator, world: World, gpus: int, bad: int, share: float) -> None:
        self._chance, self._world = chance, world
        level = chance.normal(0, world.silicon, (gpus, 1))
        level[:bad] += -math.log1p(-share)
        self._stays = level + chance.normal(0, world.kind, (gpus, world.works))

    def measure(self) -> Array:
        """Return the log times of one pass, (gpus, works)."""
        world, shape = self._world, self._stays.shape
        run = self._chance.normal(0, world.run, (shape[0], 1))
        noise = self._chance.normal(0, world.noise / math.sqrt(world.rounds), shape)
        return np.asarray(self._stays + run + noise)


def slow(fleet: Simulated, chance: np.random.Generator, rule: Rule) -> set[int]:
    """Return who is called slow: beyond the rule, and again in a second pass beside a random healthy control."""
    logs = fleet.measure()
    healthy = centres(logs)
    effects = np.median(logs - healthy, axis=1)
    found = beyond(effects, rule)
    if not found.slow:
        return set()
    again = np.median(fleet.measure() - healthy, axis=1)
    control = int(chance.choice([place for place in range(len(effects)) if place not in found.slow]))
    shift = again[control] - effects[control]
    return {place for place in found.slow if rule.confirms(float(again[place] - shift), found.threshold)}


def simulate(gpus: int, bad: int, share: float, fleets: int, seed: int = 1, world: World | None = None) -> Row:
    """Return what the judgement does with so many fleets of `gpus`, of which the first `bad` are slow by `share`."""
    chance = np.random.default_rng((seed, gpus, bad, round(share * 1e4)))
    slow_ones = set(range(bad))
    false = found = complete = 0
    for _ in range(fleets):
        called = slow(Simulated(chance, world or World(), gpus, bad, share), chance, Rule())
        false += bool(called - slow_ones)
        found += len(called & slow_ones)
        complete += called >= slow_ones
    return Row(gpus, bad, share, fleets, false, found, complete)


def rows(sizes: Sequence[int], fleets: int, seed: int = 1) -> Iterator[Row]:
    """Yield the scenarios of docs/fleet.md for each size."""
    for gpus in sizes:
        for bad, share in dict.fromkeys(((0, 0.0), (1, 0.02), (2, 0.02), (max(gpus // 5, 1), 0.02), (1, 0.05))):
            yield simulate(gpus, bad, share, fleets if bad == 0 else max(fleets // 2, 1), seed)


def table(found: Sequence[Row]) -> str:
    """Return the rows as Markdown."""
    lines = ["| GPUs | slow ones | fleets | a healthy GPU called slow | slow ones found | all of them found |"]
    lines.append("|---:|---|---:|---:|---:|---:|")
    for row in found:
        what = f"{row.bad} by {100 * row.share:g} %" if row.bad else "none"
        hit = _percent(row.found, row.fleets * row.bad) if row.bad else "-"
        whole = _percent(row.complete, row.fleets) if row.bad else "-"
        lines.append(f"| {row.gpus} | {what} | {row.fleets} | {_percent(row.false, row.fleets)} | {hit} | {whole} |")
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"

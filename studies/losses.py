"""Where another of our variants is ahead of `auto`: which one a rule ought to have chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

AHEAD = 0.97
"""Part of `auto`'s time below which another variant is ahead; what is nearer moves from run to run."""


def losses(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how many cases another variant is ahead in, and a line each, the worst first.

    results: as scripts/random_speed.py writes them, of `auto` ("gpubench") and other variants alone.
    """
    found = []
    for result in results:
        others = {name: us for name, us in result["us"].items() if name != "gpubench"}
        if others:
            best = min(others, key=others.__getitem__)
            found.append((others[best] / result["us"]["gpubench"], best, result))
    lines = []
    for ratio, best, result in sorted(found, key=lambda loss: loss[0]):
        if ratio < AHEAD:
            ours, theirs = (f"{result['us'][name]:.2f}" for name in ("gpubench", best))
            lines.append(f"{ratio:.3f} {result['id']} {result['variant']} {ours} -> {best} {theirs}")
    return [f"another variant is ahead in {len(lines)} of {len(found)} cases", *lines]

"""What timed cases say of `auto` beside libraries, of one process or of several together."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def pooled(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the cases that all files have, each contender's time the mean of theirs.

    files: as scripts/random_speed.py writes them (--out), of one process each. A contender that one of them lacks, as
    of a library that failed there, is left out; so is the share of the ceiling, which each measured anew.
    """
    cases: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            cases[found["id"]].append(found)
    results = []
    for runs in cases.values():
        if len(runs) == len(files):
            names = set.intersection(*(set(run["us"]) for run in runs))
            means = {name: statistics.fmean(run["us"][name] for run in runs) for name in runs[0]["us"] if name in names}
            results.append({"id": runs[0]["id"], "us": means})
    return results


def report(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for what the cases say against the best library, one for each alone, and one for the ceiling."""
    names = sorted({name for result in results for name in result["us"]} - {"gpubench"})
    lines = []
    for name in ("best", *names):
        ratios = []
        for result in results:
            others = {other: us for other, us in result["us"].items() if other != "gpubench"}
            if name != "best":
                others = {name: others[name]} if name in others else {}
            if others:
                ratios.append((min(others.values()) / result["us"]["gpubench"], result["id"]))
        if ratios:
            mean = statistics.geometric_mean(ratio for ratio, _ in ratios)
            share = sum(ratio >= 0.95 for ratio, _ in ratios) / len(ratios)
            low, where = min(ratios)
            said = f"{mean:.3f} x over {len(ratios)} cases; {share:.1%} at 0.95 x or more; worst {low:.3f} {where}"
            lines.append(f"{name}: {said}")
    shares = [result["share"] for result in results if "share" in result]
    if shares:
        mean = statistics.geometric_mean(shares)
        lines.append(
            f"ceiling: {mean:.3f} of it over {len(shares)} cases that are not launch-bound; least {min(shares):.3f}"
        )
    return lines

"""Fleets that never were: results with known effects, for the judgement and its views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpubench.analysis.fleet.table import Answer, Seen
from gpubench.findings import Work
from gpubench.fleet import Fleet, Member, Repeat

MODEL = "NVIDIA H200"


def works(count: int) -> list[Work]:
    """Return so many pieces of work."""
    return [(f"cumsum/{2**16 + number}/dim=0/float32", "gpubench:auto") for number in range(count)]


def members(count: int, host_size: int = 8) -> tuple[Member, ...]:
    """Return so many measured members, eight a host."""
    return tuple(
        Member(
            f"node{n // host_size:02d}-gpu{n % host_size}", f"node{n // host_size:02d}", f"cuda:{n % host_size}",
            n % host_size, f"node{n // host_size:02d}-gpu{n % host_size}.json", "measured", uuid=f"GPU-{n:08x}",
            name=MODEL, started_s=0.1 * n,
        )
        for n in range(count)
    )  # fmt: skip


def fleet(count: int, repeats: Sequence[Repeat] = (), at_once: bool = True) -> Fleet:
    """Return the manifest of a fleet that is measured."""
    about = ("f1ee7", "0.1.0", "2026-01-31T10:00:00Z", ("gpubench", "run", "s"), {"name": "s", "sha256": "0" * 64})
    return Fleet(*about, 0, at_once, 0.0, members(count), tuple(repeats))


def seen(
    logs: Sequence[float],
    digest: Callable[[int], str | None] = lambda number: f"right {number}",
    device: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Seen:
    """Return a result with these log times; `digest` gives each answer's."""
    names = works(len(logs))
    block = {"name": MODEL, "driver": "580.1", "power_limit_w": 700.0, "pcie_width": 16, **(device or {})}
    defaults: dict[str, Any] = {
        "model": MODEL,
        "environment": {"device": block, "numpy": "2.4"},
        "protocol": 3,
        "log_us": dict(zip(names, map(float, logs), strict=True)),
        "answers": {work: Answer(digest(number), "code") for number, work in enumerate(names)},
        "statuses": dict.fromkeys(names, "ok"),
        "figures": {"sm_mhz": 1980.0, "temperature_c": 45.0},
        "records": len(names),
    }
    return Seen(**{**defaults, **changes})


def measured(
    count: int, bad: Mapping[int, float] | None = None, works: int = 20, seed: int = 1, spread: float = 0.001
) -> dict[str, Seen]:
    """Return the results of a fleet; `bad`: by which share these members are slower."""
    chance = np.random.default_rng(seed)
    base = np.log(50.0) + chance.normal(0, 1, works)
    own = chance.normal(0, spread, (count, 1)) + chance.normal(0, spread, (count, works))
    for place, share in (bad or {}).items():
        own[place] += np.log1p(share)
    return {member.key: seen(base + own[place]) for place, member in enumerate(members(count))}
